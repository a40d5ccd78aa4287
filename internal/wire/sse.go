package wire

import "strings"

// bom is the byte order mark that may stand before a text.
const bom = "\uFEFF"

// events takes a text/event-stream apart. It follows the WHATWG rules (lines
// end in CR, LF or both, the space behind the colon is optional, data lines of
// one event are joined with LF, comments and unknown fields are ignored) with
// two additions for servers that do not: JSON on lines of its own, without a
// field name, is an event; and the last event needs no empty line behind it
// (whole is false for it, the caller finds out whether its data is).
type events struct {
	s      string
	broken int // lines that looked like JSON and were not
}

// maxBroken bounds how often JSON is looked for in vain in one stream.
const maxBroken = 16

// event is one dispatched event.
type event struct {
	name, data string
	whole      bool // an empty line ended it
}

func newEvents(s string) *events { return &events{s: strings.TrimPrefix(s, bom)} }

// next returns the next event that has data.
func (r *events) next() (e event, ok bool) {
	lines := 0
	var joined []byte
	for r.s != "" {
		if lines == 0 && r.s[0] == '{' && r.broken < maxBroken {
			return r.bare(e.name), true
		}
		line := r.line()
		if line == "" {
			if lines > 0 {
				e.whole = true
				break
			}
			e.name = ""
			continue
		}
		field, text, _ := strings.Cut(line, ":")
		text = strings.TrimPrefix(text, " ")
		switch field {
		case "event":
			e.name = text
		case "data":
			switch lines++; lines {
			case 1:
				e.data = text
			case 2:
				joined = append(append(append(joined, e.data...), '\n'), text...)
			default:
				joined = append(append(joined, '\n'), text...)
			}
		}
	}
	if lines > 1 {
		e.data = string(joined)
	}
	return e, lines > 0
}

// line cuts the next line off.
func (r *events) line() string {
	end := strings.IndexByte(r.s, '\n')
	if end < 0 {
		end = len(r.s)
	}
	if cr := strings.IndexByte(r.s[:end], '\r'); cr >= 0 {
		end = cr
	}
	line := r.s[:end]
	switch {
	case end == len(r.s):
		r.s = ""
	case r.s[end] == '\r' && end+1 < len(r.s) && r.s[end+1] == '\n':
		r.s = r.s[end+2:]
	default:
		r.s = r.s[end+1:]
	}
	return line
}

// bare reads JSON that stands in the stream without a field name, over as many
// lines as it takes; if it is none, one line.
func (r *events) bare(name string) event {
	c := cursor{s: r.s}
	raw := c.raw()
	switch {
	case c.cut:
		r.s = ""
		return event{name: name, data: raw}
	case c.bad:
		r.broken++
		return event{name: name, data: r.line()}
	}
	r.s = r.s[c.i:]
	r.line()
	return event{name: name, data: raw, whole: true}
}

// looksLikeSSE says whether a text starts as an event stream does.
func looksLikeSSE(s string) bool {
	s = strings.TrimLeft(strings.TrimPrefix(s, bom), "\r\n")
	for _, p := range []string{":", "data:", "event:", "id:", "retry:"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
