package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxLocal  = 256 // bytes before the @
	maxDomain = 256
)

// findEmails finds addresses with a domain that has a dot in it. An address on
// a bare host, or with quotes in its local part, is none.
func findEmails(s string, found []span) []span {
	for i := 0; ; {
		n := strings.IndexByte(s[i:], '@')
		if n < 0 {
			return found
		}
		at := i + n
		start, end := emailStart(s, i, at), emailEnd(s, at+1)
		i = at + 1
		if start < at && end > at+1 {
			found = append(found, span{start, end})
			i = end
		}
	}
}

// emailStart walks back from the @, at most to from.
func emailStart(s string, from, at int) int {
	start := at
	for start > max(from, at-maxLocal) {
		r, n := utf8.DecodeLastRuneInString(s[:start])
		if !isMailRune(r) && !strings.ContainsRune("._%+'~", r) {
			break
		}
		start -= n
	}
	for start < at && strings.IndexByte(".'%~", s[start]) >= 0 {
		start++ // a quote or the end of a sentence before it
	}
	return start
}

// emailEnd walks over the domain that starts at i, and returns i if there is
// none.
func emailEnd(s string, i int) int {
	end := i
	for end < min(len(s), i+maxDomain) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if !isMailRune(r) && r != '.' {
			break
		}
		end += n
	}
	for end > i {
		domain := strings.TrimRight(s[i:end], ".-_")
		dot := strings.LastIndexByte(domain, '.')
		if dot <= 0 {
			return i
		}
		if isTopLevel(domain[dot+1:]) {
			return i + len(domain)
		}
		end = i + dot
	}
	return i
}

func isMailRune(r rune) bool {
	return r < utf8.RuneSelf && isWord(byte(r)) || r == '-' || r >= utf8.RuneSelf && unicode.Is(unicode.Latin, r)
}

func isTopLevel(label string) bool {
	if strings.HasPrefix(label, "xn--") {
		return true
	}
	for i := range len(label) {
		if b := label[i]; b < utf8.RuneSelf && !isLetter(b) {
			return false
		}
	}
	return len(label) >= 2
}
