package wire

import (
	"cmp"
	"strings"

	"docket/internal/record"
)

// Places of the parts in a message of the chat API, whose fields have no order.
const (
	orderReasoning = iota
	orderText
	orderRefusal
	orderMedia
	orderCalls // and index of the call
)

// legacyCall is the key of the one call that function_call can hold.
const legacyCall = -1

// chatRequest reads the request of the OpenAI chat completions API.
func chatRequest(v value, d *Decoded) {
	for k, m := range v.members() {
		switch k {
		case "model":
			d.RequestModel = m.text()
		case "messages":
			d.Input = nil
			for item := range m.items() {
				d.Input = append(d.Input, chatMessage(item))
			}
		case "tools":
			d.Tools = m.verbatimIf()
		case "functions":
			if d.Tools == "" {
				d.Tools = m.verbatimIf()
			}
		case "user":
			d.UserID = m.word()
		case "safety_identifier":
			if d.UserID == "" {
				d.UserID = m.word()
			}
		case "metadata":
			d.Metadata = metadataOf(m)
		}
	}
}

// chatMessage reads one message of a request.
func chatMessage(v value) record.Message {
	m := record.Message{Role: v.get("role").text(), Name: v.get("name").text()}
	content := contentParts(v.get("content"))
	switch m.Role {
	case roleTool, "function":
		m.Role = roleTool
		m.Parts = toolResult(v.get("tool_call_id").word(), "", content, nil)
		return m
	case roleAssistant:
		c := choice{}
		c.addMessage(v)
		m.Parts = c.message(false).Parts
		return m
	}
	m.Parts = content
	if !v.isObject() {
		m.Parts = one(otherPart(v))
	}
	return m
}

// chatResponse reads a JSON answer of the chat completions API.
func chatResponse(v value, r *reply) {
	chatScan(&cursor{s: v.raw}, r)
	switch {
	case r.failed:
	case r.known:
		r.done = r.done || r.whole && !r.stream
	default:
		r.unknown(v)
	}
}

// chatPiece is what a chunk or an answer says of one choice.
type chatPiece struct {
	index              int
	delta, text, fault value
	finish             string
}

// chatScan reads a chunk of a stream, or a whole answer: some servers send one
// where the other is due. It passes over the text once, since chunks are most of
// what Docket decodes. It returns false, and changes nothing, when the text is
// cut off or broken.
func chatScan(c *cursor, r *reply) bool {
	var (
		store     [2]chatPiece
		pieces    = store[:0]
		id, model string
		usage     value
		known     bool
		failed    bool
	)
	c.peek()
	start := c.i
	for ok := c.enter('{'); ok; ok = c.more('}') {
		switch c.key() {
		case "id":
			id, _ = c.str()
		case "model":
			model, _ = c.str()
		case "choices":
			pieces, known = chatPieces(c, pieces[:0]), true
		case "usage":
			if u := c.value(); u.isObject() {
				usage = u
			}
		case "x_groq":
			if u := c.value().get("usage"); u.isObject() {
				usage = u
			}
		case "error":
			failed = isError(c.value())
		default:
			c.skip()
		}
	}
	if c.failed() && (r.stream || c.bad) {
		return false
	}
	r.known = r.known || known
	r.id, r.model = cmp.Or(r.id, id), cmp.Or(r.model, model)
	if usage.isObject() {
		r.usage = usage
	}
	for i := range pieces {
		pieces[i].apply(r)
	}
	if failed {
		r.takeError(value{raw: c.s[start:c.i]})
	}
	return true
}

// isError says whether the member "error" of a body tells of one.
func isError(v value) bool {
	return v.given() && v.raw != "false" && v.raw != `""` && v.raw != "{}"
}

// chatPieces reads the list of choices. One without an index has that of its
// place.
func chatPieces(c *cursor, pieces []chatPiece) []chatPiece {
	position := 0
	for ok := c.enter('['); ok; ok = c.more(']') {
		p := chatPiece{index: position}
		position++
		for ok := c.enter('{'); ok; ok = c.more('}') {
			switch c.key() {
			case "index":
				if n, ok := c.value().number(); ok && n < 1<<31 {
					p.index = int(n)
				}
			case "delta", "message":
				if m := c.value(); m.given() {
					p.delta = m
				}
			case "text":
				p.text = c.value()
			case "finish_reason":
				p.finish = c.value().word()
			case "error":
				p.fault = c.value()
			default:
				c.skip()
			}
		}
		if len(pieces) < maxChoices {
			pieces = append(pieces, p)
		}
	}
	return pieces
}

func (p *chatPiece) apply(r *reply) {
	ch := r.choice(p.index)
	if s, ok := p.text.textOK(); ok {
		ch.block(record.PartText, orderText, orderText).write(s)
	}
	if p.delta.isObject() {
		ch.addMessage(p.delta)
	}
	if p.finish != "" {
		ch.finish = p.finish
	}
	if isError(p.fault) {
		r.takeError(p.fault)
	}
}

