package wire

import (
	"docket/internal/record"
)

// geminiRequest reads the request of generateContent and its stream. The model
// stands in the path.
func geminiRequest(v value, d *Decoded) {
	var system []record.Message
	for k, m := range v.members() {
		switch k {
		case "model":
			d.RequestModel = m.text()
		case "systemInstruction", "system_instruction":
			s := geminiMessage(m)
			s.Role = roleSystem
			system = []record.Message{s}
		case "contents":
			d.Input = nil
			if m.isObject() {
				d.Input = []record.Message{geminiMessage(m)}
			}
			for item := range m.items() {
				d.Input = append(d.Input, geminiMessage(item))
			}
		case "tools":
			d.Tools = m.verbatimIf()
		case "labels":
			d.Metadata = metadataOf(m)
		}
	}
	d.Input = append(system, d.Input...)
}

// geminiMessage reads one content. One of the user's that holds nothing but
// function responses is the tool's.
func geminiMessage(v value) record.Message {
	m := record.Message{Role: geminiRole(v.get("role").text()), Parts: []record.Part{}}
	if s, ok := v.textOK(); ok {
		m.Parts = one(record.Part{Type: record.PartText, Content: s})
		return m
	}
	parts := v.get("parts")
	if parts.isObject() {
		m.Parts = append(m.Parts, geminiPart(parts)...)
	}
	results := 0
	for item := range parts.items() {
		m.Parts = append(m.Parts, geminiPart(item)...)
		if item.first("functionResponse", "function_response").isObject() {
			results++
		}
	}
	if results > 0 && results == len(m.Parts) {
		m.Role = roleTool
	}
	return m
}

func geminiRole(role string) string {
	switch role {
	case "model":
		return roleAssistant
	case "function":
		return roleTool
	case "":
		return roleUser
	}
	return role
}

// geminiPart reads one part of a content.
func geminiPart(v value) []record.Part {
	for k, m := range v.members() {
		switch k {
		case "text":
			kind := record.PartText
			if v.get("thought").isTrue() {
				kind = record.PartReasoning
			}
			return one(record.Part{Type: kind, Content: m.text()})
		case "inlineData", "inline_data":
			mime := m.first("mimeType", "mime_type").text()
			return one(blobPart(modalityOf(mime), mime, m.get("data").text(), 0))
		case "fileData", "file_data":
			mime := m.first("mimeType", "mime_type").text()
			return one(record.Part{Type: record.PartURI, Modality: modalityOf(mime), MIMEType: mime, URI: m.first("fileUri", "file_uri").text()})
		case "functionCall", "function_call":
			return one(toolCall(m.get("id").word(), m.get("name").text(), argumentsOf(m.get("args"))))
		case "functionResponse", "function_response":
			p := record.Part{Type: record.PartToolCallResponse, ID: m.get("id").word(), Name: m.get("name").text()}
			if response := m.get("response"); response.given() {
				s := response.compact()
				p.Response = &s
			}
			return one(p)
		case "executableCode", "executable_code":
			return one(toolCall("code_execution", "code_execution", argumentsOf(m)))
		case "codeExecutionResult", "code_execution_result":
			failed := m.get("outcome").text() != "OUTCOME_OK"
			return one(record.Part{Type: record.PartToolCallResponse, ID: "code_execution", Response: argumentsOf(m.get("output")), IsError: &failed})
		}
	}
	return one(otherPart(v))
}

// geminiResponse reads an answer, or a piece of a streamed one: pieces add up.
func geminiResponse(v value, r *reply) {
	if isError(v.get("error")) {
		r.takeError(v)
		return
	}
	known := false
	for k, m := range v.members() {
		switch k {
		case "candidates":
			known = true
			position := 0
			for item := range m.items() {
				index := position
				if n, ok := item.get("index").number(); ok {
					index = int(min(n, maxChoices))
				}
				r.choice(index).addCandidate(item)
				position++
			}
		case "usageMetadata":
			known = true
			r.usage = m
		case "modelVersion":
			r.model = m.text()
		case "responseId":
			r.id = m.text()
		case "promptFeedback":
			known = true
			if reason := m.get("blockReason").text(); reason != "" {
				r.choice(0).finish, r.refused = reason, true
			}
		}
	}
	if !known && !r.stream {
		r.unknown(v)
	}
}

func geminiEvent(_ string, v value, r *reply) { geminiResponse(v, r) }

// addCandidate adds the parts of a candidate behind those it has. Pieces of one
// text follow each other and are joined.
func (ch *choice) addCandidate(v value) {
	if finish := v.get("finishReason").text(); finish != "" {
		ch.finish = finish
	}
	for item := range v.at("content", "parts").items() {
		for _, p := range geminiPart(item) {
			n := len(ch.blocks)
			if p.Type != record.PartText && p.Type != record.PartReasoning {
				ch.add(n, p)
				continue
			}
			if n == 0 || ch.blocks[n-1].part.Type != p.Type {
				ch.open(p.Type, n, n)
			}
			ch.blocks[len(ch.blocks)-1].write(p.Content)
		}
	}
}
