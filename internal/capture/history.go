package capture

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"strconv"
	"strings"

	"docket/internal/record"
)

// maxTurns is how many answers at the start of a conversation are looked at to
// find where it began.
const maxTurns = 32

// history is what a chat says about the conversation that it belongs to.
//
// A chat API is stateless: each call repeats what was said. A call that begins
// a conversation gives it an id that is a hash of everything up to and including
// its own answer. A later call repeats just that, and so its id is among the
// hashes of the beginnings of the later call.
type history struct {
	beginnings []string // the messages up to and including each answer in the input
	own        string   // the whole input and the answer; "" without an answer
	asked      string   // the whole input
}

// historyOf hashes the messages of a chat. System messages are left out, since
// many have the time of day in them; so is reasoning, which clients drop.
func historyOf(project, user string, input, output []record.Message) history {
	d := digest{h: sha256.New()}
	d.put("project", project)
	d.put("user", user)
	var out history
	for i, m := range input {
		if m.Role == "system" || m.Role == "developer" {
			continue
		}
		d.add(m)
		answered := m.Role == roleAssistant && i+1 < len(input) && input[i+1].Role != roleAssistant
		if answered && len(out.beginnings) < maxTurns {
			out.beginnings = append(out.beginnings, d.sum())
		}
	}
	out.asked = d.sum()
	if len(output) > 0 {
		d.add(output[0])
		out.own = d.sum()
	}
	return out
}

const roleAssistant = "assistant"

// digest is a hash over messages. Neighbours of the same role count as one
// message, since APIs and clients divide what is said in different ways.
type digest struct {
	h    hash.Hash
	role string
	text bool // the last thing was text, which goes on
}

func (d *digest) sum() string {
	sum := d.h.Sum(nil)
	return "h-" + hex.EncodeToString(sum[:16])
}

// put adds fields so that their borders are seen.
func (d *digest) put(fields ...string) {
	d.text = false
	for _, f := range fields {
		d.h.Write([]byte(strconv.Itoa(len(f)) + ":"))
		d.h.Write([]byte(f))
	}
}

func (d *digest) add(m record.Message) {
	role := m.Role
	if role == "function" {
		role = "tool"
	}
	if role != d.role {
		d.role = role
		d.put("role", role)
	}
	for i := range m.Parts {
		d.addPart(&m.Parts[i])
	}
}

func (d *digest) addPart(p *record.Part) {
	switch p.Type {
	case record.PartReasoning:
	case record.PartText, record.PartRefusal:
		d.words(p.Content)
	case record.PartToolCall:
		arguments := ""
		if p.Arguments != nil {
			arguments = canonical(*p.Arguments)
		}
		d.put("call", p.Name, arguments)
	case record.PartToolCallResponse:
		d.put("result")
		if p.Response != nil {
			d.words(*p.Response)
		}
	default:
		d.put(p.Type, p.Modality, p.URI, p.FileID, p.SHA256, strconv.FormatInt(p.Bytes, 10))
		d.words(p.Content)
	}
}

// words adds a text without regard to spaces, which clients trim.
func (d *digest) words(s string) {
	for w := range strings.FieldsSeq(s) {
		if !d.text {
			d.put("text")
			d.text = true
		}
		d.h.Write([]byte(w))
	}
}

// canonical writes the arguments of a call in one way, since some clients write
// them anew.
func canonical(arguments string) string {
	d := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return strings.Join(strings.Fields(arguments), " ")
	}
	out, err := json.Marshal(v)
	if err != nil { // not from JSON
		return arguments
	}
	return string(out)
}
