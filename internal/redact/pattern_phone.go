package redact

import (
	"bytes"
	"strings"
)

// findPhones finds telephone numbers that are written as such: with a + and the
// country, with 00 and separators, in parentheses, or in the groups of a national
// number: those of North America, and those that begin with a 0. A bare row of
// digits is no telephone number: ids and times look like that.
func findPhones(s string, found []span) []span {
	for i := 0; i < len(s); i++ {
		b := s[i]
		if b != '+' && b != '(' && !isDigit(b) {
			continue
		}
		if prev := before(s, i); isWord(prev) || isDigit(b) && strings.IndexByte("+-./,#", prev) >= 0 && prev != 0 {
			if isDigit(b) {
				i = lastDigit(s, i)
			}
			continue
		}
		if end := phoneEnd(s, i); end > i {
			found = append(found, span{i, end})
			i = end - 1
		} else if isDigit(b) {
			i = lastDigit(s, i)
		}
	}
	return found
}

// lastDigit is where the row of digits at i ends.
func lastDigit(s string, i int) int {
	for isDigit(byteAt(s, i+1)) {
		i++
	}
	return i
}

// number is groups of digits with separators between them.
type number struct {
	groups [12]string
	ends   [12]int  // of each group, behind its closing parenthesis
	seps   [12]byte // before each group
	n      int
	parens bool // the first or second group stands in parentheses
}

const (
	maxPhoneDigits = 15
	maxSeparators  = 3 // between two groups, as in " - "
)

// readNumber reads the groups that begin at i, as far as they have maxPhoneDigits
// digits together and end where a word may end.
func readNumber(s string, i int) number {
	var v number
	sep, digits := byte(0), 0
	for v.n < len(v.groups) {
		open := byteAt(s, i) == '('
		at := i
		if open {
			at++
		}
		stop := at
		for isDigit(byteAt(s, stop)) {
			stop++
		}
		digits += stop - at
		if stop == at || digits > maxPhoneDigits || open && byteAt(s, stop) != ')' {
			return v
		}
		if next := byteAt(s, stop); isWord(next) && !(next == 'x' && isDigit(byteAt(s, stop+1))) {
			return v
		}
		v.groups[v.n], v.seps[v.n] = s[at:stop], sep
		if open {
			v.parens = v.parens || v.n < 2
			stop++
		}
		v.ends[v.n] = stop
		v.n++
		sep, i = separators(s, stop)
		if i == stop && byteAt(s, i) != '(' && !open {
			return v
		}
	}
	return v
}

// separators passes what stands between two groups: a hyphen, dot or slash
// counts for more than a space beside it.
func separators(s string, i int) (kind byte, next int) {
	kind = ' '
	for range maxSeparators {
		k, size := separator(s, i)
		if size == 0 {
			break
		}
		if k != ' ' {
			kind = k
		}
		i += size
	}
	return kind, i
}

func (v *number) digits() int {
	sum := 0
	for _, g := range v.groups[:v.n] {
		sum += len(g)
	}
	return sum
}

// phoneEnd returns where the number that starts at i ends, i if it is none.
func phoneEnd(s string, i int) int {
	accept, from := (*number).national, i
	if s[i] == '+' {
		accept, from = (*number).international, i+1
	}
	if !mayBePhone(s, i) {
		return i
	}
	v := readNumber(s, from)
	for ; v.n > 0; v.n-- { // what follows may be something else
		if end := v.ends[v.n-1]; accept(&v) && !isDecimal(s, end) {
			return end
		}
	}
	return i
}

// mayBePhone looks at the first group: most numbers are none.
func mayBePhone(s string, i int) bool {
	if !isDigit(s[i]) {
		return true
	}
	switch n := lastDigit(s, i) - i + 1; n {
	case 1:
		return s[i] == '1'
	case 3:
		return s[i] >= '2' || s[i] == '0'
	default:
		return s[i] == '0'
	}
}

// international is what may follow a +.
func (v *number) international() bool {
	return v.digits() >= 8 && v.groups[0][0] != '0'
}

// national is a number without a +.
func (v *number) national() bool {
	first, digits := v.groups[0], v.digits()
	switch {
	case v.n < 2:
		return false
	case strings.HasPrefix(first, "00"):
		return digits >= 10 && (len(first) == 2 || first[2] != '0')
	case v.northAmerican():
		return true
	}
	return len(first) >= 2 && first[0] == '0' && digits >= 9 && digits <= 12 && !v.isTime()
}

// isDecimal says whether a fraction goes on at i.
func isDecimal(s string, i int) bool {
	b := byteAt(s, i)
	return (b == '.' || b == ',' || b == ':') && isDigit(byteAt(s, i+1))
}

// northAmerican says whether the groups are those of the numbering plan: three,
// three and four digits, with or without the 1 before them.
func (v *number) northAmerican() bool {
	groups := v.groups[:v.n]
	if groups[0] == "1" && v.n == 4 {
		groups = groups[1:]
	}
	if len(groups) == 2 && v.parens && len(groups[0]) == 3 { // (415) 5552671
		return groups[0][0] >= '2' && len(groups[1]) == 7 && groups[1][0] >= '2'
	}
	return len(groups) == 3 && len(groups[0]) == 3 && len(groups[1]) == 3 && len(groups[2]) == 4 &&
		groups[0][0] >= '2' && groups[1][0] >= '2' && bytes.IndexByte(v.seps[:v.n], '/') < 0
}

// isTime says whether the groups are a date, or a date and more: 01.02.2023 10.
// A dot separates groups of two digits only.
func (v *number) isTime() bool {
	if v.n >= 3 && len(v.groups[0]) == 2 && len(v.groups[1]) == 2 && len(v.groups[2]) == 4 && !v.parens {
		year := v.groups[2][:2]
		return year == "19" || year == "20"
	}
	if bytes.IndexByte(v.seps[:v.n], '.') < 0 {
		return false
	}
	for _, g := range v.groups[:v.n] {
		if len(g) != 2 {
			return true
		}
	}
	return v.n != 5
}
