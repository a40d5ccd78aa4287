package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzScan holds the cursor against encoding/json: it takes every valid text as
// a whole and finds the same strings; and no cut of a valid text is broken.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e3,true,false,null,"x"],"b":{"c":{}},"d":[[],[{}]]}`, `"é \ud83c\udf88 \ud800 \/ \\ \" \n"`, ` [ 1 , 2 ] `, `{"a" : "b" }`,
		`[1,]`, `{"a"}`, `{"a":}`, `nul`, `tru`, `"abc`, `"abc\`, `"abc\u12`, `{"a":1`, `[`, `{`, `NaN`, `[-Infinity]`, "\"a\tb\"", `{"a":1}{"b":2}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		c := cursor{s: s}
		raw := c.raw()
		rest := strings.TrimLeft(s[c.i:], " \t\r\n")
		valid := json.Valid([]byte(s))
		if valid && (c.failed() || rest != "") {
			t.Fatalf("valid text %q: bad %v, cut %v, rest %q", s, c.bad, c.cut, rest)
		}
		if valid && raw != strings.Trim(s, " \t\r\n") {
			t.Fatalf("raw %q of %q", raw, s)
		}
		var want string
		if valid && raw[0] == '"' && json.Unmarshal([]byte(s), &want) == nil {
			if got := (value{raw: raw}).text(); got != want {
				t.Fatalf("text of %q: %q, want %q", s, got, want)
			}
		}
		var members map[string]json.RawMessage
		if valid && raw[0] == '{' && json.Unmarshal([]byte(s), &members) == nil {
			for k, m := range members {
				if got := (value{raw: raw}).get(k); got.raw != strings.Trim(string(m), " \t\r\n") {
					t.Fatalf("member %q of %q: %q, want %q", k, s, got.raw, m)
				}
			}
		}
		for n := 0; valid && n < min(len(s), 200); n++ {
			if c := (&cursor{s: s[:n]}); c.raw() == "" {
				continue
			} else if c.bad {
				t.Fatalf("%q, the start of a valid text, counts as broken", s[:n])
			}
		}
	})
}

// FuzzEvents: no event is lost or doubled, whatever the line ends.
func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\nevent: x\ndata: b\ndata: c\n\n: comment\n\ndata:d")
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "{") || strings.HasPrefix(s, bom) {
			return
		}
		plain := strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
		a, b := newEvents(plain), newEvents(strings.ReplaceAll(plain, "\n", "\r\n"))
		for {
			x, okA := a.next()
			y, okB := b.next()
			if x != y || okA != okB {
				t.Fatalf("%+v and %+v", x, y)
			}
			if !okA {
				return
			}
		}
	})
}
