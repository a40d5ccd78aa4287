package wire

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep a JSON text may nest; a deeper one counts as broken.
const maxDepth = 1024

// cursor reads a JSON text from left to right, once, without building a tree.
//
// It is made for text that may be cut off or broken anywhere: after the first
// error every method returns at once, and loops over members end. cut says that
// the text simply ended, bad that it is not JSON. NaN and the infinities are
// taken as numbers, because some servers write them into log-probabilities, and
// raw control characters are taken in strings.
type cursor struct {
	s        string
	i        int
	bad, cut bool
}

func (c *cursor) failed() bool { return c.bad || c.cut }

// peek returns the first byte of the next token, or 0 at the end of the text.
func (c *cursor) peek() byte {
	for c.i < len(c.s) {
		switch b := c.s[c.i]; b {
		case ' ', '\n', '\r', '\t':
			c.i++
		default:
			return b
		}
	}
	return 0
}

// enter steps into an object ('{') or array ('['). It returns whether there is
// a first member; a value of another kind is skipped.
func (c *cursor) enter(open byte) bool {
	if c.failed() {
		return false
	}
	if c.peek() != open {
		c.skip()
		return false
	}
	c.i++
	switch c.peek() {
	case 0:
		c.cut = true
		return false
	case open + 2: // '}' or ']'
		c.i++
		return false
	}
	return true
}

// more moves behind a member and returns whether another one follows. closing
// is '}' or ']'.
func (c *cursor) more(closing byte) bool {
	if c.failed() {
		return false
	}
	switch c.peek() {
	case ',':
		c.i++
		if c.peek() == 0 {
			c.cut = true
		}
		return !c.cut
	case closing:
		c.i++
	case 0:
		c.cut = true
	default:
		c.bad = true
	}
	return false
}

// key reads the name of an object's member and the colon behind it.
func (c *cursor) key() string {
	if c.failed() {
		return ""
	}
	if b := c.peek(); b != '"' {
		c.fail(b == 0)
		return ""
	}
	k := c.quoted()
	if b := c.peek(); b != ':' {
		c.fail(b == 0)
		return ""
	}
	c.i++
	if c.peek() == 0 {
		c.cut = true
		return ""
	}
	return k
}

func (c *cursor) fail(cut bool) {
	if cut {
		c.cut = true
	} else {
		c.bad = true
	}
}

// str reads a string. ok is false when the next value is something else, which
// is then skipped. A string that the text cuts off is returned as far as it goes.
func (c *cursor) str() (s string, ok bool) {
	if c.failed() {
		return "", false
	}
	if c.peek() != '"' {
		c.skip()
		return "", false
	}
	return c.quoted(), true
}

// quoted reads the string whose opening quote is the next byte.
func (c *cursor) quoted() string {
	start := c.i + 1
	c.skipString()
	end := c.i - 1
	if c.cut {
		end = c.i
	}
	text := c.s[start:end]
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	return unescape(text)
}

// skipString moves behind the string whose opening quote is the next byte.
// Most strings are short: those are walked, long ones searched.
func (c *cursor) skipString() {
	const walk = 24
	i := c.i + 1
	for end := min(i+walk, len(c.s)); i < end; i++ {
		switch c.s[i] {
		case '"':
			c.i = i + 1
			return
		case '\\':
			c.skipLongString(i)
			return
		}
	}
	c.skipLongString(i)
}

// skipLongString goes on at i, before which there is no backslash.
func (c *cursor) skipLongString(i int) {
	for {
		n := strings.IndexByte(c.s[i:], '"')
		if n < 0 {
			c.cut, c.i = true, len(c.s)
			return
		}
		at := i + n
		back := at
		for back > i && c.s[back-1] == '\\' {
			back--
		}
		i = at + 1
		if (at-back)%2 == 0 {
			c.i = i
			return
		}
	}
}

// raw returns the text of the next value and moves behind it.
func (c *cursor) raw() string {
	if c.failed() {
		return ""
	}
	c.peek()
	start := c.i
	c.skip()
	return c.s[start:c.i]
}

// value returns the next value for random access and moves behind it.
func (c *cursor) value() value { return value{raw: c.raw()} }

