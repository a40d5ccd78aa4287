package redact

import (
	"net/netip"
	"strings"
)

// keyPrefix is how the keys of a service begin, and how many characters follow
// at least.
type keyPrefix struct {
	text string
	min  int
}

func keyPrefixes() [34]keyPrefix {
	return [...]keyPrefix{
		{"sk-", 20},
		{"sk_live_", 16},
		{"sk_test_", 16},
		{"rk_live_", 16},
		{"rk_test_", 16},
		{"pk_live_", 16},
		{"whsec_", 16},
		{"AKIA", 16},
		{"ASIA", 16},
		{"AIza", 35},
		{"ya29.", 20},
		{"ghp_", 36},
		{"gho_", 36},
		{"ghu_", 36},
		{"ghs_", 36},
		{"ghr_", 36},
		{"github_pat_", 22},
		{"glpat-", 20},
		{"xoxb-", 10},
		{"xoxp-", 10},
		{"xoxa-", 10},
		{"xoxr-", 10},
		{"xoxs-", 10},
		{"xapp-", 10},
		{"hf_", 20},
		{"gsk_", 20},
		{"xai-", 20},
		{"r8_", 20},
		{"npm_", 36},
		{"pypi-", 16},
		{"SG.", 40},
		{"dop_v1_", 40},
		{"tvly-", 16},
		{"pplx-", 20},
	}
}

// findKeys finds API keys by how they begin, JSON Web Tokens, and private keys
// in PEM form.
func findKeys(s string, found []span) []span {
	prefixes := keyPrefixes()
	var row keyRow
	for i := 0; i < len(s); {
		if !isWord(s[i]) {
			i++
			continue
		}
		if strings.IndexByte("sSrpwAyghnxdt", s[i]) >= 0 { // what they begin with
			for k := range prefixes {
				p := &prefixes[k]
				if s[i] != p.text[0] || !strings.HasPrefix(s[i:], p.text) {
					continue
				}
				start := i + len(p.text)
				if row.read(s, start); row.end-start >= p.min && row.digit >= start {
					found = append(found, span{i, row.end})
					i = row.end
					break
				}
			}
		}
		for i < len(s) && isWord(s[i]) {
			i++
		}
	}
	return findPrivateKeys(s, findTokens(s, found))
}

// keyRow is a row of characters that may stand in a key. Many keys may seem to
// begin in one, so it is read once.
type keyRow struct {
	end   int
	digit int // the last one in it
}

// read reads the row that i is in.
func (r *keyRow) read(s string, i int) {
	if i < r.end {
		return
	}
	r.end = keyEnd(s, i)
	r.digit = i + strings.LastIndexAny(s[i:r.end], "0123456789")
	if r.digit < i {
		r.digit = -1
	}
}

func keyEnd(s string, i int) int {
	for i < len(s) && (isWord(s[i]) || s[i] == '-' || s[i] == '.' && isWord(byteAt(s, i+1))) {
		i++
	}
	return i
}

// findTokens finds JSON Web Tokens: three parts, of which the first two are
// JSON objects in base64.
func findTokens(s string, found []span) []span {
	for i := 0; ; {
		n := strings.Index(s[i:], "eyJ")
		if n < 0 {
			return found
		}
		start := i + n
		end := keyEnd(s, start)
		i = start + len("eyJ")
		parts := strings.Split(s[start:end], ".")
		if len(parts) >= 3 && len(parts[0]) >= 10 && strings.HasPrefix(parts[1], "ey") && !isWord(before(s, start)) {
			found = append(found, span{start, end})
		}
		i = max(i, end)
	}
}

const (
	pemBegin = "-----BEGIN "
	pemKey   = "PRIVATE KEY-----"
	pemEnd   = "-----END "
)

// findPrivateKeys finds PEM blocks of private keys, with or without their end.
func findPrivateKeys(s string, found []span) []span {
	for i := 0; ; {
		n := strings.Index(s[i:], pemBegin)
		if n < 0 {
			return found
		}
		start := i + n
		i = start + len(pemBegin)
		label := strings.Index(s[i:min(len(s), i+64)], pemKey)
		if label < 0 {
			continue
		}
		i += label + len(pemKey)
		end := len(s)
		if n := strings.Index(s[i:], pemEnd); n >= 0 {
			end = i + n + len(pemEnd)
			if n := strings.Index(s[end:min(len(s), end+64)], "-----"); n >= 0 {
				end += n + len("-----")
			}
		}
		found = append(found, span{start, end})
		i = end
	}
}

// findAddresses finds IPv4 and IPv6 addresses.
func findAddresses(s string, found []span) []span {
	for i := 0; i < len(s); {
		if !isAddressByte(s[i]) {
			i++
			continue
		}
		start := i
		for i < len(s) && isAddressByte(s[i]) {
			i++
		}
		if i-start < 5 || i-start > 64 {
			continue
		}
		word := strings.TrimRight(s[start:i], ".:")
		if len(word) < 5 || isWord(before(s, start)) || isWord(byteAt(s, i)) {
			continue
		}
		if host, port, ok := strings.Cut(word, ":"); ok && strings.Count(word, ":") == 1 && digitsOf(port) == port {
			word = host // with a port
		}
		if _, err := netip.ParseAddr(word); err == nil {
			found = append(found, span{start, start + len(word)})
		}
	}
	return found
}

func isAddressByte(b byte) bool {
	return isDigit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' || b == '.' || b == ':'
}

// findSSNs finds social security numbers of the United States with their
// hyphens or spaces.
func findSSNs(s string, found []span) []span {
	for i := 0; i+11 <= len(s); i++ {
		if !isDigit(s[i]) {
			continue
		}
		prev := before(s, i)
		if end := ssnEnd(s, i); end > i && !isWord(prev) && prev != '-' && prev != '.' {
			found = append(found, span{i, end})
			i = end - 1
			continue
		}
		i = lastDigit(s, i)
	}
	return found
}

func ssnEnd(s string, i int) int {
	if kind, _ := separator(s, i+3); kind != '-' && kind != ' ' {
		return i
	}
	v := readNumber(s, i)
	if v.n < 3 || len(v.groups[0]) != 3 || len(v.groups[1]) != 2 || len(v.groups[2]) != 4 || v.parens {
		return i
	}
	area := v.groups[0]
	if kind := v.seps[1]; kind != v.seps[2] || kind != '-' && kind != ' ' {
		return i
	}
	if area == "000" || area == "666" || area[0] == '9' || v.groups[1] == "00" || v.groups[2] == "0000" {
		return i
	}
	return v.ends[2]
}
