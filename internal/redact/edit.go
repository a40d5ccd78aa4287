package redact

import (
	"cmp"
	"slices"
	"strings"
)

// edit replaces a stretch of a body.
type edit struct {
	start, end int
	text       string
	rule       *rule // nil when it only takes away what goes on from another stretch
}

type edits []edit

// piece is a part of a text that is spread over a body.
type piece struct {
	start int // of its characters in the body
	lines *view
	view
}

// raw returns where a place in the piece stands in the body.
func (p *piece) raw(at int) int {
	at = p.start + p.view.raw(at)
	if p.lines != nil {
		at = p.lines.raw(at)
	}
	return at
}

// channel is a text that comes in pieces, such as the deltas of a stream.
type channel struct {
	pieces []piece
	size   int
	places []places
	path   uint64 // of a delta
	event  int    // that began it
	hit    *rule  // that names all of it by its path
	joined string
	cut    bool // it ends in the middle of a string
	bare   bool // its pieces stand in no JSON
}

func (c *channel) add(p piece) {
	c.pieces = append(c.pieces, p)
	c.size += len(p.text)
}

// text is the whole of it.
func (c *channel) text() string {
	if len(c.pieces) == 1 {
		return c.pieces[0].text
	}
	if c.joined == "" {
		var b strings.Builder
		b.Grow(c.size)
		for i := range c.pieces {
			b.WriteString(c.pieces[i].text)
		}
		c.joined = b.String()
	}
	return c.joined
}

// channel adds the edits for what was found in the text of a channel.
// inJSON says that the pieces stand in JSON strings.
func (e *edits) channel(c *channel, found []match, inJSON bool) {
	k, base := 0, 0
	for _, m := range found {
		for base+len(c.pieces[k].text) <= m.start {
			base += len(c.pieces[k].text)
			k++
		}
		text, r := m.text, m.rule
		if inJSON {
			text = quote(text)
		}
		for i, at := k, base; i < len(c.pieces) && at < m.end; i++ {
			p := &c.pieces[i]
			from, to := max(m.start-at, 0), min(m.end-at, len(p.text))
			if to > from {
				*e = append(*e, edit{p.raw(from), p.raw(to), text, r})
				text, r = "", nil
			}
			at += len(p.text)
		}
	}
}

// sort orders the edits and makes one of those that overlap.
func (e *edits) sort() {
	list := *e
	slices.SortStableFunc(list, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	out := list[:0]
	for _, next := range list {
		if n := len(out); n > 0 && next.start < out[n-1].end {
			last := &out[n-1]
			last.end = max(last.end, next.end)
			if last.rule == nil {
				last.rule, last.text = next.rule, next.text
			}
			continue
		}
		out = append(out, next)
	}
	*e = out
}

func (e edits) count(marks Marks) {
	for _, x := range e {
		if x.rule != nil {
			marks[x.rule.label]++
		}
	}
}

// apply makes the edits that lie in s, which begins at base. None may begin
// before it and end in it without being in order.
func (e edits) apply(s string, base int) string {
	var b strings.Builder
	at, end := base, base+len(s)
	for _, x := range e {
		if x.start < base || x.start >= end {
			continue
		}
		b.WriteString(s[at-base : x.start-base])
		b.WriteString(x.text)
		at = min(x.end, end)
	}
	b.WriteString(s[at-base:])
	return b.String()
}
