package redact

import "strings"

// How the walk over a JSON text ends.
type outcome byte

const (
	whole  outcome = iota
	cutOff         // the text ended inside a value
	broken         // it is not JSON
)

// maxDepth bounds how deep a JSON text may nest; a deeper one counts as broken.
const maxDepth = 1024

// logprobs says whether a member repeats a text token by token.
func logprobs(name string) bool {
	switch name {
	case "logprobs", "top_logprobs", "logprobsResult", "logprobs_result", "completion_probabilities", promptLogprobs:
		return true
	}
	return false
}

// promptLogprobs is the member of an answer that repeats the request.
const promptLogprobs = "prompt_logprobs"

// tokens says whether a member is a text as the numbers of its tokens, which no
// pattern finds and whoever has the model can read.
func tokens(name, value string) bool {
	switch name {
	case "context", "input", "prompt", "tokens", "token_ids", "prompt_token_ids", "input_ids", "output_ids":
		return value[0] == '[' && strings.Trim(value, "0123456789,[] \t\r\n") == "" && strings.ContainsAny(value, "0123456789")
	}
	return false
}

// leaf is what a walk shows of a JSON text: a string, a key, or another scalar;
// or any value that a rule names by its path.
type leaf struct {
	kind       byte // '"', 'k' for a key, '0' for a number or word, '{' or '[' for what a path names, 'p' for log-probabilities, 't' for numbers of tokens
	start, end int  // in the text, with the quotes
	whole      bool // a string has its closing quote
	name       string
	frame      int      // object or array around it
	path       uint64   // hash of the names that lead to it
	hit        *rule    // that names it
	places     []places // in the paths of the rules, to go on inside a string
}

// frame is an object or array that is open, or was.
type frame struct {
	parent int
	kind   byte
	place  uint64 // what tells it from others at its path: its index, its id
	order  uint64 // the same by its place in the list, when it has no index
}

// walker goes over JSON texts from left to right, once. It is as tolerant as
// what decodes them: NaN is a number, raw control characters may stand in
// strings.
type walker struct {
	s      string
	i      int
	rules  []*rule // with paths
	frames []frame
	show   func(leaf)
	depth  int
	order  uint64 // of the frame that is opened next
	muted  int    // depth of values that are only passed
}

// value goes over the next value. at are the places in the paths of the rules.
func (w *walker) value(l leaf) outcome {
	w.space()
	if w.i == len(w.s) {
		return cutOff
	}
	for k, r := range w.rules {
		if l.hit == nil && w.muted == 0 && r.path.reached(l.places[k]) {
			l.hit = r
		}
	}
	switch b := w.s[w.i]; b {
	case '{', '[':
		return w.nested(l, b)
	case '"':
		l.kind = '"'
		return w.quoted(l)
	default:
		return w.word(l)
	}
}

func (w *walker) space() {
	for w.i < len(w.s) {
		switch w.s[w.i] {
		case ' ', '\n', '\r', '\t':
			w.i++
		default:
			return
		}
	}
}

// quoted goes over a string or a key.
func (w *walker) quoted(l leaf) outcome {
	l.start = w.i
	for i := w.i + 1; i < len(w.s); i++ {
		switch w.s[i] {
		case '\\':
			i++
		case '"':
			w.i = i + 1
			l.end, l.whole = w.i, true
			w.emit(l)
			return whole
		}
	}
	w.i = len(w.s)
	l.end = w.i
	w.emit(l)
	return cutOff
}

func (w *walker) emit(l leaf) {
	if w.muted == 0 {
		w.show(l)
	}
}

// word goes over a number, true, false or null.
func (w *walker) word(l leaf) outcome {
	l.start = w.i
	for w.i < len(w.s) && (isDigit(w.s[w.i]) || isLetter(w.s[w.i]) || w.s[w.i] == '-' || w.s[w.i] == '+' || w.s[w.i] == '.') {
		w.i++
	}
	text := w.s[l.start:w.i]
	if text == "" {
		return broken
	}
	if isLetter(text[0]) && !isJSONWord(text) {
		if w.i == len(w.s) {
			return cutOff
		}
		return broken
	}
	l.kind, l.end, l.whole = '0', w.i, w.i < len(w.s)
	w.emit(l)
	return whole
}

