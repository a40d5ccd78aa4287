package proxy

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzDropParams: what is dropped is gone, and the rest is as it was written.
func FuzzDropParams(f *testing.F) {
	f.Add("a=1&key=x;b=%zz&KEY=&api%5Fkey=y&")
	f.Add("key")
	f.Add("&;&")
	f.Fuzz(func(t *testing.T, query string) {
		if same, dropped := dropParams(query, func(string) bool { return false }); same != query || dropped {
			t.Errorf("%q became %q", query, same)
		}
		got, dropped := dropParams(query, isCredentialParam)
		if !dropped && got != query {
			t.Errorf("%q became %q", query, got)
		}
		for pair := range strings.FieldsFuncSeq(got, func(r rune) bool { return r == '&' || r == ';' }) {
			if isCredentialParam(paramName(pair)) {
				t.Errorf("%q is left of %q", got, query)
			}
			if !strings.Contains(query, pair) {
				t.Errorf("%q of %q is not in %q", pair, got, query)
			}
		}
		for name, v := range credentialParams(query) {
			if !dropped {
				t.Errorf("%q has a key (%q, %q) that was not dropped", query, name, v)
			}
		}
	})
}

// FuzzDropRealtimeKey: no key is left, and other protocols are.
func FuzzDropRealtimeKey(f *testing.F) {
	f.Add("realtime, openai-insecure-api-key.fake, openai-beta.realtime-v1", "x")
	f.Add("openai-insecure-api-key.fake", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		h := http.Header{"Sec-Websocket-Protocol": {a, b}}
		dropRealtimeKey(h)
		for _, line := range h["Sec-Websocket-Protocol"] {
			for p := range strings.SplitSeq(line, ",") {
				if p = strings.TrimSpace(p); strings.HasPrefix(p, realtimeKey) || !strings.Contains(a+","+b, p) {
					t.Errorf("%q of %q", p, a+","+b)
				}
			}
		}
	})
}
