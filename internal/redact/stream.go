package redact

import "strings"

// readEvents reads an event stream from at on: lines that end in CR, LF or
// both, of which the data lines of one event belong together. JSON on lines of
// its own is taken, too.
func (b *body) readEvents(at int) bool {
	b.stream = b.f.answers
	var data []span
	for at < len(b.src) {
		if len(data) == 0 && b.src[at] == '{' {
			n, end, out := b.texts(b.src[at:], at, nil)
			if out == whole || out == cutOff {
				return true
			}
			if n == 0 {
				return false
			}
			at += end
			continue
		}
		start := at
		end, next := lineAt(b.src, at)
		at = next
		line := b.src[start:end]
		if line == "" {
			if !b.event(data, true) {
				return false
			}
			data = data[:0]
			continue
		}
		if rest, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, span{end - len(strings.TrimPrefix(rest, " ")), end})
			continue
		}
		if name, rest, ok := strings.Cut(line, ":"); ok && (name == "event" || name == "id" || name == "retry") {
			start = end - len(rest)
		}
		b.text(piece{start: start, view: view{text: b.src[start:end]}}, 0)
	}
	return b.event(data, false)
}

// lineAt returns where the line that starts at i ends, and where the next one
// starts.
func lineAt(s string, i int) (end, next int) {
	n := strings.IndexAny(s[i:], "\r\n")
	if n < 0 {
		return len(s), len(s)
	}
	end = i + n
	if strings.HasPrefix(s[end:], "\r\n") {
		return end, end + 2
	}
	return end, end + 1
}

// event takes the data of one event. closed says that an empty line ended it.
func (b *body) event(data []span, closed bool) bool {
	if len(data) == 0 {
		return true
	}
	s, start := b.src[data[0].start:data[0].end], data[0].start
	var lines *view
	if len(data) > 1 {
		v := b.joined(data)
		s, start, lines = v.text, 0, &v
	}
	trimmed := strings.TrimLeft(s, " \t\n")
	switch {
	case trimmed == "" || strings.HasPrefix(trimmed, doneWord):
		return true
	case trimmed[0] == '{' || trimmed[0] == '[':
		_, _, out := b.texts(s, start, lines)
		return out == whole || out == cutOff && !closed
	case trimmed[0] == '"' && isOneString(trimmed):
		_, _, out := b.texts(s, start, lines)
		return out == whole
	case len(b.f.paths) > 0:
		return false
	}
	b.text(piece{start: start, lines: lines, view: view{text: s}}, bareData)
	return true
}

// bareData is the place of data that is no JSON.
const bareData = 1

// isOneString says whether a text is one JSON string.
func isOneString(s string) bool {
	w := walker{s: s, frames: make([]frame, 1), show: func(leaf) {}}
	out := w.value(leaf{})
	w.space()
	return out == whole && w.i == len(s)
}

// joined is the data of several lines as one text.
func (b *body) joined(data []span) view {
	var v viewer
	for i, at := range data {
		if i > 0 {
			v.b.WriteByte('\n')
		}
		v.marks = append(v.marks, mark{v.b.Len(), at.start})
		v.b.WriteString(b.src[at.start:at.end])
	}
	return v.done()
}

// addText adds a piece that stands in no JSON.
func (c *channel) addText(p piece) {
	c.bare = true
	c.add(p)
}

// maxTail bounds what is taken away at the end of a text that broke off.
const maxTail = 128

// tail matches what may be the beginning of a value at the end of a text: the
// last word, and the groups of digits before it.
func tail(s string) []match {
	start := len(s)
	for limit := max(0, len(s)-maxTail); start > limit; {
		word := start
		for word > limit && !strings.ContainsRune(" \t\r\n\"'<>,;", rune(s[word-1])) {
			word--
		}
		if word == start || start < len(s) && digitsOf(s[word:start]) == "" {
			break
		}
		start = word
		if start == limit || s[start-1] != ' ' || digitsOf(s[start:]) == "" {
			break
		}
		start--
	}
	rest := strings.TrimLeft(s[start:], " ")
	if !suspicious(rest) {
		return nil
	}
	return []match{{len(s) - len(rest), len(s), &rule{label: markCut}, "[redacted:cut]"}}
}

// suspicious says whether a text may be the beginning of a value.
func suspicious(s string) bool {
	if strings.IndexByte(s, '@') >= 0 || len(digitsOf(s)) >= 5 {
		return true
	}
	for _, p := range keyPrefixes() {
		if strings.HasPrefix(s, p.text) {
			return true
		}
	}
	return strings.HasPrefix(s, "eyJ")
}
