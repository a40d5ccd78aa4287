package wire

import (
	"strings"

	"docket/internal/record"
)

// ollamaRequest reads the request of Ollama's /api/chat and /api/generate.
func ollamaRequest(v value, d *Decoded) {
	var system, prompt []record.Message
	for k, m := range v.members() {
		switch k {
		case "model":
			d.RequestModel = m.text()
		case "messages":
			d.Input = nil
			for item := range m.items() {
				d.Input = append(d.Input, ollamaMessage(item))
			}
		case "system":
			if s := m.text(); s != "" {
				system = []record.Message{{Role: roleSystem, Parts: one(record.Part{Type: record.PartText, Content: s})}}
			}
		case "prompt":
			if s, ok := m.textOK(); ok {
				prompt = []record.Message{{Role: roleUser, Parts: one(record.Part{Type: record.PartText, Content: s})}}
			}
		case "tools":
			d.Tools = m.verbatimIf()
		}
	}
	if prompt != nil {
		prompt[0].Parts = append(prompt[0].Parts, ollamaImages(v.get("images"))...)
	}
	d.Input = append(append(system, d.Input...), prompt...)
}

// ollamaMessage reads one message of a request.
func ollamaMessage(v value) record.Message {
	m := record.Message{Role: v.get("role").text()}
	switch m.Role {
	case roleTool:
		m.Name = v.first("tool_name", "name").text()
		m.Parts = toolResult(v.get("tool_call_id").word(), "", contentParts(v.get("content")), nil)
	case roleAssistant:
		ch := choice{}
		ch.addOllama(v)
		m.Parts = ch.message(false).Parts
	default:
		m.Parts = contentParts(v.get("content"))
	}
	m.Parts = append(m.Parts, ollamaImages(v.get("images"))...)
	return m
}

// ollamaImages reads images, which come as bare base64.
func ollamaImages(v value) []record.Part {
	var parts []record.Part
	for item := range v.items() {
		parts = append(parts, blobPart(record.ModalityImage, "", item.text(), 0))
	}
	return parts
}

// ollamaResponse reads an answer or a line of one: lines add up.
func ollamaResponse(v value, r *reply) {
	if isError(v.get("error")) {
		r.takeError(v)
		return
	}
	if !v.get("done").given() && !v.first("message", "response").given() {
		if !r.stream {
			r.unknown(v)
		}
		return
	}
	ch := r.choice(0)
	for k, m := range v.members() {
		switch k {
		case "model":
			r.model = m.text()
		case "message":
			ch.addOllama(m)
		case "response":
			ch.block(record.PartText, orderText, orderText).write(m.text())
		case "thinking":
			ch.think(m.text())
		case "done_reason":
			ch.finish = m.text()
		case "done":
			r.done = r.done || m.isTrue()
		}
	}
	if v.get("done").isTrue() {
		r.usage = ollamaUsage(v)
	}
}

// ollamaEvent reads a line of a stream; event streams are not Ollama's own, but
// gateways make them.
func ollamaEvent(_ string, v value, r *reply) { ollamaResponse(v, r) }

// addOllama adds a message, or a piece of one, to the choice.
func (ch *choice) addOllama(v value) {
	for k, m := range v.members() {
		switch k {
		case "role":
			ch.role = m.text()
		case "content":
			if s, ok := m.textOK(); ok {
				ch.block(record.PartText, orderText, orderText).write(s)
			}
		case "thinking":
			ch.think(m.text())
		case "tool_calls":
			for call := range m.items() {
				n := ch.nextCall()
				b := ch.open(record.PartToolCall, orderCalls+n, n)
				b.part.ID = call.get("id").word()
				ch.addFunction(b, call.get("function"))
			}
		}
	}
}

func (ch *choice) think(s string) {
	if s != "" {
		ch.block(record.PartReasoning, orderReasoning, orderReasoning).write(s)
	}
}

// ollamaUsage collects the counters of the last line, each as it is written.
func ollamaUsage(v value) value {
	var members []string
	for k, m := range v.members() {
		if m.uint() != nil && (strings.HasSuffix(k, "_count") || strings.HasSuffix(k, "_duration")) {
			members = append(members, `"`+k+`":`+m.raw)
		}
	}
	if len(members) == 0 {
		return value{}
	}
	return value{raw: "{" + strings.Join(members, ",") + "}"}
}
