package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Body is what became of a body.
type Body struct {
	Bytes   []byte // nil when nothing of it may be kept
	Changed bool
	Dropped bool // it could not be understood, so that nothing of it is kept
}

// Names under which marks count what no rule of the settings did.
const (
	markTokens   = "tokens"    // a text as the numbers of its tokens
	markLogprobs = "logprobs"  // log-probabilities, which repeat a text in which something was found
	markCut      = "cut"       // the end of a text that broke off within what may be a value
	markDropped  = "undecoded" // a body that could not be understood
)

// body is a body while it is gone through.
type body struct {
	f        *Filter
	src      string
	e        edits
	stream   bool // it is a stream: strings at one place in its events are one text
	open     bool // it may end anywhere
	channels map[uint64]*channel
	latest   map[uint64]*channel // by path alone
	events   int                 // JSON texts so far
	cutOff   bool                // the event that is taken breaks off
	order    []*channel
	logprobs []span // in src
}

const bom = "\uFEFF"

// Body replaces in a body, without content encoding, what the rules find in it:
// JSON, a stream of JSON events, JSON lines, or text. open says that it is cut
// off, or broke off. Everything that is not found stays byte for byte as it is.
// The bytes of the caller are not changed.
func (f *Filter) Body(raw []byte, open bool, marks Marks) Body {
	if f == nil || len(raw) == 0 {
		return Body{Bytes: raw}
	}
	src := string(raw)
	if !utf8.ValidString(src) {
		src = strings.ToValidUTF8(src, "\uFFFD")
	}
	b := &body{f: f, src: src, open: open}
	var out Body
	if !fenced(func() { out = b.redacted(raw) }) || out.Dropped {
		marks.Undecoded()
		return Body{Dropped: true, Changed: true}
	}
	b.e.count(marks)
	return out
}

// redacted is the body with its edits made.
func (b *body) redacted(raw []byte) Body {
	if !b.read(string(raw)) {
		return Body{Dropped: true, Changed: true}
	}
	b.finish()
	if len(b.e) == 0 {
		return Body{Bytes: raw}
	}
	return Body{Bytes: []byte(b.e.apply(b.src, 0)), Changed: true}
}

// read goes through the body. It returns false when it is not understood.
func (b *body) read(raw string) bool {
	at := 0
	if strings.HasPrefix(b.src, bom) {
		at = len(bom)
	}
	at += len(b.src[at:]) - len(strings.TrimLeft(b.src[at:], " \t\r\n"))
	rest := b.src[at:]
	switch {
	case rest == "":
		return true
	case rest[0] == '{' || rest[0] == '[':
		return b.readJSON(at)
	case looksLikeSSE(rest):
		return b.readEvents(at)
	case len(b.f.paths) > 0 || !isText(raw, b.open):
		return false
	}
	b.channel(bareData).addText(piece{view: view{text: b.src}})
	b.stream = true
	return true
}

// readJSON reads one JSON text, or several. When there are several, or when it
// is a list of them, an answer is a stream.
func (b *body) readJSON(at int) bool {
	b.stream = b.f.answers && b.src[at] == '['
	for again := false; ; again = true {
		b.e, b.channels, b.latest, b.order, b.logprobs = nil, nil, nil, nil, nil
		n, end, out := b.texts(b.src[at:], at, nil)
		if n > 1 && b.f.answers && !b.stream && !again {
			b.stream = true
			continue
		}
		if out == broken && n > 0 && looksLikeSSE(b.src[at+end:]) {
			b.stream = true
			return b.readEvents(at + end)
		}
		return out != broken
	}
}

