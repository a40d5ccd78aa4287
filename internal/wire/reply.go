package wire

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"docket/internal/record"
)

// maxChoices and maxBlocks bound what a reply may open: beyond them it counts
// as not understood.
const (
	maxChoices = 256
	maxBlocks  = 1024
)

// reply gathers an answer while it is read, event by event or at once.
type reply struct {
	status int
	unread bool   // the body is not read, whatever it is
	text   cursor // of the event that is being read
	left   int    // list items that may still be looked at

	id, model, previousID, conversationID string

	items []string // ids of the answer's items

	choices []*choice
	usage   value // the last one sent
	errType string
	errText string

	stream  bool
	whole   bool   // the JSON text of the answer is not cut
	done    bool   // the provider's end signal was seen
	failed  bool   // an error was seen
	bad     bool   // a part could not be understood
	refused bool   // declined without a refusal text
	paused  bool   // the client has to send the answer back to go on
	known   bool   // the answer has the shape of its API
	picked  bool   // the format was checked against the first value
	instead format // the one that the answer has, when it is not the path's

	attributes map[string]string
	body       []byte // what to store in place of the response; nil: as it is
}

// choice is one of the answers of a reply.
type choice struct {
	index    int
	role     string
	finish   string
	thoughts string // the field that reasoning is taken from
	blocks   []*block
	full     bool // a block had no room
}

// block is a part of a choice while it grows.
type block struct {
	order int // place in the message; equal ones keep the order of arrival
	key   int // what the API calls it by
	part  record.Part
	text  []byte
	given bool // text was sent, maybe an empty one

	scan    balance // of the first scanned bytes of text
	scanned int
	closed  bool
}

// choice returns the choice with this index, and makes it when it is new.
func (r *reply) choice(index int) *choice {
	for i := len(r.choices) - 1; i >= 0; i-- {
		if r.choices[i].index == index {
			return r.choices[i]
		}
	}
	c := &choice{index: index}
	if len(r.choices) >= maxChoices {
		r.bad = true
		return c
	}
	r.choices = append(r.choices, c)
	return c
}

// fail notes an error. The first one is kept.
func (r *reply) fail(kind, text string) {
	if !r.failed {
		r.failed, r.errType, r.errText = true, kind, text
	}
}

func (r *reply) setAttribute(name, text string) {
	if r.attributes == nil {
		r.attributes = make(map[string]string)
	}
	r.attributes[name] = text
}

// block returns the block of this type and key, and makes it when it is new.
func (c *choice) block(kind string, order, key int) *block {
	for i := len(c.blocks) - 1; i >= 0; i-- {
		if b := c.blocks[i]; b.key == key && b.part.Type == kind {
			return b
		}
	}
	return c.open(kind, order, key)
}

// open makes a new block.
func (c *choice) open(kind string, order, key int) *block {
	b := &block{order: order, key: key, part: record.Part{Type: kind}}
	if len(c.blocks) == maxBlocks {
		c.full = true
		return b
	}
	c.blocks = append(c.blocks, b)
	return b
}

// add puts a finished part into its place.
func (c *choice) add(order int, parts ...record.Part) {
	for _, p := range parts {
		b := c.open(p.Type, order, order)
		b.part = p
	}
}

// write appends text to the block.
func (b *block) write(s string) {
	b.text = append(b.text, s...)
	b.given = true
}

// set replaces the text of the block by its final form.
func (b *block) set(s string) {
	b.text = append(b.text[:0], s...)
	b.given = true
}

// complete says whether the text is a whole JSON object. Each byte is looked at
// once, however often this is asked.
func (b *block) complete() bool {
	for ; b.scanned < len(b.text); b.scanned++ {
		b.closed = b.scan.add(b.text[b.scanned]) || b.closed
	}
	return b.closed
}

// finished returns the part as it stands.
func (b *block) finished() record.Part {
	p := b.part
	if !b.given {
		return p
	}
	switch text := string(b.text); p.Type {
	case record.PartToolCall:
		p.Arguments = &text
	case record.PartToolCallResponse:
		p.Response = &text
	default:
		p.Content = text
	}
	return p
}

