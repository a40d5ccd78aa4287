package wire

import "docket/internal/record"

// decisionRequest reads the request of a decision API: System One (state and a
// map of questions) and OpenAI Decisions (input and a list of them), and what
// other servers make of the two. Questions stay structure: they are what the
// model is told, so they take the place of the system's message.
func decisionRequest(v value, d *Decoded) {
	var questions, state []record.Message
	for k, m := range v.members() {
		switch k {
		case "model":
			d.RequestModel = m.text()
		case "questions":
			questions = append(questions, record.Message{Role: roleSystem, Parts: one(otherPart(m))})
		case "instructions":
			questions = append(questions, record.Message{Role: roleSystem, Parts: contentParts(m)})
		case "input":
			state, _ = responsesInput(m)
		case "state":
			part := otherPart(m)
			if s, ok := m.textOK(); ok {
				part = record.Part{Type: record.PartText, Content: s}
			}
			state = []record.Message{{Role: roleUser, Parts: one(part)}}
		case "safety_identifier":
			d.UserID = m.word()
		case "metadata":
			d.Metadata = metadataOf(m)
		}
	}
	d.Input = append(questions, state...)
}

// decisionResponse reads the answers of a decision API, bare or in the envelope
// that some hosts put around them.
func decisionResponse(v value, r *reply) {
	if isError(v.get("error")) {
		r.takeError(v)
		return
	}
	if inner := v.get("result"); inner.isObject() {
		v = inner
	}
	answers := v.get("answers")
	r.id, r.model = v.get("id").text(), v.get("model").text()
	if u := v.get("usage"); u.isObject() {
		r.usage = u
	}
	if !answers.isObject() && !answers.isArray() {
		r.unknown(v)
		return
	}
	r.choice(0).add(0, otherPart(answers))
	r.done = r.whole
}
