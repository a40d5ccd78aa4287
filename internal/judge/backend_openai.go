package judge

import (
	"context"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"docket/internal/record"
)

// Ways to send the conversation to the OpenAI format.
const (
	inputItems = "items" // message items, images in place
	inputText  = "text"  // one user message with the state as JSON text
)

// openAI speaks the OpenAI Decisions format: the conversation as items, and a
// list of predicates, which are statements that hold or not.
type openAI struct {
	config    BackendConfig
	transport *transport
}

func newOpenAI(c BackendConfig, _ profile, t *transport) (backend, error) {
	return openAI{config: c, transport: t}, nil
}

type openAIRequest struct {
	Model     string           `json:"model"`
	Input     []any            `json:"input"`
	Questions []openAIQuestion `json:"questions"`
}

type openAIQuestion struct {
	Type         string `json:"type"`
	Name         string `json:"name"`
	Instructions string `json:"instructions"`
}

type openAIMessage struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

type openAIPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Refusal  string `json:"refusal,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Data     any    `json:"data,omitempty"`
}

type openAICall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type openAIOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

func (o openAI) ask(ctx context.Context, r request) reply {
	got, attempts, err := o.transport.post(ctx, o.body(r), nil)
	if err != nil {
		out := failed(len(r.questions), record.MethodDecision, err.reason, err.message)
		out.attempts = attempts
		return out
	}
	out := decodeOpenAI(got.body, r.questions).reply(len(r.questions), record.MethodDecision)
	out.attempts = attempts
	return out
}

func (o openAI) body(r request) []byte {
	req := openAIRequest{Model: r.model}
	for _, q := range r.questions {
		req.Questions = append(req.Questions, openAIQuestion{Type: "predicate", Name: q.key, Instructions: q.statement})
	}
	if o.config.Input == inputText {
		req.Input = []any{openAIMessage{Role: "user", Content: []any{openAIPart{Type: "input_text", Text: string(encode(r.shown.state))}}}}
	} else {
		b := itemBuilder{shown: r.shown, keys: slices.ContainsFunc(r.questions, func(q question) bool { return q.criterion.Question != nil })}
		req.Input = b.build()
	}
	return encode(req)
}

// itemBuilder turns a unit into input items. Every output of a tool must follow
// a call with its id, so ids are made up where the recorded ones do not match.
type itemBuilder struct {
	shown shown
	keys  bool // also give what own questions may name: response, user_message, tool_calls
	items []any
	open  []string // ids of calls without an output yet
	calls int
}

func (b *itemBuilder) build() []any {
	u := b.shown.unit
	if extra := b.extra(); len(extra) > 0 {
		b.items = append(b.items, openAIMessage{Role: "user", Content: []any{openAIPart{Type: "input_json", Data: extra}}})
	}
	for _, m := range b.shown.messages {
		b.message(m)
	}
	b.closeCalls()
	// Calls first: the last assistant message is what is judged.
	b.callsOf(u.Reply)
	b.closeCalls()
	b.assistant(u.Reply)
	return b.items
}

// extra is what is known beside the conversation.
func (b *itemBuilder) extra() map[string]any {
	out := map[string]any{}
	s := b.shown.state
	if s.Tools != nil {
		out["tools"] = s.Tools
	}
	if s.Sources != nil {
		out["sources"] = s.Sources
	}
	if s.Expected != "" {
		out["expected"] = s.Expected
	}
	if b.keys {
		out["response"], out["user_message"] = s.Response, s.UserMessage
		if s.ToolCalls != nil {
			out["tool_calls"] = s.ToolCalls
		}
	}
	return out
}

func (b *itemBuilder) message(m record.Message) {
	switch m.Role {
	case "assistant":
		b.closeCalls()
		b.assistant(m)
		b.callsOf(m)
		b.results(m)
	case "system", "developer":
		b.closeCalls()
		b.add(m.Role, b.parts(m, "input_text"))
	default:
		b.results(m)
		if parts := b.parts(m, "input_text"); len(parts) > 0 {
			b.closeCalls()
			b.add("user", parts)
		}
	}
}

func (b *itemBuilder) add(role string, parts []any) {
	if len(parts) > 0 {
		b.items = append(b.items, openAIMessage{Role: role, Content: parts})
	}
}

func (b *itemBuilder) assistant(m record.Message) { b.add("assistant", b.parts(m, "output_text")) }

// parts are the visible parts of a message. Only users send images.
func (b *itemBuilder) parts(m record.Message, textType string) []any {
	var out []any
	for _, p := range m.Parts {
		switch {
		case p.Type == record.PartToolCall || p.Type == record.PartToolCallResponse || p.Type == record.PartReasoning:
		case p.Type == record.PartRefusal && textType == "output_text":
			out = append(out, openAIPart{Type: "refusal", Refusal: p.Content})
		case isMedia(p):
			out = append(out, b.media(p, textType))
		case p.Content != "":
			out = append(out, openAIPart{Type: textType, Text: strings.ToValidUTF8(p.Content, "\uFFFD")})
		}
	}
	return out
}

func (b *itemBuilder) media(p record.Part, textType string) openAIPart {
	if textType == "input_text" {
		for _, img := range b.shown.images {
			if img.part.SHA256 == p.SHA256 && img.part.URI == p.URI {
				return openAIPart{Type: "input_image", ImageURL: img.address(), Detail: detailOf(p)}
			}
		}
	}
	return openAIPart{Type: textType, Text: mark(p)}
}

// detailOf is the image detail that was chosen, else auto.
func detailOf(p record.Part) string { return deref(p.Detail, "auto") }

func (b *itemBuilder) callsOf(m record.Message) {
	for _, p := range m.Parts {
		if p.Type == record.PartToolCall {
			b.calls++
			id := p.ID
			if id == "" {
				id = madeUpID(b.calls)
			}
			b.open = append(b.open, id)
			b.items = append(b.items, openAICall{Type: "function_call", CallID: id, Name: p.Name, Arguments: deref(p.Arguments, "")})
		}
	}
}

func madeUpID(n int) string { return "call_" + string(encode(n)) }

func (b *itemBuilder) results(m record.Message) {
	for _, p := range m.Parts {
		if p.Type != record.PartToolCallResponse {
			continue
		}
		output := deref(p.Response, "")
		if deref(p.IsError, false) {
			output = string(encode(map[string]string{"failed": output}))
		}
		b.output(p.ID, output)
	}
}

// output adds the result of the call with this id, or of the oldest open call.
// A result without any call becomes a message of the user.
func (b *itemBuilder) output(id, output string) {
	for i, open := range b.open {
		if id == open || id == "" {
			b.open = append(b.open[:i:i], b.open[i+1:]...)
			b.items = append(b.items, openAIOutput{Type: "function_call_output", CallID: open, Output: output})
			return
		}
	}
	b.add("user", []any{openAIPart{Type: "input_text", Text: string(encode(map[string]string{"tool_result": output}))}})
}

func (b *itemBuilder) closeCalls() {
	for len(b.open) > 0 {
		b.output(b.open[0], noResult)
	}
}

// decodeOpenAI reads the answers: by name when there are names, else by
// position when there are as many answers as questions.
func decodeOpenAI(body []byte, questions []question) decoded {
	doc, err := parse(body)
	if err != nil {
		return decoded{err: err}
	}
	usage, _ := members(doc, "usage")
	d := decoded{model: text(doc, "model"), inputTokens: count(usage, "input_tokens"), outputTokens: count(usage, "output_tokens"), costNano: nano(usage, "cost")}
	list, n := members(doc, "answers")
	if n != 1 || !list.IsArray() {
		d.err = &callError{record.ReasonMalformed, "the answer has no list of answers"}
		return d
	}
	d.answers, d.err = matchOpenAI(list.Array(), questions)
	return d
}

func matchOpenAI(answers []gjson.Result, questions []question) ([]answer, *callError) {
	named := 0
	for _, a := range answers {
		if text(a, "name") != "" {
			named++
		}
	}
	out := make([]answer, len(questions))
	if named == 0 {
		if len(answers) != len(questions) {
			return nil, &callError{record.ReasonMissingAnswer, "answers without names, and not as many as questions"}
		}
		for i, a := range answers {
			out[i] = readPredicate(a)
		}
		return out, nil
	}
	for i, q := range questions {
		out[i] = missing()
		found := 0
		for _, a := range answers {
			if text(a, "name") == q.key {
				found++
				out[i] = readPredicate(a)
			}
		}
		if found > 1 {
			out[i] = unanswered(record.ReasonMalformed, "the question is answered more than once")
		}
	}
	return out, nil
}

func readPredicate(v gjson.Result) answer {
	switch kind := text(v, "type"); kind {
	case "predicate":
		return number(v, "probability")
	case "refusal":
		return unanswered(record.ReasonRefused, "the judge refused the question")
	default:
		return unanswered(record.ReasonMalformed, "the answer is of type "+string(encode(kind))+", not predicate")
	}
}
