package redact

import (
	"html"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a text without its escapes, and where each part of it stands in what
// it was made from.
type view struct {
	text  string
	marks []mark // where the distance between the two changes; none: they are the same
}

// mark says that text[at:] comes from raw[raw:].
type mark struct{ at, raw int }

// raw returns where a place of the text stands in what it was made from.
func (v *view) raw(at int) int {
	i := sort.Search(len(v.marks), func(i int) bool { return v.marks[i].at > at })
	if i == 0 {
		return at
	}
	m := v.marks[i-1]
	return m.raw + at - m.at
}

// viewer builds a view.
type viewer struct {
	view
	b strings.Builder
}

// escape adds what stands for raw[start:end].
func (v *viewer) escape(text string, start, end int) {
	at := v.b.Len()
	v.b.WriteString(text)
	v.marks = append(v.marks, mark{at, start})
	if v.b.Len() > at {
		v.marks = append(v.marks, mark{v.b.Len(), end})
	}
}

func (v *viewer) done() view {
	v.text = v.b.String()
	return v.view
}

// jsonView resolves the escapes of a JSON string. It takes what is none as it
// stands, so that it can also be used on text in which escapes are only likely.
func jsonView(s string) view {
	if strings.IndexByte(s, '\\') < 0 {
		return view{text: s}
	}
	var v viewer
	v.b.Grow(len(s))
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], '\\')
		if n < 0 {
			n = len(s) - i
		}
		v.b.WriteString(s[i : i+n])
		i += n
		if i == len(s) {
			break
		}
		text, size := unescape(s[i:])
		v.escape(text, i, i+size)
		i += size
	}
	return v.done()
}

// unescape returns what the escape at the start of s stands for, and its length.
func unescape(s string) (text string, size int) {
	if len(s) < 2 {
		return "", len(s) // the end of a text that is cut off
	}
	switch e := s[1]; e {
	case '"', '\\', '/':
		return s[1:2], 2
	case 'b':
		return "\b", 2
	case 'f':
		return "\f", 2
	case 'n':
		return "\n", 2
	case 'r':
		return "\r", 2
	case 't':
		return "\t", 2
	case 'u':
		return unescapeRune(s)
	}
	return s[:1], 1
}

func unescapeRune(s string) (text string, size int) {
	r, ok := hexRune(s)
	if !ok {
		if len(s) < 6 {
			return "", len(s)
		}
		return s[:1], 1
	}
	if !utf16.IsSurrogate(r) {
		return string(r), 6
	}
	if low, ok := hexRune(s[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return string(pair), 12
		}
	}
	return string(utf8.RuneError), 6
}

// hexRune reads \uXXXX.
func hexRune(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// urlView resolves the escapes of an address or a form: %40, and + for a space.
// Between other characters than digits, a + is as likely to be one.
func urlView(s string) view {
	var v viewer
	for i := 0; i < len(s); {
		n := strings.IndexAny(s[i:], "%+")
		if n < 0 {
			n = len(s) - i
		}
		v.b.WriteString(s[i : i+n])
		i += n
		if isPlus(s, i) {
			v.escape(" ", i, i+1)
			i++
			continue
		}
		if i+2 >= len(s) {
			v.b.WriteString(s[i:])
			break
		}
		b, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if s[i] != '%' || err != nil {
			v.b.WriteByte(s[i])
			i++
			continue
		}
		v.escape(string([]byte{byte(b)}), i, i+3)
		i += 3
	}
	return v.done()
}

// isPlus says whether a + stands between digits at i.
func isPlus(s string, i int) bool {
	return byteAt(s, i) == '+' && isDigit(before(s, i)) && isDigit(byteAt(s, i+1))
}

// hasQuoted says whether a text has escapes of an address in it: any with %, or
// such a + behind a =.
func hasQuoted(s string) bool {
	for i := strings.IndexByte(s, '='); i >= 0 && i < len(s); i++ {
		n := strings.IndexByte(s[i:], '+')
		if n < 0 {
			break
		}
		if i += n; isPlus(s, i) {
			return true
		}
	}
	for {
		n := strings.IndexByte(s, '%')
		if n < 0 || n+2 >= len(s) {
			return false
		}
		if _, err := strconv.ParseUint(s[n+1:n+3], 16, 8); err == nil {
			return true
		}
		s = s[n+1:]
	}
}

// maxEntity bounds the length of an entity: &CounterClockwiseContourIntegral;
const maxEntity = 33

// htmlView resolves the entities of HTML: &#64; and &commat;.
func htmlView(s string) view {
	var v viewer
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], '&')
		if n < 0 {
			n = len(s) - i
		}
		v.b.WriteString(s[i : i+n])
		if i += n; i == len(s) {
			break
		}
		size := strings.IndexByte(s[i:min(len(s), i+maxEntity)], ';') + 1
		text := html.UnescapeString(s[i : i+max(size, 1)])
		if size == 0 || text == s[i:i+size] {
			v.b.WriteByte('&')
			i++
			continue
		}
		v.escape(text, i, i+size)
		i += size
	}
	return v.done()
}

// quote writes a text so that it can stand in a JSON string.
func quote(s string) string {
	if strings.IndexByte(s, '"') < 0 && strings.IndexByte(s, '\\') < 0 {
		return s
	}
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}
