package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"docket/internal/record"
)

// rendererVersion is part of every judge_config: raise it when what a judge is
// shown of the same unit changes.
const rendererVersion = 1

// state is what a judge is shown of a unit, the same for every format. The keys
// are a public contract: own questions may refer to them.
type state struct {
	Conversation []stateMessage  `json:"conversation,omitempty"` // only when there is more than one user message with text
	Tools        json.RawMessage `json:"tools,omitempty"`        // tool definitions
	UserMessage  string          `json:"user_message,omitempty"`
	Response     string          `json:"response"`
	ToolCalls    []stateCall     `json:"tool_calls,omitempty"`
	Sources      []string        `json:"sources,omitempty"`
	Expected     string          `json:"expected,omitempty"`
}

type stateMessage struct {
	Role       string      `json:"role"`
	Name       string      `json:"name,omitempty"`
	Content    any         `json:"content,omitempty"` // a text, or parts when there are images
	ToolCalls  []stateCall `json:"tool_calls,omitempty"`
	ToolCallID string      `json:"tool_call_id,omitempty"`
	Failed     bool        `json:"failed,omitempty"`
}

type statePart struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	ID   string `json:"id,omitempty"` // of an image
}

type stateCall struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Failed    json.RawMessage `json:"failed,omitempty"` // the error, instead of a result
}

const noResult = "no result recorded"

// shown is a rendered unit: the state, the images that go with it, and what
// could not be shown.
type shown struct {
	unit         *Unit
	messages     []record.Message // of the conversation, after trimming
	state        state
	images       []shownImage
	placeholders bool   // something is only marked, not shown
	trimmed      string // what was left out, "" if nothing
}

// shownImage is an image that is sent: inline, or by its address.
type shownImage struct {
	id     string
	image  image  // inline
	url    string // else
	detail *string
	part   record.Part
}

func (i shownImage) address() string {
	if i.url != "" {
		return i.url
	}
	return i.image.dataURL()
}

// renderer renders one unit for one backend.
type renderer struct {
	unit      *Unit
	imageMode string
	maxImages int
	tools     []string // source_tools
	out       shown
}

// render shows the unit with these messages of its conversation.
func (r renderer) render(messages []record.Message) shown {
	u := r.unit
	r.out = shown{unit: u, messages: messages}
	conversation := make([]stateMessage, 0, len(messages)+1)
	for _, m := range messages {
		conversation = append(conversation, r.message(m))
	}
	reply := r.message(u.Reply)
	s := &r.out.state
	if !r.single(messages) {
		s.Conversation = append(conversation, reply)
	}
	if json.Valid([]byte(u.Tools)) {
		s.Tools = jsonOrText(u.Tools)
	}
	s.UserMessage = u.Asked
	if i := lastUser(u.Messages); i >= 0 {
		s.UserMessage = asText(r.content(u.Messages[i]))
	}
	s.Response = asText(reply.Content)
	for _, c := range u.ToolCalls {
		s.ToolCalls = append(s.ToolCalls, callState(c))
	}
	s.Sources = u.sources(r.tools)
	s.Expected = u.Expected
	return r.out
}

// single says that the conversation is one user message of text: the state's
// user_message says it all.
func (r *renderer) single(messages []record.Message) bool {
	return len(messages) == 1 && len(r.unit.Messages) == 1 && messages[0].Role == "user" &&
		!slices.ContainsFunc(messages[0].Parts, func(p record.Part) bool { return p.Type != record.PartText })
}

func (r *renderer) message(m record.Message) stateMessage {
	out := stateMessage{Role: m.Role, Name: m.Name, Content: r.content(m)}
	for _, p := range m.Parts {
		switch p.Type {
		case record.PartToolCall:
			out.ToolCalls = append(out.ToolCalls, stateCall{ID: p.ID, Name: p.Name, Arguments: jsonOrText(deref(p.Arguments, ""))})
		case record.PartToolCallResponse:
			out.ToolCallID = p.ID
			out.Failed = out.Failed || deref(p.IsError, false)
		}
	}
	return out
}

// content is the message as a text, or as parts when images are shown.
func (r *renderer) content(m record.Message) any {
	var parts []statePart
	images := false
	for _, p := range m.Parts {
		switch {
		case p.Type == record.PartToolCall || p.Type == record.PartReasoning:
		case p.Type == record.PartToolCallResponse:
			parts = append(parts, statePart{Type: "text", Text: deref(p.Response, "")})
		case isMedia(p):
			if id := r.show(p); id != "" {
				parts, images = append(parts, statePart{Type: "image", ID: id}), true
				continue
			}
			r.out.placeholders = true
			parts = append(parts, statePart{Type: "text", Text: mark(p)})
		default:
			parts = append(parts, statePart{Type: "text", Text: p.Content})
		}
	}
	if images {
		return parts
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	if len(texts) == 0 {
		return nil
	}
	return strings.Join(texts, "\n")
}

// asText is a content with images named in square brackets.
func asText(content any) string {
	parts, ok := content.([]statePart)
	if !ok {
		s, _ := content.(string)
		return s
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
		if p.ID != "" {
			texts[i] = "[" + p.ID + "]"
		}
	}
	return strings.Join(texts, "\n")
}

// show adds an image to those that are sent and returns its id, the same one
// each time; "" when the backend cannot be shown it.
func (r *renderer) show(p record.Part) string {
	if r.imageMode == imagesNone || !isImage(p) {
		return ""
	}
	img := shownImage{detail: p.Detail, part: p}
	switch inline, ok := r.unit.images[p.SHA256]; {
	case ok:
		img.image = inline
	case p.Type == record.PartURI && takesURL(r.imageMode) && isWeb(p.URI):
		img.url = p.URI
	default:
		return ""
	}
	for _, known := range r.out.images {
		if known.url == img.url && known.image == img.image {
			return known.id
		}
	}
	if len(r.out.images) >= r.maxImages {
		return ""
	}
	img.id = fmt.Sprintf("image%d", len(r.out.images)+1)
	r.out.images = append(r.out.images, img)
	return img.id
}

func takesURL(mode string) bool { return mode == imagesItems || mode == imagesState }

func isWeb(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

// callState shows a tool call with its result, its error, or that there is none.
func callState(c ToolCall) stateCall {
	out := stateCall{Name: c.Name, Arguments: jsonOrText(c.Arguments)}
	switch {
	case c.Result == nil:
		out.Result = jsonOrText(noResult)
	case c.Failed:
		out.Failed = jsonText(*c.Result)
	case *c.Result == "":
		out.Result = jsonText("")
	default:
		out.Result = jsonOrText(*c.Result)
	}
	return out
}

// jsonOrText is a JSON value as it is, anything else as a JSON string.
func jsonOrText(s string) json.RawMessage {
	if s = strings.ToValidUTF8(s, "\uFFFD"); s == "" {
		return nil
	}
	if json.Valid([]byte(s)) {
		return compact([]byte(s))
	}
	return jsonText(s)
}

func jsonText(s string) json.RawMessage { return encode(s) }

func compact(data []byte) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return nil
	}
	return b.Bytes()
}

// encode is JSON on one line, with <, > and & as they are. What it is given
// can always be encoded.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
