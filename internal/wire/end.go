package wire

import (
	"bytes"
	"strings"
)

// EndScanner watches the bytes of a streamed answer and tells when the
// provider's end event is complete, which is where SDKs stop reading: the line
// "data: [DONE]", an event of type message_stop, response.completed,
// response.incomplete or response.failed, or a line of NDJSON with "done":true.
//
// It runs on the client's path: no allocation, no JSON parsing beyond what the
// end of a line shows, the same answer wherever the bytes are split. It says
// nothing about answers that end with their body.
type EndScanner struct {
	mode  endMode
	named bool // the event's name is one of an end event
	data  bool // data of this event was seen
	lf    bool // the last line ended in CR: an LF belongs to it

	head [endHead]byte // of the current line
	tail [endTail]byte // ring of its last bytes
	n    int           // its length

	json   lexer
	single bool // the body is one JSON text: its end is the body's
}

type endMode uint8

const (
	endSniff endMode = iota
	endSSE
	endNDJSON
	endOff
)

const (
	endHead = 64
	endTail = 64
)

// NewEndScanner returns a scanner for an answer of this content type. The type
// is only a hint: an event stream is recognised under any type.
func NewEndScanner(contentType string) *EndScanner {
	s := &EndScanner{}
	s.single = strings.Contains(contentType, "json") && !strings.Contains(contentType, "nd") && !strings.Contains(contentType, "lines")
	return s
}

// Write takes the next bytes. It returns true when they complete an end event.
func (s *EndScanner) Write(p []byte) bool {
	if s.mode == endSniff {
		p = s.sniff(p)
	}
	switch s.mode {
	case endSSE:
		return s.writeSSE(p)
	case endNDJSON:
		return s.json.write(p)
	}
	return false
}

// sniff finds the first byte that shows what the body is, and drops what stands
// before it.
func (s *EndScanner) sniff(p []byte) []byte {
	for i, b := range p {
		switch b {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // space, byte order mark
			continue
		case '{':
			s.mode = endNDJSON
			if s.single {
				s.mode = endOff
			}
		case '[', '<':
			s.mode = endOff
		default:
			s.mode = endSSE
		}
		return p[i:]
	}
	return nil
}

func (s *EndScanner) writeSSE(p []byte) bool {
	ended := false
	for len(p) > 0 {
		if s.lf {
			s.lf = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		line := p
		n := bytes.IndexByte(p, '\n')
		if n >= 0 {
			line = p[:n]
		}
		if cr := bytes.IndexByte(line, '\r'); cr >= 0 {
			n, line = cr, p[:cr]
			s.lf = true
		}
		s.keep(line)
		if n < 0 {
			break
		}
		p = p[n+1:]
		ended = s.endLine() || ended
	}
	return ended
}

// keep remembers the head and the last bytes of the current line.
func (s *EndScanner) keep(part []byte) {
	if s.n < endHead {
		copy(s.head[s.n:], part)
	}
	last := part
	at := s.n
	if over := len(part) - endTail; over > 0 {
		last = part[over:]
		at += over
	}
	k := copy(s.tail[at%endTail:], last)
	copy(s.tail[:], last[k:])
	s.n += len(part)
}

// endLine judges the finished line and starts the next one.
func (s *EndScanner) endLine() bool {
	line := s.head[:min(s.n, endHead)]
	n := s.n
	s.n = 0
	if n == 0 {
		ended := s.named && s.data
		s.named, s.data = false, false
		return ended
	}
	if text, ok := bytes.CutPrefix(line, []byte("event:")); ok {
		s.named = isEndEvent(bytes.TrimPrefix(text, []byte(" ")))
		return false
	}
	text, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return false
	}
	text = bytes.TrimSpace(text)
	s.data = true
	if n <= endHead && string(text) == "[DONE]" || s.typed(text, n) {
		s.named = false // once is enough
		return true
	}
	return false
}

// typed says whether the data is JSON whose first or last member is the type of
// an end event.
func (s *EndScanner) typed(text []byte, n int) bool {
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	if rest, ok := cutSpaced(text[1:], `"type"`); ok {
		if rest, ok = cutSpaced(rest, ":"); ok {
			rest = bytes.TrimLeft(rest, " ")
			if word, ok := bytes.CutPrefix(rest, []byte(`"`)); ok {
				word, _, closed := bytes.Cut(word, []byte(`"`))
				return closed && isEndEvent(word)
			}
		}
		return false
	}
	if n < endTail {
		return false
	}
	var buf [endTail]byte
	k := copy(buf[:], s.tail[n%endTail:])
	copy(buf[k:], s.tail[:n%endTail])
	last := bytes.TrimSpace(buf[:])
	last, ok := bytes.CutSuffix(last, []byte(`"}`))
	if !ok {
		return false
	}
	at := bytes.LastIndexByte(last, '"')
	if at < 0 || !isEndEvent(last[at+1:]) {
		return false
	}
	before := bytes.TrimRight(last[:at], " ")
	before, ok = bytes.CutSuffix(before, []byte(":"))
	return ok && bytes.HasSuffix(bytes.TrimRight(before, " "), []byte(`"type"`))
}

// cutSpaced cuts a token off, and the spaces before it.
func cutSpaced(b []byte, token string) ([]byte, bool) {
	b = bytes.TrimLeft(b, " ")
	if len(b) < len(token) || string(b[:len(token)]) != token {
		return nil, false
	}
	return b[len(token):], true
}

// isEndEvent says whether a type is the last one of its stream.
func isEndEvent(name []byte) bool {
	switch string(name) {
	case "message_stop", "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return false
}