// message returns the choice as a message. A stream opens its text with an
// empty delta whether text follows or not, so there an empty text says nothing
// beside tool calls or a refusal, or when the choice never finished.
func (c *choice) message(stream bool) record.Message {
	slices.SortStableFunc(c.blocks, func(a, b *block) int { return cmp.Compare(a.order, b.order) })
	m := record.Message{Role: cmp.Or(c.role, roleAssistant), FinishReason: c.finish, Parts: make([]record.Part, 0, len(c.blocks))}
	said := c.finish == "" || slices.ContainsFunc(c.blocks, func(b *block) bool {
		return b.part.Type == record.PartToolCall || b.part.Type == record.PartRefusal
	})
	for _, b := range c.blocks {
		p := b.finished()
		if stream && said && p.Type == record.PartText && p.Content == "" {
			continue
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

// finish moves what was gathered into d.
func (r *reply) finish(x Exchange, d *Decoded) {
	r.choices = slices.DeleteFunc(r.choices, func(c *choice) bool { return len(c.blocks) == 0 && c.finish == "" })
	slices.SortStableFunc(r.choices, func(a, b *choice) int { return cmp.Compare(a.index, b.index) })
	finished := len(r.choices) > 0
	for _, c := range r.choices {
		m := c.message(r.stream)
		d.Output = append(d.Output, m)
		d.FinishReasons = append(d.FinishReasons, c.finish)
		finished = finished && c.finish != ""
		d.Refusal = d.Refusal || isRefusal(m)
		r.bad = r.bad || c.full
	}
	if len(r.choices) > 0 {
		d.FinishReason = r.choices[0].finish
		d.ToolStep = r.paused || asksForTool(d.Output[0])
		d.CutByTokens = isTokenLimit(d.FinishReason)
	}
	d.Refusal = d.Refusal || r.refused
	d.Stream = r.stream
	d.ResponseID, d.ResponseModel, d.ItemIDs = r.id, r.model, r.items
	d.PreviousResponseID = cmp.Or(d.PreviousResponseID, r.previousID)
	d.ConversationID = cmp.Or(d.ConversationID, r.conversationID)
	d.Usage = usageOf(r.usage)
	for k, text := range r.attributes {
		d.setAttribute(k, text)
	}
	if r.body != nil {
		d.Response = r.body
	}

	if x.Status >= 400 {
		r.fail("", "")
	}
	if r.failed {
		d.ErrorType, d.ErrorMessage = errorType(r.errType, x.Status), r.errText
	}
	r.bad = r.bad || r.left == 0
	d.Undecodable = d.Undecodable || r.bad && !r.failed
	if r.unread { // nothing is known of its end but the transport's
		d.Complete = (x.BodyEnded || x.Status == http.StatusSwitchingProtocols) && !r.failed
		return
	}
	ended := r.done || finished && (r.stream || r.whole) || x.EndSeen && x.ResponseCut
	d.Complete = ended && !r.failed && !r.bad
}

// isRefusal says whether the model declined, or a filter took the answer.
func isRefusal(m record.Message) bool {
	for _, p := range m.Parts {
		if p.Type == record.PartRefusal && p.Content != "" {
			return true
		}
	}
	switch strings.ToLower(m.FinishReason) {
	case "refusal", "content_filter", "safety", "prohibited_content", "blocklist", "spii", "recitation", "image_safety":
		return true
	}
	return false
}

// isTokenLimit says whether a finish reason means that the answer was cut at a
// token limit.
func isTokenLimit(finish string) bool {
	switch strings.ToLower(finish) {
	case "length", "max_tokens", "max_output_tokens", "model_context_window_exceeded":
		return true
	}
	return false
}

// asksForTool says whether a message asks the client to run a tool: it has a
// call whose result is not in the same message.
func asksForTool(m record.Message) bool {
	for _, p := range m.Parts {
		if p.Type != record.PartToolCall {
			continue
		}
		answered := slices.ContainsFunc(m.Parts, func(q record.Part) bool {
			return q.Type == record.PartToolCallResponse && q.ID == p.ID
		})
		if !answered {
			return true
		}
	}
	return false
}
