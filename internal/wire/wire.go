package wire

import (
	"strings"
	"unicode/utf8"

	"docket/internal/record"
)

// Exchange is one HTTP call as it was captured.
type Exchange struct {
	Method         string
	Path           string            // without the query
	Query          string            // without secrets; may be ""
	API            string            // hint of the route: "openai", "anthropic", "ollama", ...; may be ""
	RequestHeader  map[string]string // lower-case names
	ResponseHeader map[string]string
	Request        []byte // as sent, possibly cut
	Response       []byte // as received, content encoding in place, possibly cut
	RequestCut     bool
	ResponseCut    bool
	Status         int
	BodyEnded      bool // the answer's body ended as announced
	EndSeen        bool // the provider's end event was seen, maybe beyond a cut copy
}

// Decoded is what an Exchange says. Its strings may share memory with each
// other, never with the bytes of the Exchange; its Response may.
type Decoded struct {
	API                string // e.g. "openai.chat"; "" when opaque
	Operation          string // gen_ai.operation.name; "" when opaque
	Provider           string // gen_ai.provider.name, as far as the format tells
	RequestModel       string
	ResponseModel      string
	ResponseID         string
	PreviousResponseID string
	References         []string // ids of earlier answers' items that the request names instead of repeating them
	ItemIDs            []string // of the answer, by which a later request may name its items
	ConversationID     string   // as the body names it
	UserID             string
	Stream             bool // the answer came as a stream

	Metadata   map[string]string // the request's own metadata fields
	Attributes map[string]string // facts of the API that have no field here
	Input      []record.Message
	Output     []record.Message // one for each choice
	Tools      string           // definitions as sent, JSON
	ToolNames  []string         // tools called in this turn, in order of their first call

	FinishReason  string   // the provider's word, first choice
	FinishReasons []string // of all choices
	Usage         record.Usage
	ErrorType     string
	ErrorMessage  string

	Complete    bool // the provider's own end arrived and no error was seen
	Undecodable bool // a body of a known API could not be understood
	ToolStep    bool // the first choice asks the client to run a tool
	Refusal     bool // the model declined, or a filter took the answer
	CutByTokens bool // the answer ends at a token limit
	ToolError   bool // a tool result of this turn is marked as an error

	Response    []byte // content encoding removed, at most MaxDecoded bytes
	ResponseCut bool   // Response lacks something at its end
}

// detachFrom is the body size from which texts are copied out of the body, so
// that a short text does not keep a large body in memory.
const detachFrom = 32 << 10

// Decode understands an exchange as far as it can. It does not change the bytes
// it is given, and keeps none but those of Response.
func Decode(x Exchange) (d Decoded) {
	defer func() {
		// The last fence around bytes from outside: a fault of ours costs one
		// record its content, not the drainer its life.
		if recover() != nil {
			d = Decoded{API: d.API, Operation: d.Operation, Undecodable: true, Response: x.Response, ResponseCut: x.ResponseCut}
		}
	}()
	decode(x, &d)
	return d
}

func decode(x Exchange, d *Decoded) {
	f := formatOf(x.Method, x.Path)
	if f.request == nil || isForm(x) {
		f = unread(x)
	}
	d.API, d.Operation, d.Provider = f.api, f.operation, provider(f, x)

	reqBody, reqCut, reqErr := decodeContent(x.RequestHeader["content-encoding"], x.Request)
	respBody, respCut, respErr := decodeContent(x.ResponseHeader["content-encoding"], x.Response)
	if respErr != nil {
		respBody = x.Response
	}
	d.Response, d.ResponseCut = respBody, respCut || x.ResponseCut

	if f.request != nil && reqErr == nil {
		decodeRequest(f, text(reqBody, reqCut || x.RequestCut), reqCut || x.RequestCut, d)
	}
	d.Undecodable = d.Undecodable || f.request != nil && reqErr != nil
	if f.request == nil {
		decodeUnread(x, d)
	}
	if d.RequestModel == "" {
		d.RequestModel = modelInPath(x.Path)
	}

	r := &reply{status: x.Status, unread: f.response == nil, left: maxItems, stream: strings.Contains(x.ResponseHeader["content-type"], "ndjson")}
	if respErr != nil {
		r.bad = len(x.Response) > 0
	} else {
		r.read(f, text(respBody, d.ResponseCut))
	}
	r.finish(x, d)
	finishTurn(d)
	if len(reqBody) >= detachFrom || len(respBody) >= detachFrom {
		detach(d)
	}
}

