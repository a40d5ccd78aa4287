package wire

import "docket/internal/record"

// completionsRequest reads the request of the legacy completions API. Its
// answers are read as those of the chat API, which differ only in where the text
// stands.
func completionsRequest(v value, d *Decoded) {
	for k, m := range v.members() {
		switch k {
		case "model":
			d.RequestModel = m.text()
		case "prompt":
			d.Input, _ = inputTexts(m)
		case "user":
			d.UserID = m.word()
		case "metadata":
			d.Metadata = metadataOf(m)
		}
	}
}

// inputTexts reads input that is one text, a list of texts, or tokens: one
// message with a part for each text. Tokens are counted, not kept.
func inputTexts(v value) (list []record.Message, inputs int) {
	m := record.Message{Role: roleUser, Parts: []record.Part{}}
	if s, ok := v.textOK(); ok {
		m.Parts = one(record.Part{Type: record.PartText, Content: s})
		return []record.Message{m}, 1
	}
	for item := range v.items() {
		switch item.kind() {
		case '"':
			m.Parts = append(m.Parts, record.Part{Type: record.PartText, Content: item.text()})
		case '{':
			m.Parts = append(m.Parts, contentPart(item)...)
		case '[': // tokens of one text
		default: // tokens of the only text
			return nil, 1
		}
		inputs++
	}
	if len(m.Parts) == 0 {
		return nil, inputs
	}
	return []record.Message{m}, inputs
}
