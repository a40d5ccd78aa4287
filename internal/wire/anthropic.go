package wire

import (
	"strings"

	"docket/internal/record"
)

// messagesRequest reads the request of the Anthropic Messages API.
func messagesRequest(v value, d *Decoded) {
	var system []record.Message
	for k, m := range v.members() {
		switch k {
		case "model":
			d.RequestModel = m.text()
		case "system":
			if parts := blockParts(m); len(parts) > 0 {
				system = []record.Message{{Role: roleSystem, Parts: parts}}
			}
		case "messages":
			d.Input = nil
			for item := range m.items() {
				d.Input = append(d.Input, messagesMessage(item))
			}
		case "tools":
			d.Tools = m.verbatimIf()
		case "metadata":
			d.UserID = m.get("user_id").word()
			d.Metadata = metadataOf(m)
		}
	}
	d.Input = append(system, d.Input...)
}

// messagesMessage reads one message. One of the user's that holds nothing but
// tool results is the tool's.
func messagesMessage(v value) record.Message {
	m := record.Message{Role: v.get("role").text(), Parts: blockParts(v.get("content"))}
	if m.Role == roleUser && onlyToolResults(v.get("content")) {
		m.Role = roleTool
	}
	return m
}

func onlyToolResults(content value) bool {
	found := false
	for item := range content.items() {
		if item.get("type").text() != "tool_result" {
			return false
		}
		found = true
	}
	return found
}

// blockParts reads the content of a message: a text or a list of blocks.
func blockParts(v value) []record.Part {
	if s, ok := v.textOK(); ok {
		return one(record.Part{Type: record.PartText, Content: s})
	}
	parts := []record.Part{}
	for item := range v.items() {
		parts = append(parts, blockPart(item)...)
	}
	return parts
}

// blockPart reads one content block.
func blockPart(v value) []record.Part {
	id := v.first("tool_use_id", "id").word()
	switch kind := v.get("type").text(); {
	case kind == "text":
		return one(record.Part{Type: record.PartText, Content: v.get("text").text()})
	case kind == "thinking":
		return one(record.Part{Type: record.PartReasoning, Content: v.get("thinking").text()})
	case kind == "redacted_thinking":
		return nil // bytes for the provider only
	case kind == "image":
		return one(sourcePart(record.ModalityImage, v))
	case kind == "document":
		return one(documentPart(v))
	case kind == "container_upload":
		return one(record.Part{Type: record.PartFile, Modality: record.ModalityFile, FileID: v.get("file_id").text()})
	case kind == "tool_use", kind == "server_tool_use", kind == "mcp_tool_use":
		return one(toolCall(id, v.get("name").text(), argumentsOf(v.get("input"))))
	case kind == "tool_result", kind == "mcp_tool_result":
		return toolResult(id, "", blockParts(v.get("content")), v.get("is_error").boolean())
	case strings.HasSuffix(kind, "_tool_result"):
		return one(hostedResult(id, v.get("content")))
	}
	return one(otherPart(v))
}

// hostedResult reads the result of a tool that the provider ran: a list, or an
// object whose type tells of an error.
func hostedResult(id string, content value) record.Part {
	s := content.compact()
	p := record.Part{Type: record.PartToolCallResponse, ID: id, Response: &s}
	if strings.HasSuffix(content.get("type").text(), "_error") {
		failed := true
		p.IsError = &failed
	}
	return p
}

// sourcePart reads an image or document by its source.
func sourcePart(modality string, v value) record.Part {
	source := v.get("source")
	switch source.get("type").text() {
	case "base64":
		return blobPart(modality, source.get("media_type").text(), source.get("data").text(), 0)
	case "url":
		return record.Part{Type: record.PartURI, Modality: modality, URI: source.get("url").text()}
	case "file":
		return record.Part{Type: record.PartFile, Modality: modality, FileID: source.get("file_id").text()}
	}
	return otherPart(v)
}

// documentPart reads a document. One whose source is text stays text.
func documentPart(v value) record.Part {
	source := v.get("source")
	switch source.get("type").text() {
	case "text":
		return record.Part{Type: record.PartText, Content: source.get("data").text()}
	case "content":
		return record.Part{Type: record.PartText, Content: joinTexts(source.get("content"))}
	}
	p := sourcePart(record.ModalityFile, v)
	p.Filename = v.get("title").text()
	return p
}

// messagesResponse reads a JSON answer of the Messages API.
func messagesResponse(v value, r *reply) {
	if v.get("type").text() == "error" || isError(v.get("error")) {
		r.takeError(v)
		return
	}
	if !v.get("content").given() && !v.get("stop_reason").given() {
		r.unknown(v)
		return
	}
	r.startMessage(v)
	r.done = r.whole
}

// startMessage reads a message object: whole in an answer, empty at the start
// of a stream.
func (r *reply) startMessage(v value) {
	ch := r.choice(0)
	for k, m := range v.members() {
		switch k {
		case "id":
			r.id = m.text()
		case "model":
			r.model = m.text()
		case "role":
			ch.role = m.text()
		case "content":
			position := 0
			for item := range m.items() {
				ch.startBlock(position, item)
				position++
			}
		case "stop_reason":
			r.stop(ch, m)
		case "usage":
			r.usage = mergeUsage(r.usage, m)
		}
	}
}

func (r *reply) stop(ch *choice, reason value) {
	if s := reason.text(); s != "" {
		ch.finish = s
		r.paused = s == "pause_turn"
	}
}

// startBlock opens a content block with what it holds at its start.
func (ch *choice) startBlock(index int, v value) {
	for i, p := range blockPart(v) {
		place := itemPlace(index, i)
		b := ch.open(p.Type, place, index)
		b.part = p
		if p.Type == record.PartText || p.Type == record.PartReasoning {
			b.write(p.Content)
		}
	}
}

// messagesEvent reads one event of a Messages stream.
func messagesEvent(name string, v value, r *reply) {
	if kind := v.get("type").text(); kind != "" {
		name = kind
	}
	switch name {
	case "message_start":
		r.startMessage(v.get("message"))
	case "content_block_start":
		r.choice(0).startBlock(smallInt(v.get("index")), v.get("content_block"))
	case "content_block_delta":
		r.choice(0).blockDelta(smallInt(v.get("index")), v.get("delta"))
	case "message_delta":
		r.stop(r.choice(0), v.at("delta", "stop_reason"))
		r.usage = mergeUsage(r.usage, v.get("usage"))
	case "message_stop":
		r.done = true
	case "message":
		r.startMessage(v)
		r.done = true
	case "error":
		r.takeError(v)
	case "":
		if isError(v.get("error")) {
			r.takeError(v)
		}
	}
}

// blockDelta adds to a content block. Fragments of a tool's input replace the
// empty object that the block starts with.
func (ch *choice) blockDelta(index int, delta value) {
	place := itemPlace(index, 0)
	switch delta.get("type").text() {
	case "text_delta":
		ch.block(record.PartText, place, index).write(delta.get("text").text())
	case "thinking_delta":
		ch.block(record.PartReasoning, place, index).write(delta.get("thinking").text())
	case "input_json_delta":
		if s := delta.get("partial_json").text(); s != "" {
			ch.block(record.PartToolCall, place, index).write(s)
		}
	}
}
