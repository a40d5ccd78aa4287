package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// marked returns a text with its matches in angle brackets.
func marked(s string, find detector) string {
	var b strings.Builder
	at := 0
	for _, f := range find(s, nil) {
		b.WriteString(s[at:f.start] + "<" + s[f.start:f.end] + ">")
		at = f.end
	}
	return b.String() + s[at:]
}

// TestPatterns: the wanted text has the matches in angle brackets.
func TestPatterns(t *testing.T) {
	for name, texts := range map[string][]string{
		"email": {
			"<ann@example.com>", "mail <ann.lee+x@mail.example.co.uk>.", "'<ann@example.com>'", "mailto:<ann@example.com>?subject=x",
			"ann@localhost", "@handle and a@b", "<ann@example.com> <bob@example.org>", "邮箱<ann@example.com>谢谢", "<jürgen@exämple.de>",
			"ann@1.2.3.4", "npm i left@1.2", "user=<ann@example.com>", "<a@b.io>@c", "x@", "<a@xn--bcher-kva.xn--p1ai>", "git@<b@c.de>",
		},
		"phone": {
			"<+1 415 555 2671>", "call <+49 (0)30 1234567> now", "<+14155552671>", "<(415) 555-2671>", "<415-555-2671>", "<415.555.2671>", "<1-415-555-2671> x5",
			"tel:<+44-20-7946-0958>", "<020 7946 0958>", "<030 1234567>", "<0171/1234567>", "<01 23 45 67 89>", "<01.23.45.67.89>", "<0049 30 1234567>",
			"电话<+86 10 6552 9988>。", "<415\u2011555\u20112671>", "<(415) 5552671>", "<+1 (415) 555-2671>", "<415-555-2671>x12",
			"1700000000", "4155552671", "id 20230101-415-555", "2023-01-02 03:04:05", "01.02.2023 10:30", "01-02-2023 12", "T00:00:00+01:00",
			"0.123456789", "3.14159265358979", "order 415-555-26713", "550e8400-e29b-41d4-a716-446655440000", "1,234,567,890", "192.168.100.200",
			"chatcmpl-4155552671", "req_011CabcD+123", "15 555 2671 0001", "000 123 456 789", "115-555-2671", "<+49 30 1234567 2023>-01-01 12", // groups that follow may belong to it
		},
		"card": {
			"<4111 1111 1111 1111>", "<4111-1111-1111-1111>", "<4111111111111111>", "card:<378282246310005>,", "<3782 822463 10005> 12/28", "<5555555555554444>",
			"<6011111111111117>", "<3530111333300000>", "<4111 1111 1111 1111> 12 28 123", "<4111\u00a01111\u00a01111\u00a01111>", "|<4111111111111111>|",
			"4111111111111112", "1700000000000", "1700000000000000", "12345678901234567890123", "0.4111111111111111", "a4111111111111111", "4111111111111111a",
			"4111 1111-1111 1111", "41 11 11 11 11 11 11 11", "id_4111111111111111",
		},
		"iban": {
			"<DE89 3704 0044 0532 0130 00>", "<GB29NWBK60161331926819>", "iban <gb29 nwbk 6016 1331 9268 19>.", "<FR14 2004 1010 0505 0001 3M02 606>", "<NO93-8601-1117-947>",
			"DE89 3704 0044 0532 0130 01", "XDE89370400440532013000", "DE893704004405320130005", "ZZ89370400440532013000", "DE89",
		},
		"api_key": {
			"key <sk-proj-abcdefghij0123456789>", "<sk-ant-api03-abcdefghij0123456789>.", "<AKIAFAKEFAKEFAKE1234>", "<ghp_0123456789abcdefghijABCDEFGHIJ012345>",
			"<xoxb-1234567890-abc>", "<AIzaFAKE0123456789FAKE0123456789FAKE012>", "<eyJhbGciOiJub25lIn0.eyJzdWIiOiJmYWtlIn0.c2ln>",
			"<-----BEGIN PRIVATE KEY-----\nZmFrZQ==\n-----END PRIVATE KEY----->!", "<-----BEGIN RSA PRIVATE KEY-----\nZmFr", // cut off
			"sk-learn-is-a-library-for-python", "task-0123456789abcdefghij0", "-----BEGIN CERTIFICATE-----\nZmFrZQ==", "eyJ and eyJhbGciOiJub25lIn0",
		},
		"ip": {
			"<192.168.1.20>", "<192.168.1.20>:8080", "<2001:db8::8a2e:370:7334>", "[<::ffff:10.0.0.1>]", "at <10.0.0.1>.",
			"1.2.3", "12:30:45", "999.1.1.1", "v1.2.3.4x", "face:book", "::",
		},
		"ssn": {
			"<123-45-6789>", "ssn <123 45 6789>", "<123-45-6789> 5", "000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123456789", "123-45-67890", "1-123-45-6789",
		},
	} {
		p, ok := patternNamed(name)
		if !ok {
			t.Fatalf("no pattern %s", name)
		}
		for _, want := range texts {
			plain := strings.NewReplacer("<", "", ">", "").Replace(want)
			if strings.Contains(want, "RSA") {
				want += ">"
			}
			if diff := cmp.Diff(want, marked(plain, p.find)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// TestPatternsOfMoney: every country of the table has the length it says.
func TestIBANLengths(t *testing.T) {
	for entry := range strings.FieldsSeq(ibanLengths) {
		if n := ibanLength(entry[:2]); len(entry) != 4 || n < 15 || n > 34 {
			t.Errorf("%s: %d", entry, n)
		}
	}
	if ibanLength("D2") != 0 || ibanLength("24") != 0 || ibanLength("A ") != 0 {
		t.Error("a country that is none has a length")
	}
}

// TestRowsOfPrefixes: a row in which a key may begin at many places is read once.
// Read once for each of them, 16 MiB take days.
func TestRowsOfPrefixes(t *testing.T) {
	for _, part := range []string{"sk-", "AKIA-", "sk-a.", "eyJ.", "eyJ-", "hf_-"} {
		text := strings.Repeat(part, 16<<20/len(part))
		if found := findKeys(text, nil); len(found) > 0 {
			t.Errorf("%s: found %v", part, found)
		}
		if found := findKeys(text+"0123456789 ", nil); part == "sk-" && len(found) != 1 {
			t.Errorf("%s with digits: found %v", part, found)
		}
	}
}

// TestPlainNumber: an exponent that makes a number long is not written out.
func TestPlainNumber(t *testing.T) {
	for in, want := range map[string]string{
		"4.111111111111111E+15": "4111111111111111", "4111111111111111.0": "4111111111111111", "12": "", "1.5": "", "1e-3": "",
		"1e40": "1" + strings.Repeat("0", 40), "1e41": "", "1e999": "", "1e99999999999999999999": "", "1e": "",
	} {
		if got := plainNumber(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

// TestKeyPrefixes: each prefix of the table is found.
func TestKeyPrefixes(t *testing.T) {
	for _, p := range keyPrefixes() {
		key := p.text + strings.Repeat("a1", p.min/2+1)
		if got := marked("a "+key+" b", findKeys); got != "a <"+key+"> b" {
			t.Errorf("%s: %s", p.text, got)
		}
	}
}