// skip moves behind the next value and checks its structure on the way.
func (c *cursor) skip() {
	if c.failed() {
		return
	}
	switch c.peek() {
	case '{', '[':
		c.skipNested()
	case '"':
		c.skipString()
	default:
		c.skipScalar()
	}
}

// skipNested is skip for objects and arrays. It keeps its own stack, so that a
// deep text cannot exhaust the goroutine's.
func (c *cursor) skipNested() {
	var open [maxDepth / 64]uint64 // a bit for each level: set for an object
	depth := 0
	for {
		opened := false
		switch b := c.peek(); b {
		case '{', '[':
			if depth == maxDepth {
				c.bad = true
				return
			}
			bit := uint64(1) << (depth % 64)
			open[depth/64] &^= bit
			if b == '{' {
				open[depth/64] |= bit
			}
			depth++
			c.i++
			opened = true
		case '"':
			c.skipString()
		default:
			c.skipScalar()
		}
		if c.failed() || !c.after(&open, &depth, opened) {
			return
		}
	}
}

// after closes finished levels behind a value and moves to where the next value
// starts. It returns false when the outermost value is finished, or on error.
func (c *cursor) after(open *[maxDepth / 64]uint64, depth *int, opened bool) bool {
	for *depth > 0 {
		top := *depth - 1
		object := open[top/64]>>(top%64)&1 == 1
		switch b := c.peek(); {
		case b == 0:
			c.cut = true
			return false
		case b == '}' && object, b == ']' && !object:
			c.i++
			*depth--
			opened = false
			continue
		case opened:
		case b == ',':
			c.i++
		default:
			c.bad = true
			return false
		}
		if object {
			return c.skipKey()
		}
		if c.peek() == 0 {
			c.cut = true
			return false
		}
		return true
	}
	return false
}

func (c *cursor) skipKey() bool {
	if b := c.peek(); b != '"' {
		c.fail(b == 0)
		return false
	}
	c.skipString()
	if c.cut {
		return false
	}
	if b := c.peek(); b != ':' {
		c.fail(b == 0)
		return false
	}
	c.i++
	if c.peek() == 0 {
		c.cut = true
		return false
	}
	return true
}

// skipScalar moves behind a number, true, false or null.
func (c *cursor) skipScalar() {
	start := c.i
	for c.i < len(c.s) {
		b := c.s[c.i]
		if b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '-' || b == '+' || b == '.' {
			c.i++
			continue
		}
		break
	}
	word := c.s[start:c.i]
	if word == "" {
		c.fail(c.i == len(c.s))
		return
	}
	if b := word[0]; b >= '0' && b <= '9' || b == '-' {
		return
	}
	switch word {
	case "true", "false", "null", "NaN", "Infinity":
	default:
		c.fail(c.i == len(c.s) && isPrefixOfWord(word))
	}
}

func isPrefixOfWord(w string) bool {
	for _, full := range []string{"true", "false", "null", "NaN", "Infinity"} {
		if strings.HasPrefix(full, w) {
			return true
		}
	}
	return false
}

// unescape resolves the escapes of a JSON string. A lone surrogate becomes
// U+FFFD, an escape that the end cuts off is left out, an unknown one is kept
// as it is written.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		n := strings.IndexByte(s, '\\')
		if n < 0 || n+1 >= len(s) {
			if n >= 0 {
				s = s[:n]
			}
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:n])
		e := s[n+1]
		s = s[n+2:]
		switch e {
		case '"', '\\', '/':
			b.WriteByte(e)
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			s = unescapeRune(&b, s)
		default:
			b.WriteByte('\\')
			b.WriteByte(e)
		}
	}
}

// unescapeRune writes the rune of a \u escape, whose digits start s, and
// returns what follows it. A pair of surrogates is one rune.
func unescapeRune(b *strings.Builder, s string) string {
	r, ok := hexRune(s)
	if !ok {
		if len(s) >= 4 {
			b.WriteString(`\u`)
			return s
		}
		return "" // cut off
	}
	s = s[4:]
	if !utf16.IsSurrogate(r) {
		b.WriteRune(r)
		return s
	}
	if strings.HasPrefix(s, `\u`) {
		if low, ok := hexRune(s[2:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				b.WriteRune(pair)
				return s[6:]
			}
		}
	}
	b.WriteRune(utf8.RuneError)
	return s
}

func hexRune(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(n), err == nil
}
