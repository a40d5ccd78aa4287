package proxy

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzTraceContext: whatever the headers are, what goes upstream is valid, and
// reading it again gives the same trace.
func FuzzTraceContext(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")
	f.Add("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", "a=1,,b@c=2")
	f.Add("ff-00000000000000000000000000000000-0000000000000000-ff", "=,=")
	f.Fuzz(func(t *testing.T, parent, state string) {
		sc := newSpanContext(http.Header{"Traceparent": {parent}, "Tracestate": {state}})
		traceID, spanID, flags, ok := parseTraceParent(sc.traceParent())
		if !ok || traceID != sc.traceID || spanID != sc.clientID || flags != sc.flags {
			t.Errorf("%q became %q", parent, sc.traceParent())
		}
		if again := parseTraceState([]string{sc.state}); again != sc.state || len(sc.state) > maxTraceState {
			t.Errorf("%q became %q, then %q", state, sc.state, again)
		}
		if sc.parentID != "" && !strings.Contains(parent, sc.traceID+"-"+sc.parentID) {
			t.Errorf("%q: parent %s", parent, sc.parentID)
		}
	})
}

// FuzzTarget: every target that net/http takes goes upstream with the same
// bytes after its prefix.
func FuzzTarget(f *testing.F) {
	for _, target := range []string{"", "/", "/a%2Fb?x=%zz;y", "//x/../y|\"", "/\xff?", "?", "/x#y??z", "//\u00e9"} {
		f.Add(target, "/v1")
		f.Add(target, "")
	}
	f.Fuzz(func(t *testing.T, target, base string) {
		if _, err := url.ParseRequestURI("/v1" + target); err != nil || strings.ContainsAny(target, " \r\n") {
			return // net/http refuses it
		}
		if base != "" {
			base = "/base"
		}
		parsed, err := url.Parse("http://up.test" + base)
		if err != nil {
			t.Fatal(err)
		}
		rt := &route{base: parsed, basePath: base}
		cut, ok := targetOf(&http.Request{RequestURI: "/v1" + target})
		if !ok {
			t.Fatal("no target")
		}
		got := rt.upstreamURL(strings.TrimPrefix(cut.path, "/v1"), cut).RequestURI()
		want := base + target
		if want == "" || want[0] == '?' {
			want = "/" + want
		}
		if got = strings.TrimPrefix(got, "http://up.test"); got != want && !(target != "" && target[0] != '/' && target[0] != '?') {
			t.Errorf("%q became %q, want %q", target, got, want)
		}
	})
}

// FuzzBaggage: no header makes it fail or return more than was asked for.
func FuzzBaggage(f *testing.F) {
	f.Add("a=b;c=d, e=%20f,=,;;,a")
	f.Fuzz(func(t *testing.T, header string) {
		got := keptBaggage(http.Header{"Baggage": {header}}, []string{"a"})
		if v := got["a"]; len(got) > 1 || len(v) > maxBaggageValue {
			t.Errorf("%q gave %v", header, got)
		}
	})
}