// addMessage adds a delta, or a whole message, to the choice.
func (ch *choice) addMessage(v value) {
	var thoughts [3]value
	c := cursor{s: v.raw}
	for ok := c.enter('{'); ok; ok = c.more('}') {
		switch c.key() {
		case "role":
			if s, _ := c.str(); ch.role == "" {
				ch.role = s
			}
		case "content":
			ch.addContent(&c)
		case "refusal":
			if s, ok := c.str(); ok && s != "" {
				ch.block(record.PartRefusal, orderRefusal, orderRefusal).write(s)
			}
		case "reasoning_content":
			thoughts[0] = c.value()
		case "reasoning":
			thoughts[1] = c.value()
		case "reasoning_details":
			thoughts[2] = c.value()
		case "tool_calls":
			for call := range c.value().items() {
				ch.addCall(call)
			}
		case "function_call":
			if call := c.value(); call.isObject() {
				ch.addFunction(ch.block(record.PartToolCall, orderCalls, legacyCall), call)
			}
		case "audio":
			ch.addAudio(c.value())
		case "images":
			for image := range c.value().items() {
				ch.add(orderMedia, contentPart(image)...)
			}
		default:
			c.skip()
		}
	}
	ch.addThoughts(thoughts)
}

func (ch *choice) addContent(c *cursor) {
	switch c.peek() {
	case '"':
		s, _ := c.str()
		ch.block(record.PartText, orderText, orderText).write(s)
	case '[':
		for item := range c.value().items() {
			for _, p := range contentPart(item) {
				switch p.Type {
				case record.PartText:
					ch.block(p.Type, orderText, orderText).write(p.Content)
				case record.PartReasoning:
					ch.block(p.Type, orderReasoning, orderReasoning).write(p.Content)
				case record.PartRefusal:
					ch.block(p.Type, orderRefusal, orderRefusal).write(p.Content)
				default:
					ch.add(orderMedia, p)
				}
			}
		}
	default:
		c.skip()
	}
}

// addThoughts adds the reasoning of a delta. Servers mirror it in up to three
// fields: the first that brought some is the only one that counts from then on.
func (ch *choice) addThoughts(fields [3]value) {
	for i, name := range []string{"reasoning_content", "reasoning", "reasoning_details"} {
		if ch.thoughts != "" && ch.thoughts != name {
			continue
		}
		text := fields[i].text()
		if name == "reasoning_details" {
			text = detailTexts(fields[i])
		}
		if text != "" {
			ch.thoughts = name
			ch.block(record.PartReasoning, orderReasoning, orderReasoning).write(text)
			return
		}
	}
}

// detailTexts joins the readable pieces of reasoning_details.
func detailTexts(v value) string {
	var b strings.Builder
	for item := range v.items() {
		b.WriteString(item.first("text", "summary").text())
	}
	return b.String()
}

// addCall adds a tool call or a fragment of one. Its index says which, or its
// id; without an index, or when a server gives every call the same, an id or a
// name opens a new call and the rest continues the last.
func (ch *choice) addCall(v value) {
	id, fn := v.get("id").word(), v.get("function")
	if custom := v.get("custom"); custom.isObject() {
		fn = custom
	}
	key := -1
	if n, ok := v.get("index").number(); ok {
		key = int(min(n, 1<<30))
	}
	open := ch.findCall(key, id)
	if open == nil || opensCall(open, id, fn.get("name").text()) {
		if key < 0 {
			key = ch.nextCall()
		}
		open = ch.open(record.PartToolCall, orderCalls+key, key)
	}
	if open.part.ID == "" {
		open.part.ID = id
	}
	ch.addFunction(open, fn)
}

// findCall returns the call that a fragment may belong to: the one with this
// id, else the latest one; among those with this index, unless it is negative.
func (ch *choice) findCall(index int, id string) *block {
	var latest *block
	for i := len(ch.blocks) - 1; i >= 0; i-- {
		b := ch.blocks[i]
		if b.part.Type != record.PartToolCall || b.key == legacyCall || index >= 0 && b.key != index {
			continue
		}
		if id == "" || b.part.ID == id {
			return b
		}
		if latest == nil {
			latest = b
		}
	}
	return latest
}

// nextCall returns the index of a call that came without one.
func (ch *choice) nextCall() int {
	next := 0
	for _, b := range ch.blocks {
		if b.part.Type == record.PartToolCall && b.key >= next {
			next = b.key + 1
		}
	}
	return next
}

// opensCall says whether a fragment with this id and name cannot belong to the
// call: another id, or a second name after complete arguments.
func opensCall(b *block, id, name string) bool {
	switch {
	case id != "" && b.part.ID != "":
		return id != b.part.ID
	case name == "" || b.part.Name == "":
		return false
	}
	return b.complete()
}

// addFunction adds name and arguments, which are a text or, with some servers,
// an object.
func (ch *choice) addFunction(b *block, fn value) {
	if name := fn.get("name").text(); b.part.Name == "" {
		b.part.Name = name
	}
	args := fn.first("arguments", "input")
	if s, ok := args.textOK(); ok {
		b.write(s)
	} else if args.given() {
		b.set(args.verbatim())
	}
}

// addAudio adds a spoken answer: its transcript is what was said, its bytes are
// measured.
func (ch *choice) addAudio(v value) {
	if !v.isObject() {
		return
	}
	b := ch.block(record.PartBlob, orderMedia, orderMedia)
	b.part.Modality = record.ModalityAudio
	if id := v.get("id").word(); id != "" {
		b.part.FileID = id
	}
	if s, ok := v.get("transcript").textOK(); ok {
		b.write(s)
	}
	if data, ok := v.get("data").textOK(); ok {
		p := blobPart(record.ModalityAudio, "", data, 0)
		if b.part.Bytes > 0 {
			p.SHA256 = "" // the hash of one piece says nothing about the whole
		}
		b.part.Bytes += p.Bytes
		b.part.SHA256 = p.SHA256
	}
}