// decodeRequest reads the request body into d.
func decodeRequest(f format, body string, cut bool, d *Decoded) {
	if strings.TrimSpace(body) == "" {
		return
	}
	v, whole, ok := parse(body)
	if !ok || !v.isObject() || (!whole && !cut) {
		d.Undecodable = true
	}
	if !v.isObject() {
		return
	}
	left := maxItems
	v.left = &left
	f.request(v, d)
	d.Undecodable = d.Undecodable || left == 0
	if n := len(d.Input); !whole && n > 0 {
		forgetCutBlob(d.Input[n-1].Parts)
	}
}

// forgetCutBlob takes back size and hash of the last part of a body that is cut:
// they are those of what is left of it.
func forgetCutBlob(parts []record.Part) {
	if n := len(parts); n > 0 && parts[n-1].Type == record.PartBlob && parts[n-1].SHA256 != "" {
		parts[n-1].Bytes, parts[n-1].SHA256 = 0, ""
	}
}

// setAttribute notes a fact of the API that has no field.
func (d *Decoded) setAttribute(name, text string) {
	if text == "" {
		return
	}
	if d.Attributes == nil {
		d.Attributes = make(map[string]string)
	}
	d.Attributes[name] = text
}

// text makes a body a valid UTF-8 string. A rune that the end of a cut body
// splits is left out, other bytes that are no UTF-8 become U+FFFD.
func text(body []byte, cut bool) string {
	if cut {
		for n := 1; n <= min(utf8.UTFMax, len(body)); n++ {
			if tail := body[len(body)-n:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					body = body[:len(body)-n]
				}
				break
			}
		}
	}
	s := strings.TrimPrefix(string(body), bom)
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

// finishTurn derives what the whole turn shows: the tools called in it, and
// whether one of them failed.
func finishTurn(d *Decoded) {
	start := len(d.Input)
	for start > 0 && !startsTurn(d.Input[start-1]) {
		start--
	}
	seen := map[string]bool{}
	collect := func(m record.Message) {
		for _, p := range m.Parts {
			if p.Type == record.PartToolCall && p.Name != "" && !seen[p.Name] {
				seen[p.Name] = true
				d.ToolNames = append(d.ToolNames, p.Name)
			}
			if p.IsError != nil && *p.IsError {
				d.ToolError = true
			}
		}
	}
	for _, m := range d.Input[start:] {
		collect(m)
	}
	if len(d.Output) > 0 {
		collect(d.Output[0])
	}
}

// startsTurn says whether a message is the user speaking, not a tool's result.
func startsTurn(m record.Message) bool {
	if m.Role != roleUser {
		return false
	}
	for _, p := range m.Parts {
		if p.Type == record.PartToolCallResponse {
			return false
		}
	}
	return true
}

// detach copies the texts of all messages.
func detach(d *Decoded) {
	for _, list := range [][]record.Message{d.Input, d.Output} {
		for i := range list {
			for j := range list[i].Parts {
				detachPart(&list[i].Parts[j])
			}
		}
	}
	for _, s := range []*string{
		&d.RequestModel, &d.ResponseModel, &d.ResponseID, &d.PreviousResponseID, &d.ConversationID,
		&d.UserID, &d.Tools, &d.FinishReason, &d.Usage.Raw, &d.ErrorType, &d.ErrorMessage,
	} {
		*s = strings.Clone(*s)
	}
	for _, list := range [][]string{d.ToolNames, d.FinishReasons, d.References, d.ItemIDs} {
		for i := range list {
			list[i] = strings.Clone(list[i])
		}
	}
	for k, v := range d.Metadata {
		delete(d.Metadata, k)
		d.Metadata[strings.Clone(k)] = strings.Clone(v)
	}
}

func detachPart(p *record.Part) {
	for _, s := range []*string{&p.Content, &p.ID, &p.Name, &p.MIMEType, &p.URI, &p.FileID, &p.Filename} {
		*s = strings.Clone(*s)
	}
	for _, s := range []*string{p.Arguments, p.Response, p.Detail} {
		if s != nil {
			*s = strings.Clone(*s)
		}
	}
}
