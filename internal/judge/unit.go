package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"docket/internal/record"
)

// Unit is what is judged: what the model under test saw and answered, and where
// that was recorded.
type Unit struct {
	Kind      string // inference, trace or conversation; "" is inference
	Revision  uint16 // grows when a conversation that was judged goes on
	Inference record.Inference

	// How it was chosen; copied to the verdicts.
	Rule       string
	Stratum    string
	InclusionP float64
	Origin     string // one of record.Origin*; "" is online

	Messages  []record.Message // what was sent, in order, with system and developer messages
	Tools     string           // tool definitions as sent, JSON, "" if none
	Asked     string           // the user message the model saw
	Reply     record.Message   // the final reply
	ToolCalls []ToolCall       // of the turn, in order: those before the reply, then those in it
	Sources   []string         // what the reply should rest on; nil when unknown
	Expected  string           // what a good reply would be, from a file of cases; "" otherwise
	Criteria  []Criterion      // from a file of cases: they win over the rubric's; never from traffic
	Partial   bool             // the reply broke off

	// Problem is why it cannot be judged, as one of record.Reason*; "" when it can.
	Problem string

	images map[string]image // inline images by SHA-256 of their bytes
}

// ToolCall is one call of a tool with its result.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string  // JSON as the model wrote it
	Result    *string // nil when no result was recorded
	Failed    bool    // the API marked the result as an error
}

// UnitFrom builds the unit of one recorded inference. reason is the unit's
// Problem: not_captured when the request or the reply is not there,
// empty_reply when the reply says nothing, "" when it can be judged.
func UnitFrom(inf record.Inference, body record.Body) (u Unit, reason string) {
	u = Unit{
		Kind: "inference", Inference: inf, Stratum: inf.Stratum, InclusionP: 1, Origin: record.OriginOnline,
		Messages: body.Input, Tools: body.Tools, Partial: !inf.Complete,
		Sources: sentSources(inf, body), images: inlineImages(body.Request, body.Input),
	}
	asked, ok := askedOf(body.Input)
	if !ok || len(body.Output) == 0 {
		u.Problem = record.ReasonNotCaptured
		return u, u.Problem
	}
	u.Asked, u.Reply = asked, body.Output[0]
	u.Reply.Role = "assistant"
	u.ToolCalls = toolCalls(body.Input, u.Reply)
	if isEmpty(u.Reply) {
		u.Problem = record.ReasonEmptyReply
	}
	return u, u.Problem
}

// ReplyText is the text of the reply; a refusal is its text when there is no
// other.
func (u *Unit) ReplyText() string {
	if text, ok := u.Reply.Text(); ok {
		return text
	}
	var refusal []string
	for _, p := range u.Reply.Parts {
		if p.Type == record.PartRefusal {
			refusal = append(refusal, p.Content)
		}
	}
	return strings.Join(refusal, "\n")
}

func (u *Unit) origin() string {
	if u.Origin == "" {
		return record.OriginOnline
	}
	return u.Origin
}

func (u *Unit) kind() string {
	if u.Kind == "" {
		return "inference"
	}
	return u.Kind
}

// askedOf is the text of the last message of the user, else of the last message
// that is not the assistant's.
func askedOf(messages []record.Message) (string, bool) {
	if i := lastUser(messages); i >= 0 {
		return plainText(messages[i]), true
	}
	for _, m := range slices.Backward(messages) {
		if m.Role != "assistant" && len(m.Parts) > 0 {
			return plainText(m), true
		}
	}
	return "", false
}

// lastUser finds the last message that the user wrote. Some APIs carry results
// of tools in messages of role user: those are not it.
func lastUser(messages []record.Message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == "user" && slices.ContainsFunc(m.Parts, func(p record.Part) bool { return p.Type != record.PartToolCallResponse }) {
			return i
		}
	}
	return -1
}

// plainText is a message as text, with a mark for each part that is not text.
func plainText(m record.Message) string {
	var out []string
	for _, p := range m.Parts {
		switch p.Type {
		case record.PartText, record.PartRefusal:
			out = append(out, p.Content)
		case record.PartToolCallResponse:
			out = append(out, deref(p.Response, ""))
		case record.PartReasoning, record.PartToolCall:
		default:
			out = append(out, mark(p))
		}
	}
	return strings.Join(out, "\n")
}

// toolCalls lists the calls after the last user message with their results,
// then the calls in the reply. A result belongs to the call with its id, or,
// without ids, to the oldest call that has none.
func toolCalls(input []record.Message, reply record.Message) []ToolCall {
	var out []ToolCall
	for _, m := range input[lastUser(input)+1:] {
		for _, p := range m.Parts {
			switch p.Type {
			case record.PartToolCall:
				out = append(out, ToolCall{ID: p.ID, Name: p.Name, Arguments: deref(p.Arguments, "")})
			case record.PartToolCallResponse:
				setResult(out, p)
			}
		}
	}
	for _, p := range reply.Parts {
		switch p.Type {
		case record.PartToolCall:
			out = append(out, ToolCall{ID: p.ID, Name: p.Name, Arguments: deref(p.Arguments, "")})
		case record.PartToolCallResponse: // tools that the provider runs
			setResult(out, p)
		}
	}
	return out
}

func setResult(calls []ToolCall, p record.Part) {
	for i := range calls {
		if calls[i].Result == nil && (p.ID == calls[i].ID || p.ID == "") {
			result := deref(p.Response, "")
			calls[i].Result = &result
			calls[i].Failed = deref(p.IsError, false)
			return
		}
	}
}

// isEmpty says that a reply has nothing to judge: no visible text, no refusal,
// no tool call and no media. Reasoning alone is nothing the user saw.
func isEmpty(reply record.Message) bool {
	for _, p := range reply.Parts {
		switch p.Type {
		case record.PartText, record.PartRefusal, record.PartOther:
			if strings.IndexFunc(p.Content, visible) >= 0 {
				return false
			}
		case record.PartReasoning, record.PartToolCallResponse:
		default:
			return false
		}
	}
	return true
}

// visible is false for spaces, control characters and marks that show nothing,
// such as a zero-width space.
func visible(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.Is(unicode.C, r) && r != '\u115F' && r != '\u1160' && r != '\u3164' && r != '\u2800'
}

// sentSources reads sources that came with the request: the Docket-Sources
// header or a metadata field, a JSON list of texts or one text.
func sentSources(inf record.Inference, body record.Body) []string {
	for _, s := range []string{
		body.RequestHeaders["docket-sources"], inf.Attributes["docket-sources"], inf.Attributes["docket.sources"],
		inf.Attributes["metadata.docket_sources"], inf.Attributes["docket_sources"], inf.Attributes["metadata.sources"],
	} {
		if s == "" {
			continue
		}
		var list []string
		if json.Unmarshal([]byte(s), &list) == nil {
			return list
		}
		return []string{s}
	}
	return nil
}

// sources returns what the reply should rest on: what came with the request,
// else the results of the named tools; nil when unknown.
func (u *Unit) sources(tools []string) []string {
	if u.Sources != nil {
		return u.Sources
	}
	var out []string
	for _, c := range u.ToolCalls {
		if slices.Contains(tools, c.Name) && c.Result != nil && !c.Failed {
			out = append(out, *c.Result)
		}
	}
	return out
}