// looksLikeSSE says whether a text starts as an event stream does.
func looksLikeSSE(s string) bool {
	for _, p := range []string{":", "data:", "event:", "id:", "retry:"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// texts goes through JSON texts behind each other. It returns how many there
// were, where they end, and how.
func (b *body) texts(s string, start int, lines *view) (n, end int, out outcome) {
	w := walker{s: s, rules: b.f.paths, frames: make([]frame, 1, 16)}
	at := make([]places, len(w.rules))
	for i := range at {
		at[i] = 1
	}
	var leaves []leaf
	w.show = func(l leaf) {
		if b.stream && l.kind == '"' { // what tells its place may follow it
			leaves = append(leaves, l)
			return
		}
		b.leaf(&w, l, start, lines)
	}
	for {
		if w.space(); w.i == len(s) {
			return n, w.i, whole
		}
		before := w.i
		if strings.HasPrefix(s[w.i:], doneWord) {
			w.i += len(doneWord)
			continue
		}
		leaves, w.frames = leaves[:0], append(w.frames[:0], frame{})
		out := w.value(leaf{places: at})
		if out == broken {
			return n, before, broken
		}
		b.events++
		b.cutOff = out == cutOff
		for _, l := range leaves {
			b.leaf(&w, l, start, lines)
		}
		if n++; out == cutOff {
			b.open = true
			return n, w.i, cutOff
		}
	}
}

// doneWord ends the streams of chat completions.
const doneWord = "[DONE]"

// leaf takes one leaf of a JSON text that starts at start.
func (b *body) leaf(w *walker, l leaf, start int, lines *view) {
	place := func(at int) int {
		if lines != nil {
			return lines.raw(start + at)
		}
		return start + at
	}
	from, to := l.content()
	switch {
	case l.kind == 't':
		if len(b.f.patterns) > 0 {
			b.e = append(b.e, edit{place(l.start), place(l.end), "null", &rule{label: markTokens}})
		}
	case l.kind == 'p' && l.name == promptLogprobs && len(b.f.patterns) > 0: // what they repeat is not here
		b.e = append(b.e, edit{place(l.start), place(l.end), "null", &rule{label: markLogprobs}})
	case l.kind == 'p':
		b.logprobs = append(b.logprobs, span{place(l.start), place(l.end)})
	case l.hit != nil && (l.kind != '"' || !b.stream || isFixed(l.name) || l.hit.action == ActionDrop):
		b.e = append(b.e, edit{place(l.start), place(l.end), l.hit.whole(l, w.s[l.start:l.end]), l.hit})
	case l.kind == '0':
		for _, m := range b.f.findNumber(w.s, l, nil) {
			b.e = append(b.e, edit{place(m.start), place(m.end), m.text, m.rule})
		}
	default:
		p := piece{start: start + from, lines: lines, view: jsonView(w.s[from:to])}
		b.string(w, l, p)
	}
}

// string takes a string or a key.
func (b *body) string(w *walker, l leaf, p piece) {
	var c *channel
	switch {
	case l.kind == '"' && b.stream && !isFixed(l.name):
		c = b.deltas(w, l)
	case l.kind == '"' && inParts(l.name):
		c = b.channel(hashName(uint64(w.list(l)), l.name))
	}
	if c != nil {
		if len(c.pieces) == 0 {
			c.hit, c.places = l.hit, l.places
		}
		c.add(p)
		c.cut = !l.whole
		if l.hit != nil || !b.stream {
			return
		}
	}
	b.alone(p, l)
}

// alone looks at a string by itself.
func (b *body) alone(p piece, l leaf) {
	found := b.f.find(p.text, 0, l.places)
	if !l.whole && l.kind == '"' {
		found = tidy(append(found, tail(p.text)...))
	}
	if len(found) == 0 {
		return
	}
	var c channel
	c.add(p)
	b.e.channel(&c, found, true)
}

// isFixed says whether members of this name come whole, and again with each event
// of a stream.
func isFixed(name string) bool {
	switch name {
	case "id", "object", "model", "type", "role", "name", "status", "item_id", "call_id", "tool_call_id", "finish_reason",
		"stop_reason", "system_fingerprint", "service_tier", "response_id", "responseId", "modelVersion", "created_at", "event", "obfuscation":
		return true
	}
	return false
}

// inParts says whether members of this name in the items of a list are pieces of
// one text: the parts of a message, tokens.
func inParts(name string) bool { return name == "text" || name == "token" || name == "tokens" }

// list is the innermost list around a leaf, 0 for none.
func (w *walker) list(l leaf) int {
	for f := l.frame; f > 0; f = w.frames[f].parent {
		if w.frames[f].kind == '[' {
			return f
		}
	}
	return 0
}

// deltas returns the channel of a string in a stream. What tells its place may
// be missing in an event that breaks off: then it goes on with the latest one.
func (b *body) deltas(w *walker, l leaf) *channel {
	if c := b.latest[l.path]; b.cutOff && c != nil {
		return c
	}
	if b.latest == nil {
		b.latest = make(map[uint64]*channel)
	}
	c := b.channel(w.place(l))
	if c.path == 0 {
		c.path, c.event = l.path, b.events
	}
	b.latest[l.path] = c
	return c
}

// channel returns the channel of a place.
func (b *body) channel(place uint64) *channel {
	c := b.channels[place]
	if c == nil {
		if b.channels == nil {
			b.channels = make(map[uint64]*channel)
		}
		c = &channel{}
		b.channels[place] = c
		b.order = append(b.order, c)
	}
	return c
}

// text takes text that is in no JSON. place tells it from other such text; 0 is
// what stands by itself.
func (b *body) text(p piece, place uint64) {
	if place != 0 {
		b.channel(place).addText(p)
	}
	var c channel
	c.add(p)
	b.e.channel(&c, b.f.find(p.text, 0, nil), false)
}

// finish looks at the texts that came in pieces.
func (b *body) finish() {
	for _, c := range b.order {
		if c.hit != nil {
			b.e.channel(c, c.all(), true)
			continue
		}
		b.e.channel(c, b.said(c), !c.bare)
	}
	for _, c := range b.counted() {
		b.e.channel(c, b.said(c), true)
	}
	if len(b.e) > 0 && len(b.f.patterns) > 0 {
		for _, at := range b.logprobs {
			b.e = append(b.e, edit{at.start, at.end, "null", &rule{label: markLogprobs}})
		}
	}
	b.e.sort()
}

// said finds in a text that came in pieces, and may have broken off.
func (b *body) said(c *channel) []match {
	found := b.f.find(c.text(), 0, c.places)
	if c.cut || b.open && b.stream {
		found = tidy(append(found, tail(c.text())...))
	}
	return found
}

// counted returns the texts of which each piece has an index or id of its own:
// that of some streams is one of the event, not of the text.
func (b *body) counted() []*channel {
	texts, own := make(map[uint64]*channel), make(map[*channel]bool)
	var out []*channel
	for _, c := range b.order {
		if c.path == 0 || c.hit != nil {
			continue
		}
		text := texts[c.path]
		if text == nil {
			text = &channel{places: c.places}
			texts[c.path] = text
			out = append(out, text)
		}
		if len(c.pieces) > 1 || len(text.pieces) > 0 && c.event == text.event {
			own[text] = true // it is one of several
		}
		text.cut, text.event = c.cut, c.event
		text.add(c.pieces[0])
	}
	return slices.DeleteFunc(out, func(c *channel) bool { return own[c] || len(c.pieces) < 2 })
}

// all is a match of the whole text, for a rule that names it by its path.
func (c *channel) all() []match {
	text := c.text()
	if text == "" {
		return nil
	}
	return []match{{0, len(text), c.hit, c.hit.replacement(text)}}
}
