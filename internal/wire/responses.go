package wire

import (
	"slices"

	"docket/internal/record"
)

// responsesRequest reads the request of the OpenAI Responses API.
func responsesRequest(v value, d *Decoded) {
	var system []record.Message
	for k, m := range v.members() {
		switch k {
		case "model":
			d.RequestModel = m.text()
		case "instructions":
			if s, ok := m.textOK(); ok {
				system = []record.Message{{Role: roleSystem, Parts: one(record.Part{Type: record.PartText, Content: s})}}
			}
		case "input":
			d.Input, d.References = responsesInput(m)
		case "previous_response_id":
			d.PreviousResponseID = m.text()
		case "conversation":
			d.ConversationID = idOrObject(m)
		case "tools":
			d.Tools = m.verbatimIf()
		case "user":
			d.UserID = m.word()
		case "safety_identifier":
			if d.UserID == "" {
				d.UserID = m.word()
			}
		case "metadata":
			d.Metadata = metadataOf(m)
		case "prompt":
			d.setAttribute(record.AttrPromptName, m.get("id").word())
			d.setAttribute(record.AttrPromptVersion, m.get("version").word())
		}
	}
	d.Input = append(system, d.Input...)
}

// idOrObject reads a reference that is an id, or an object with one.
func idOrObject(v value) string {
	if v.isObject() {
		return v.get("id").text()
	}
	return v.text()
}

// responsesInput reads input items as messages. What the model said in one go
// (reasoning, text, calls) is one message, as it is in an answer. References are
// the items that are only named.
func responsesInput(v value) (list []record.Message, references []string) {
	if s, ok := v.textOK(); ok {
		return []record.Message{{Role: roleUser, Parts: one(record.Part{Type: record.PartText, Content: s})}}, nil
	}
	for item := range v.items() {
		role := itemRole(item)
		if id := referenceOf(item); id != "" && len(references) < maxItemIDs {
			references = append(references, id)
		}
		parts := itemParts(item)
		if n := len(list); role == roleAssistant && n > 0 && list[n-1].Role == roleAssistant {
			list[n-1].Parts = append(list[n-1].Parts, parts...)
			continue
		}
		list = append(list, record.Message{Role: role, Parts: parts})
	}
	return list, references
}

// maxItemIDs bounds how many items of one call are known by their ids.
const maxItemIDs = 64

// referenceOf returns the id of an item that is named and not repeated. Its type
// may be left out.
func referenceOf(item value) string {
	switch item.get("type").text() {
	case "item_reference":
		return item.get("id").text()
	case "":
		if !item.get("role").given() && !item.get("content").given() {
			return item.get("id").text()
		}
	}
	return ""
}

// noteItem keeps the id of an item of the answer.
func (r *reply) noteItem(item value) {
	id := item.get("id").text()
	if id != "" && len(r.items) < maxItemIDs && !slices.Contains(r.items, id) {
		r.items = append(r.items, id)
	}
}

// itemRole returns the role that an item speaks in.
func itemRole(item value) string {
	if role := item.get("role").text(); role != "" {
		return role
	}
	switch item.get("type").text() {
	case "function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output",
		"shell_call_output", "apply_patch_call_output":
		return roleTool
	case "mcp_approval_response":
		return roleUser
	}
	return roleAssistant
}

// itemParts reads one item of an input or output list.
func itemParts(item value) []record.Part {
	id := item.first("call_id", "id").word()
	switch kind := item.get("type").text(); kind {
	case "message", "":
		return contentParts(item.get("content"))
	case "reasoning":
		return reasoningParts(item)
	case "function_call", "custom_tool_call", "mcp_approval_request":
		return one(toolCall(id, item.get("name").text(), argumentsOf(item.first("arguments", "input"))))
	case "computer_call", "local_shell_call", "shell_call", "apply_patch_call":
		return one(toolCall(id, kind[:len(kind)-len("_call")], argumentsOf(item.first("action", "operation"))))
	case "function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output",
		"shell_call_output", "apply_patch_call_output":
		return toolResult(id, "", outputParts(item.get("output")), nil)
	case "mcp_call":
		return mcpParts(id, item)
	case "web_search_call":
		return hostedCall(id, "web_search", item.get("action"), value{})
	case "file_search_call":
		return hostedCall(id, "file_search", item.get("queries"), item.get("results"))
	case "code_interpreter_call":
		return hostedCall(id, "code_interpreter", item.get("code"), item.get("outputs"))
	case "image_generation_call":
		parts := hostedCall(id, "image_generation", value{}, value{})
		if data := item.get("result").text(); data != "" {
			parts = append(parts, blobPart(record.ModalityImage, "", data, 0))
		}
		return parts
	}
	return one(otherPart(item))
}

// outputParts reads the output of a tool: a text, parts, or one object.
func outputParts(v value) []record.Part {
	if v.isObject() {
		return contentPart(v)
	}
	return contentParts(v)
}

// argumentsOf returns the exact text of a call's arguments, which may be an
// object with some tools.
func argumentsOf(v value) *string {
	s, ok := v.textOK()
	if !ok {
		if !v.given() {
			return nil
		}
		s = v.verbatim()
	}
	return &s
}

