package wire

import (
	"strings"
	"unicode/utf8"
)

// maxErrorText bounds an error message.
const maxErrorText = 4 << 10

// read understands the body of an answer by its first bytes.
func (r *reply) read(f format, body string) {
	body = strings.TrimLeft(body, " \t\r\n")
	switch {
	case body == "":
	case f.response == nil:
		if r.status >= 400 {
			r.readError(body)
		}
	case body[0] == '{' || body[0] == '[' && !strings.HasPrefix(body, "[DONE]"):
		r.readJSON(f, body)
	case looksLikeSSE(body):
		r.readStream(f, body)
	default:
		r.readError(body)
	}
}

// readJSON reads a JSON answer, or several on lines of their own.
func (r *reply) readJSON(f format, body string) {
	c := cursor{s: body}
	for c.peek() != 0 && !r.bad {
		at := c.i
		v := c.value()
		switch {
		case c.bad && at > 0 && looksLikeSSE(body[at:]):
			// JSON first, an event stream behind it
			r.bad = false
			r.readStream(f, body[at:])
			return
		case c.bad:
			r.bad = true
			return
		case c.cut && r.stream:
			return // a line that was cut off says nothing
		}
		r.whole = !c.cut
		if !c.cut && c.peek() != 0 {
			r.stream = true
		}
		r.take(f, "", v)
		if c.cut {
			return
		}
	}
}

// readStream reads an event stream.
func (r *reply) readStream(f format, body string) {
	r.stream = true
	ev := newEvents(body)
	for e, ok := ev.next(); ok; e, ok = ev.next() {
		r.event(f, e)
	}
}

// event takes one event, whose data is JSON, several JSON texts on lines of
// their own, or a word.
func (r *reply) event(f format, e event) {
	r.text = cursor{s: e.data}
	c := &r.text
	for {
		b := c.peek()
		switch {
		case b == 0:
			return
		case strings.HasPrefix(c.s[c.i:], "[DONE]"):
			r.done = true
			c.i += len("[DONE]")
			continue
		case b != '{' && b != '[':
			if e.name == "error" {
				r.fail("", clip(c.s[c.i:]))
			}
			return
		}
		if f.scan != nil && r.picked && r.instead.response == nil && b == '{' && r.status < 400 && e.name != "error" {
			f.scan(c, r)
		} else if v := c.value(); !c.failed() {
			r.take(f, e.name, v)
		}
		if c.failed() {
			r.bad = r.bad || e.whole
			return
		}
	}
}

// take hands one JSON value to the API's reader, after a look for an error.
func (r *reply) take(f format, name string, v value) {
	if v.isArray() {
		r.takeList(f, name, v)
		return
	}
	if r.status >= 400 || name == "error" {
		r.takeError(v)
		return
	}
	f = r.pick(f, v)
	v.left = &r.left
	switch {
	case f.scan != nil && r.stream:
		f.scan(&cursor{s: v.raw}, r)
	case f.event != nil && r.stream:
		f.event(name, v, r)
	default:
		f.response(v, r)
	}
}

// takeList takes a list of values as a stream of them, which is what it is with
// Gemini. One that is cut off says nothing.
func (r *reply) takeList(f format, name string, v value) {
	c := cursor{s: v.raw}
	for ok := c.enter('['); ok; ok = c.more(']') {
		item := c.value()
		if c.failed() || !item.isObject() {
			continue
		}
		r.stream = r.stream || f.api == APIGemini && r.status < 400
		r.take(f, name, item)
	}
}

// pick returns the format that the answer really has. It looks at the first
// value that tells.
func (r *reply) pick(f format, v value) format {
	if r.picked {
		if r.instead.response != nil {
			return r.instead
		}
		return f
	}
	shape := shapeOf(v)
	r.picked = shape != ""
	if shape == "" || shape == f.api || f.operation != opChat && f.operation != opGenerate {
		return f
	}
	r.instead = formatNamed(shape)
	return r.instead
}

// takeError notes the error that a value describes.
func (r *reply) takeError(v value) {
	kind, message := errorOf(v)
	r.fail(kind, clip(message))
}

// unknown notes a JSON answer without the shape of its API: an error in a form
// of its own, or nothing that can be understood.
func (r *reply) unknown(v value) {
	if kind, message := errorOf(v); message != "" {
		r.fail(kind, clip(message))
		return
	}
	r.bad = true
}

// readError takes a body for the text of an error: what is not JSON.
func (r *reply) readError(body string) {
	if body[0] == '{' || body[0] == '[' {
		if v, _, ok := parse(body); ok {
			if v.isArray() {
				for item := range v.items() {
					v = item
					break
				}
			}
			r.takeError(v)
			return
		}
	}
	if r.status < 400 {
		r.bad = true
		return
	}
	if v, _, ok := parse(body); ok && v.isString() {
		body = v.text()
	}
	r.fail("", clip(plainText(body)))
}

// errorOf returns type and message of an error in any of the usual shapes.
func errorOf(v value) (kind, message string) {
	e := v.get("error")
	if !e.given() {
		e = v
	}
	if e.isString() {
		return v.first("type", "code", "status").word(), e.text()
	}
	if d := e.get("detail"); d.given() {
		if d.isString() {
			return e.first("type", "code").word(), d.text()
		}
		for item := range d.items() {
			return item.get("type").word(), item.first("msg", "message").word()
		}
		e = d
	}
	for item := range e.get("errors").items() {
		e = item
		break
	}
	message = e.first("message", "msg", "error_message").word()
	for _, k := range []string{"type", "error_type", "status", "code"} {
		if w := e.get(k).word(); w != "" && w != "error" {
			return w, message
		}
	}
	return "", message
}

// errorType returns the type of an error, by its HTTP status when the provider
// gave none.
func errorType(kind string, status int) string {
	switch {
	case kind != "":
		return clip(kind)
	case status >= 400:
		return statusText(status)
	}
	return "error"
}

// plainText returns what a page of HTML says in one line: its title, or its
// text.
func plainText(body string) string {
	body = body[:min(len(body), 4*maxErrorText)]
	if !strings.HasPrefix(body, "<") {
		return strings.ToValidUTF8(strings.TrimSpace(body), "")
	}
	if _, rest, ok := strings.Cut(body, "<title>"); ok {
		body, _, _ = strings.Cut(rest, "</title>")
	}
	var text strings.Builder
	for body != "" {
		before, tag, _ := strings.Cut(body, "<")
		text.WriteString(before)
		text.WriteByte(' ')
		_, body, _ = strings.Cut(tag, ">")
	}
	return strings.ToValidUTF8(strings.Join(strings.Fields(text.String()), " "), "")
}

// clip bounds a message on a rune.
func clip(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	s = s[:maxErrorText]
	for len(s) > 0 {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}
