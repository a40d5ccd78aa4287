package redact

import (
	"cmp"
	"encoding/base64"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNesting is how many layers of escapes, JSON in strings and base64 are
// looked through.
const maxNesting = 4

const (
	minValue  = 3  // nothing shorter is looked at
	minBase64 = 16 // characters
	maxTries  = 16 // places at which a row of base64 may begin
)

// match is a stretch of a text that a rule finds, and what replaces it.
type match struct {
	start, end int
	rule       *rule
	text       string
}

// find returns what is to be replaced in a text, in order and apart from each
// other. at are the places in the paths of the rules, for a text that is JSON
// itself; nil for none.
func (f *Filter) find(s string, depth int, at []places) []match {
	if len(s) < minValue {
		return nil
	}
	var found []match
	if depth < maxNesting && looksLikeJSON(s) {
		inner, out := f.findJSON(s, depth, at)
		if out == whole {
			return tidy(inner)
		}
		if out == cutOff {
			found = inner
		}
	}
	found = f.direct(s, found)
	if depth < maxNesting {
		if strings.IndexByte(s, '\\') >= 0 {
			found = f.through(jsonView(s), depth+1, found)
		}
		if hasQuoted(s) {
			found = f.through(urlView(s), depth+1, found)
		}
		if strings.IndexByte(s, '&') >= 0 {
			found = f.through(htmlView(s), depth+1, found)
		}
		found = f.findBase64(s, depth, found)
	}
	return tidy(found)
}

// direct applies the patterns to a text as it stands.
func (f *Filter) direct(s string, found []match) []match {
	for _, r := range f.patterns {
		for _, at := range r.find(s, nil) {
			found = append(found, match{at.start, at.end, r, r.replacement(s[at.start:at.end])})
		}
	}
	return found
}

// through finds in a view of a text.
func (f *Filter) through(v view, depth int, found []match) []match {
	if len(v.marks) == 0 {
		return found
	}
	for _, m := range f.find(v.text, depth+1, nil) {
		found = append(found, match{v.raw(m.start), v.raw(m.end), m.rule, quote(m.text)})
	}
	return found
}

// looksLikeJSON says whether a text begins as an object or array does.
func looksLikeJSON(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[')
}

// findJSON finds in the strings, keys and numbers of a JSON text, or of several
// behind each other.
func (f *Filter) findJSON(s string, depth int, at []places) ([]match, outcome) {
	var found []match
	w := walker{s: s, frames: make([]frame, 1, 8)}
	if at != nil {
		w.rules = f.paths
	}
	w.show = func(l leaf) {
		if l.hit != nil {
			found = append(found, match{l.start, l.end, l.hit, l.hit.whole(l, s[l.start:l.end])})
			return
		}
		switch l.kind {
		case 'p':
			return
		case '0':
			found = f.findNumber(s, l, found)
			return
		}
		start, end := l.content()
		v := jsonView(s[start:end])
		for _, m := range f.find(v.text, depth+1, l.places) {
			found = append(found, match{start + v.raw(m.start), start + v.raw(m.end), m.rule, quote(m.text)})
		}
	}
	for {
		if out := w.value(leaf{places: at}); out != whole {
			return found, out
		}
		if w.space(); w.i == len(s) {
			return found, whole
		}
	}
}

// whole is what replaces a JSON value that a path names.
func (r *rule) whole(l leaf, raw string) string {
	if r.action == ActionDrop {
		return "null"
	}
	if l.kind == '"' {
		start, end := l.content()
		raw = jsonView(raw[start-l.start : end-l.start]).text
	}
	return quoted(r.replacement(raw))
}

// content is where the characters of a string stand.
func (l leaf) content() (start, end int) {
	if l.whole {
		return l.start + 1, l.end - 1
	}
	return l.start + 1, l.end
}

// findNumber applies the patterns to a JSON number, which is replaced as a whole.
func (f *Filter) findNumber(s string, l leaf, found []match) []match {
	text := s[l.start:l.end]
	if len(text) < minValue || isLetter(text[0]) {
		return found
	}
	for _, form := range []string{text, plainNumber(text)} {
		inner := f.direct(form, nil)
		if len(inner) == 0 {
			continue
		}
		m := inner[0]
		if m.text = quoted(m.text); m.rule.action == ActionDrop {
			m.text = "null"
		}
		return append(found, match{l.start, l.end, m.rule, m.text})
	}
	return found
}

func quoted(s string) string { return `"` + s + `"` }

// maxNumber bounds the digits of a number that is written without its exponent.
const maxNumber = 40

// plainNumber writes a whole number without fraction and exponent, "" for all
// others: most numbers are parts of vectors.
func plainNumber(s string) string {
	mantissa, exponent := s, ""
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		mantissa, exponent = s[:at], s[at+1:]
	}
	_, fraction, _ := strings.Cut(mantissa, ".")
	switch {
	case mantissa == s && fraction == "", exponent == "" && strings.Trim(fraction, "0") != "":
		return ""
	case strings.HasPrefix(exponent, "-"), len(s) > maxNumber:
		return ""
	}
	if n, err := strconv.Atoi(exponent); exponent != "" && (err != nil || n > maxNumber) {
		return ""
	}
	n, ok := new(big.Rat).SetString(s)
	if !ok || !n.IsInt() {
		return ""
	}
	return n.Num().String()
}

// findBase64 looks into rows of base64 that are text.
func (f *Filter) findBase64(s string, depth int, found []match) []match {
	for i := 0; i < len(s); {
		if !isBase64(s[i]) {
			i++
			continue
		}
		start := i
		i = base64End(s, start)
		if i-start < minBase64 {
			continue
		}
		end := i + len(s[i:]) - len(strings.TrimLeft(s[i:], "="))
		for tries := 0; tries < maxTries && i-start >= minBase64; tries++ {
			if text, ok := base64Text(s[start:i]); ok {
				if inner := f.find(text, depth+1, nil); len(inner) > 0 {
					found = append(found, match{start, end, inner[0].rule, inner[0].text})
				}
				break
			}
			n := strings.IndexByte(s[start:i], '/') // it may stand behind the path of an address
			if n < 0 {
				break
			}
			start += n + 1
		}
		i = end
	}
	return found
}

// wrapped is the least length of a line of base64 that goes on in the next one.
const wrapped = 60

// base64End returns where a row ends, over lines of the same kind.
func base64End(s string, i int) int {
	for {
		start := i
		for i < len(s) && isBase64(s[i]) {
			i++
		}
		if i-start < wrapped || (i-start)%4 != 0 || i == len(s) || s[i] != '\n' && s[i] != '\r' {
			return i
		}
		_, next := lineAt(s, i)
		if next == len(s) || !isBase64(s[next]) {
			return i
		}
		i = next
	}
}

func isBase64(b byte) bool {
	return isDigit(b) || isLetter(b) || b == '+' || b == '/' || b == '-' || b == '_'
}

// base64Text decodes a row of base64 if what it holds is text. The first bytes
// tell: most are words, ids or pictures.
func base64Text(s string) (string, bool) {
	if strings.ContainsAny(s, "\r\n") {
		s = strings.NewReplacer("\r", "", "\n", "").Replace(s)
	}
	if len(s) < minBase64 { // without its line ends
		return "", false
	}
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		encoding = base64.RawURLEncoding
	}
	head, err := encoding.DecodeString(s[:minBase64])
	if err != nil || !isText(string(head), true) {
		return "", false
	}
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	all, err := encoding.DecodeString(s)
	if err != nil || !isText(string(all), true) {
		return "", false
	}
	return string(all), true
}

// isText says whether bytes are text: UTF-8 without control characters. One that
// is cut may end inside a rune.
func isText(s string, cut bool) bool {
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' || b == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			return cut && !utf8.FullRuneInString(s[i:])
		}
		i += n
	}
	return true
}

// tidy sorts matches and makes one of those that overlap, under the name of the
// first.
func tidy(found []match) []match {
	if len(found) < 2 {
		return found
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	out := found[:1]
	for _, m := range found[1:] {
		last := &out[len(out)-1]
		if m.start >= last.end {
			out = append(out, m)
			continue
		}
		last.end = max(last.end, m.end)
	}
	return out
}