func isJSONWord(s string) bool {
	switch s {
	case "true", "false", "null", "NaN", "Infinity":
		return true
	}
	return false
}

// nested goes over an object or array.
func (w *walker) nested(l leaf, open byte) outcome {
	if w.depth++; w.depth > maxDepth {
		return broken
	}
	defer func() { w.depth-- }()
	l.start, l.kind = w.i, open
	if l.hit != nil && w.muted == 0 {
		w.muted++
		out := w.members(l, open)
		w.muted--
		l.end, l.whole = w.i, out == whole
		w.show(l)
		return out
	}
	return w.members(l, open)
}

func (w *walker) members(l leaf, open byte) outcome {
	w.i++
	f := len(w.frames)
	w.frames = append(w.frames, frame{parent: l.frame, kind: open, order: w.order})
	w.order = 0
	inner := leaf{frame: f, name: l.name, places: l.places}
	if len(w.rules) > 0 {
		inner.places = make([]places, len(w.rules))
	}
	for n := 0; ; n++ {
		w.space()
		if w.i == len(w.s) {
			return cutOff
		}
		if b := w.s[w.i]; n == 0 && b == open+2 {
			w.i++
			return whole
		}
		var out outcome
		if open == '{' {
			out = w.member(l, inner)
		} else {
			out = w.item(l, inner, n)
		}
		if out != whole {
			return out
		}
		w.space()
		if w.i == len(w.s) {
			return cutOff
		}
		b := w.s[w.i]
		w.i++
		switch b {
		case ',':
		case open + 2:
			return whole
		default:
			return broken
		}
	}
}

// member goes over a key and what it names.
func (w *walker) member(outer, inner leaf) outcome {
	if w.s[w.i] != '"' {
		return broken
	}
	start := w.i
	key := inner
	key.kind = 'k'
	if out := w.quoted(key); out != whole {
		return out
	}
	name := jsonView(w.s[start+1 : w.i-1]).text
	w.space()
	if w.i == len(w.s) {
		return cutOff
	}
	if w.s[w.i] != ':' {
		return broken
	}
	w.i++
	inner.name, inner.path = name, hashName(outer.path, name)
	for k, r := range w.rules {
		inner.places[k] = r.path.member(outer.places[k], name)
	}
	if w.space(); w.i == len(w.s) {
		return cutOff
	}
	at := w.i
	out := w.value(inner)
	w.note(inner.frame, name, w.s[at:w.i])
	if logprobs(name) && (w.s[at] == '[' || w.s[at] == '{') { // else it asks for them
		w.emit(leaf{kind: 'p', name: name, start: at, end: w.i})
	}
	if out != broken && tokens(name, w.s[at:w.i]) {
		w.emit(leaf{kind: 't', name: name, start: at, end: w.i})
	}
	return out
}

func (w *walker) item(outer, inner leaf, n int) outcome {
	inner.path = hashName(outer.path, "[]")
	for k, r := range w.rules {
		inner.places[k] = r.path.item(outer.places[k], n)
	}
	w.order = 0
	if outer.name == "choices" || outer.name == "candidates" {
		w.order = uint64(n) + 1
	}
	return w.value(inner)
}

// note takes members that tell texts of a stream apart.
func (w *walker) note(f int, name, value string) {
	switch name {
	case "index":
		w.frames[f].order = 0
	case "output_index", "content_index", "summary_index", "item_id":
	case "type":
		if w.frames[f].parent != 0 {
			return
		}
	default:
		return
	}
	if len(value) < 128 {
		w.frames[f].place += hashName(hashName(0, name), value)
	}
}

// place is what tells a leaf from others at its path.
func (w *walker) place(l leaf) uint64 {
	place := l.path
	for f := l.frame; f > 0; f = w.frames[f].parent {
		place = place*31 + w.frames[f].place + w.frames[f].order
	}
	return place
}

// hashName is FNV-1a over a name behind what came before.
func hashName(h uint64, name string) uint64 {
	h ^= 0xcbf29ce484222325
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return h*0x100000001b3 + 1
}
