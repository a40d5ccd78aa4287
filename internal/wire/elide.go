package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// MaxValue is the length over which Docket keeps a string value of inline bytes
// only as type and size.
const MaxValue = 64 << 10

// elidedHead is how much of a long value is kept: enough for the media type of
// a data URL and the magic number of a file.
const elidedHead = 256

// elidedMark stands between the kept head of a value and the length of the
// whole value. '{' is in no base64 alphabet.
const elidedMark = "{docket-elided:"

// Elider copies a JSON text and shortens long strings of inline bytes (base64,
// data URLs), so that a copy with a size limit still holds the structure behind
// them. It works on bytes as they come and holds back at most the limit of them.
// Strings with a space, a quote or a rune beyond ASCII in them are text and stay
// whole.
//
// A shortened value ends in "{docket-elided:N}", where N is its full length in
// characters, and its padding. Decode reads it back as a blob of that size.
type Elider struct {
	max      int
	inString bool
	escaped  bool // the last byte was a backslash
	plain    bool // the string so far could be inline bytes
	length   int  // characters of the string so far
	padding  int  // '=' at its end
	held     []byte
}

// NewElider shortens values longer than limit characters, and than elidedHead.
func NewElider(limit int) *Elider {
	return &Elider{max: max(limit, elidedHead)}
}

// Append appends to dst what is kept of the next bytes of the text.
func (e *Elider) Append(dst, p []byte) []byte {
	for len(p) > 0 {
		switch {
		case !e.inString:
			n := bytes.IndexByte(p, '"') + 1
			if n == 0 {
				return append(dst, p...)
			}
			dst, p = append(dst, p[:n]...), p[n:]
			e.inString, e.plain, e.escaped, e.length, e.padding = true, true, false, 0, 0
		case e.plain:
			dst, p = e.appendPlain(dst, p)
		default:
			dst, p = e.appendText(dst, p)
		}
	}
	return dst
}

// Close appends what is still held back, when the text ends.
func (e *Elider) Close(dst []byte) []byte {
	if !e.inString || !e.plain {
		return dst
	}
	return e.flush(dst)
}

// appendText copies up to the end of a string that is no candidate.
func (e *Elider) appendText(dst, p []byte) (out, rest []byte) {
	for i, b := range p {
		switch {
		case e.escaped:
			e.escaped = false
		case b == '\\':
			e.escaped = true
		case b == '"':
			e.inString = false
			return append(dst, p[:i+1]...), p[i+1:]
		}
	}
	return append(dst, p...), nil
}

// appendPlain goes on with a string that may be inline bytes: its head is
// copied at once, the rest held back up to max and dropped beyond. It stops at
// the first byte that settles what the string is. A backslash waits for the byte
// behind it.
func (e *Elider) appendPlain(dst, p []byte) (out, rest []byte) {
	for i, b := range p {
		switch {
		case e.escaped && b != '/' && b != 'n' && b != 'r', !e.escaped && b != '\\' && !isPlain(b):
			e.plain = false
			return e.flush(dst), p[i:]
		case !e.escaped && b == '\\':
			e.escaped = true
			continue
		case !e.escaped && b == '=':
			e.padding++
			e.length++
		case !e.escaped:
			e.padding = 0
			e.length++
		case b == '/':
			e.length++
		}
		switch {
		case e.length > e.max:
			e.held = e.held[:0]
		case e.length > elidedHead:
			e.held = appendPiece(e.held, b, e.escaped)
		default:
			dst = appendPiece(dst, b, e.escaped)
		}
		e.escaped = false
	}
	return dst, nil
}

func appendPiece(dst []byte, b byte, escaped bool) []byte {
	if escaped {
		dst = append(dst, '\\')
	}
	return append(dst, b)
}

// flush settles a candidate: it appends either what was held back or the mark,
// and the backslash that was waiting.
func (e *Elider) flush(dst []byte) []byte {
	if e.length <= e.max {
		dst = append(dst, e.held...)
	} else {
		dst = append(dst, elidedMark...)
		dst = strconv.AppendInt(dst, int64(e.length), 10)
		dst = append(dst, '}')
		for range min(e.padding, 2) {
			dst = append(dst, '=')
		}
	}
	e.held = e.held[:0]
	if e.escaped {
		dst = append(dst, '\\')
	}
	return dst
}

// isPlain says whether a byte can be part of base64 (either alphabet) or of the
// head of a data URL.
func isPlain(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' ||
		strings.IndexByte("+/=-_:;,.", b) >= 0
}

// elided splits a value that an Elider shortened: its head, its length and the
// number of padding characters.
func elided(s string) (head string, length, padding int, ok bool) {
	if len(s) > elidedHead+2*len(elidedMark) {
		return "", 0, 0, false
	}
	head, tail, found := strings.Cut(s, elidedMark)
	if !found {
		return "", 0, 0, false
	}
	digits, pad, found := strings.Cut(tail, "}")
	n, err := strconv.Atoi(digits)
	if !found || err != nil || n < len(head) || strings.Trim(pad, "=") != "" {
		return "", 0, 0, false
	}
	return head, n, len(pad), true
}
