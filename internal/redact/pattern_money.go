package redact

import "strings"

const maxCardDigits = 19

// findCards finds numbers of payment cards: 13 to 19 digits, whole or in groups
// with one kind of separator, with the prefix of a known network and a right
// check digit.
func findCards(s string, found []span) []span {
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			continue
		}
		prev := before(s, i)
		fraction := (prev == '.' || prev == ',') && i > 1 && isDigit(s[i-2])
		if !isWord(prev) && !fraction {
			if end := cardEnd(s, i); end > i {
				found = append(found, span{i, end})
				i = end - 1
				continue
			}
		}
		i = lastDigit(s, i)
	}
	return found
}

// cardEnd returns where the longest card number that starts at i ends, i if
// there is none.
func cardEnd(s string, i int) int {
	var digits [maxCardDigits]byte
	n, end, group := 0, i, 0
	kind := byte(0)
	for at := i; ; {
		group = 0
		for isDigit(byteAt(s, at)) {
			if n == maxCardDigits {
				return end
			}
			digits[n] = s[at]
			n, at, group = n+1, at+1, group+1
		}
		if group == 0 || isWord(byteAt(s, at)) {
			return end
		}
		if isCard(string(digits[:n])) {
			end = at
		}
		sep, size := separator(s, at)
		if size == 0 || sep == '/' || kind != 0 && sep != kind || group < 3 || n == group && group < 4 {
			return end
		}
		kind, at = sep, at+size
	}
}

// isCard checks prefix, length and check digit.
func isCard(digits string) bool {
	return cardNetwork(digits) && luhn(digits)
}

// cardNetwork says whether a known network issues numbers of this prefix and
// length.
func cardNetwork(d string) bool {
	n := len(d)
	if n < 13 {
		return false
	}
	four := int(d[0]-'0')*1000 + int(d[1]-'0')*100 + int(d[2]-'0')*10 + int(d[3]-'0')
	two := four / 100
	switch {
	case d[0] == '4': // Visa
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720: // Mastercard
		return n == 16
	case two == 34 || two == 37: // American Express
		return n == 15
	case two == 36, two == 38, two == 39, four >= 3000 && four <= 3059, four == 3095: // Diners Club
		return n >= 14
	case four == 6011, four >= 6440 && four <= 6499, two == 65, two == 60, two == 81, two == 82: // Discover, RuPay
		return n >= 16
	case four >= 3528 && four <= 3589, two == 62, four >= 2200 && four <= 2204, four == 9792: // JCB, UnionPay, Mir, Troy
		return n >= 16
	case two == 50, two >= 56 && two <= 58, two == 63, two == 67: // Maestro
		return n >= 13
	}
	return false
}

func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// ibanLengths is the length of an IBAN in each country of the registry.
const ibanLengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 " +
	"EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 " +
	"LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 " +
	"RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"

func ibanLength(country string) int {
	at := strings.Index(ibanLengths, country)
	if at < 0 || at%5 != 0 {
		return 0
	}
	return int(ibanLengths[at+2]-'0')*10 + int(ibanLengths[at+3]-'0')
}

// findIBANs finds account numbers with the length of their country and a right
// check, whole or in groups.
func findIBANs(s string, found []span) []span {
	for i := 0; i+15 <= len(s); i++ {
		if !isLetter(s[i]) {
			continue
		}
		if isWord(before(s, i)) || !isLetter(s[i+1]) || !isDigit(s[i+2]) {
			continue
		}
		if end := ibanEnd(s, i); end > i {
			found = append(found, span{i, end})
			i = end - 1
		}
	}
	return found
}

func ibanEnd(s string, i int) int {
	want := ibanLength(strings.ToUpper(s[i : i+2]))
	if want == 0 {
		return i
	}
	var plain [34]byte
	n := 0
	for at := i; ; {
		b := byteAt(s, at)
		if !isDigit(b) && !isLetter(b) {
			kind, size := separator(s, at)
			if kind != ' ' && kind != '-' || n == 0 {
				return i
			}
			if b = byteAt(s, at+size); !isDigit(b) && !isLetter(b) {
				return i
			}
			at += size
		}
		if b >= 'a' {
			b -= 'a' - 'A'
		}
		plain[n] = b
		n, at = n+1, at+1
		if n == want {
			if isWord(byteAt(s, at)) || !mod97(plain[:n]) {
				return i
			}
			return at
		}
	}
}

// mod97 is the check of ISO 13616: country and check digits at the end, letters
// as numbers from 10 on.
func mod97(iban []byte) bool {
	rest := 0
	for i := range iban {
		b := iban[(i+4)%len(iban)]
		if isDigit(b) {
			rest = (rest*10 + int(b-'0')) % 97
		} else {
			rest = (rest*100 + int(b-'A') + 10) % 97
		}
	}
	return rest == 1
}