func toolCall(id, name string, arguments *string) record.Part {
	return record.Part{Type: record.PartToolCall, ID: id, Name: name, Arguments: arguments}
}

// hostedCall makes the parts of a tool that the provider ran by itself: the
// call, and a response to it so that it asks nothing of the client.
func hostedCall(id, name string, arguments, results value) []record.Part {
	response := record.Part{Type: record.PartToolCallResponse, ID: id}
	if results.given() {
		s := results.compact()
		response.Response = &s
	}
	return []record.Part{toolCall(id, name, argumentsOf(arguments)), response}
}

func mcpParts(id string, item value) []record.Part {
	failed := isError(item.get("error"))
	parts := hostedCall(id, item.get("name").text(), item.get("arguments"), value{})
	output := item.get("output")
	if failed {
		output = item.get("error")
	}
	parts[1].Response = argumentsOf(output)
	parts[1].IsError = &failed
	return parts
}

// reasoningParts reads a reasoning item: the full text where it is open, else
// its summaries.
func reasoningParts(item value) []record.Part {
	parts := []record.Part{}
	for _, field := range []string{"content", "summary"} {
		for piece := range item.get(field).items() {
			if s, ok := piece.get("text").textOK(); ok {
				parts = append(parts, record.Part{Type: record.PartReasoning, Content: s})
			}
		}
		if len(parts) > 0 {
			break
		}
	}
	return parts
}

// responsesResponse reads a whole response object, as an answer or as the last
// event of a stream.
func responsesResponse(v value, r *reply) {
	if !v.get("output").isArray() && !v.get("status").given() {
		if isError(v.get("error")) {
			r.takeError(v)
		} else {
			r.unknown(v)
		}
		return
	}
	r.startResponse(v)
	if u := v.get("usage"); u.isObject() {
		r.usage = u
	}
	ch := r.choice(0)
	if output := v.get("output"); output.isArray() && output.raw != "[]" {
		ch.blocks = nil
		position := 0
		for item := range output.items() {
			ch.addItem(position, item)
			r.noteItem(item)
			position++
		}
	}
	switch status := v.get("status").text(); status {
	case "completed":
		ch.finish, r.done = status, true
	case "incomplete":
		ch.finish, r.done = v.at("incomplete_details", "reason").text(), true
		if ch.finish == "" {
			ch.finish = status
		}
	case "failed":
		kind, message := errorOf(v)
		r.fail(kind, clip(message))
	case "cancelled":
		r.fail(status, "the response was cancelled")
	}
}

// startResponse notes what a response object says of itself.
func (r *reply) startResponse(v value) {
	for k, m := range v.members() {
		switch k {
		case "id":
			r.id = m.text()
		case "model":
			r.model = m.text()
		case "previous_response_id":
			r.previousID = m.text()
		case "conversation":
			r.conversationID = idOrObject(m)
		}
	}
}

// itemPlace is the place of a part by its item and its number in the item.
func itemPlace(item, part int) int { return item<<16 | part&0xffff }

// setItem replaces all parts of an item by its final form.
func (ch *choice) setItem(index int, item value) {
	ch.blocks = slices.DeleteFunc(ch.blocks, func(b *block) bool { return b.order>>16 == index })
	ch.addItem(index, item)
}

func (ch *choice) addItem(index int, item value) {
	for i, p := range itemParts(item) {
		ch.add(itemPlace(index, i), p)
	}
}

// responsesEvent reads one event of a Responses stream.
func responsesEvent(name string, v value, r *reply) {
	if kind := v.get("type").text(); kind != "" {
		name = kind
	}
	switch name {
	case "response.created", "response.in_progress", "response.queued":
		r.startResponse(v.get("response"))
		return
	case "response.completed", "response.incomplete", "response.failed", "response.done":
		responsesResponse(v.get("response"), r)
		return
	case "error":
		r.takeError(v)
		return
	case "":
		if v.get("object").text() == "response" {
			responsesResponse(v, r)
		} else if isError(v.get("error")) {
			r.takeError(v)
		}
		return
	}
	index := smallInt(v.get("output_index"))
	switch name {
	case "response.output_item.added", "response.output_item.done":
		r.choice(0).setItem(index, v.get("item"))
		r.noteItem(v.get("item"))
	default:
		r.responsesDelta(name, index, v)
	}
}

// responsesDelta reads an event that adds to a part of an item.
func (r *reply) responsesDelta(name string, index int, v value) {
	delta, ok := v.get("delta").textOK()
	if !ok {
		return
	}
	ch := r.choice(0)
	place := itemPlace(index, smallInt(v.first("content_index", "summary_index")))
	switch name {
	case "response.output_text.delta":
		ch.block(record.PartText, place, place).write(delta)
	case "response.refusal.delta":
		ch.block(record.PartRefusal, place, place).write(delta)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		ch.block(record.PartReasoning, place, place).write(delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta",
		"response.code_interpreter_call_code.delta":
		place = itemPlace(index, 0)
		ch.block(record.PartToolCall, place, place).write(delta)
	}
}

// smallInt returns a small index, 0 when there is none.
func smallInt(v value) int {
	if n, ok := v.number(); ok && n < 1<<15 {
		return int(n)
	}
	return 0
}
