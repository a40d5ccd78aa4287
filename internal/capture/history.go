package capture

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
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
func (d *digest) historyOf(project, user string, input, output []record.Message) history {
	d.reset()
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
	buf  []byte // to be hashed
	role string
	text bool // the last thing was text, which goes on
}

// newDigest returns a digest. With a key, its sums tell nothing of what was said
// to who does not know that.
func newDigest(key []byte) *digest {
	d := &digest{h: sha256.New(), buf: make([]byte, 0, 3*flushFrom)}
	if key != nil {
		d.h = hmac.New(sha256.New, key)
	}
	return d
}

func (d *digest) reset() {
	d.h.Reset()
	d.buf, d.role, d.text = d.buf[:0], "", false
}

// flushFrom is how much is hashed at a time.
const flushFrom = 4 << 10

func (d *digest) flush() {
	d.h.Write(d.buf)
	d.buf = d.buf[:0]
}

func (d *digest) sum() string {
	d.flush()
	var sum [sha256.Size]byte
	d.h.Sum(sum[:0])
	return "h-" + hex.EncodeToString(sum[:16])
}

// put adds fields so that their borders are seen.
func (d *digest) put(fields ...string) {
	d.text = false
	for _, f := range fields {
		d.buf = strconv.AppendInt(d.buf, int64(len(f)), 10)
		d.buf = append(d.buf, ':')
		d.buf = append(d.buf, f...)
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

// words adds a text without spaces around it, which clients trim. Texts behind
// each other are one.
func (d *digest) words(s string) {
	if s = strings.TrimSpace(s); s == "" {
		return
	}
	if !d.text {
		d.put("text")
		d.text = true
	}
	if len(s) > flushFrom { // nothing is gained by a copy
		d.flush()
		_, _ = io.WriteString(d.h, s) // a hash takes everything
		return
	}
	d.buf = append(d.buf, s...)
	if len(d.buf) >= flushFrom {
		d.flush()
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
