package redact

import "strings"

// span is a stretch of a text.
type span struct{ start, end int }

// detector appends the stretches of a text that are of its kind. Its work is
// linear in the text.
type detector func(s string, found []span) []span

// pattern is a kind of value that Docket knows how to recognise.
type pattern struct {
	name string
	find detector
	// plain writes a value in one way, so that equal values have equal HMACs.
	plain func(string) string
}

// patterns returns the table of built-in patterns.
func patterns() []pattern {
	return []pattern{
		{"email", findEmails, strings.ToLower},
		{"phone", findPhones, digitsOf},
		{"card", findCards, digitsOf},
		{"iban", findIBANs, lettersAndDigits},
		{"api_key", findKeys, nil},
		{"ip", findAddresses, strings.ToLower},
		{"ssn", findSSNs, digitsOf},
	}
}

func patternNamed(name string) (pattern, bool) {
	for _, p := range patterns() {
		if p.name == name {
			return p, true
		}
	}
	return pattern{}, false
}

func patternNames() string {
	var names []string
	for _, p := range patterns() {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// isWord says whether a byte makes a number beside it a part of a longer word.
// Letters beyond ASCII do not: Chinese has no spaces between words.
func isWord(b byte) bool { return isDigit(b) || isLetter(b) || b == '_' }

// before returns the byte before i, 0 at the start.
func before(s string, i int) byte {
	if i == 0 {
		return 0
	}
	return s[i-1]
}

// byteAt returns the byte at i, 0 at the end.
func byteAt(s string, i int) byte {
	if i >= len(s) {
		return 0
	}
	return s[i]
}

// separator returns the length of the space, hyphen, dot or slash at i, and
// which of them it is. Kinds of spaces and hyphens are not told apart.
func separator(s string, i int) (kind byte, size int) {
	switch b := byteAt(s, i); b {
	case ' ', '-', '.', '/':
		return b, 1
	case 0xc2:
		if strings.HasPrefix(s[i:], "\u00a0") {
			return ' ', 2
		}
	case 0xe2:
		for _, hyphen := range []string{"\u2010", "\u2011", "\u2012", "\u2013"} {
			if strings.HasPrefix(s[i:], hyphen) {
				return '-', 3
			}
		}
		for _, space := range []string{"\u2007", "\u2009", "\u202f"} {
			if strings.HasPrefix(s[i:], space) {
				return ' ', 3
			}
		}
	}
	return 0, 0
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

func lettersAndDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(s))
}
