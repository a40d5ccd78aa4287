package proxy_test

import (
	"strings"
	"testing"
)

// TestRefusedLargeBody: a client that sends a large body before it reads gets the
// refusal, and not a connection that broke.
func TestRefusedLargeBody(t *testing.T) {
	t.Parallel()
	p := startWith(t, gated("http://127.0.0.1:1", nil), nil)
	body := strings.Repeat("x", 16<<20)
	for name, c := range map[string]struct {
		target string
		fields []string
		status int
	}{
		"no key":       {"/v1/chat/completions", nil, 401},
		"unknown path": {"/nowhere", []string{"Docket-Key: " + redKey}, 404},
		"cross-site":   {"/v1/chat/completions", []string{"Origin: https://evil.test"}, 403},
		"long URL":     {"/v1/" + strings.Repeat("x", 100<<10), nil, 414},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, p.addr)
			conn.send(t, line("POST", c.target, append(c.fields, "Content-Length: "+itoa(len(body)))...)+body)
			if res := conn.answer(t, "POST"); res.Status() != c.status {
				t.Errorf("got %d %s", res.Status(), res.Body)
			}
			conn.send(t, get("/livez")) // over the same connection
			if res := conn.answer(t, "GET"); res.Status() != 200 {
				t.Errorf("then got %d", res.Status())
			}
		})
	}
}

// TestRefusedExpectation: who asks before sending is answered at once.
func TestRefusedExpectation(t *testing.T) {
	t.Parallel()
	p := startWith(t, gated("http://127.0.0.1:1", nil), nil)
	res := call(t, p.addr, line("POST", "/v1/chat/completions", "Expect: 100-continue", "Content-Length: 1000"))
	if res.Status() != 401 || len(res.Interim) > 0 {
		t.Errorf("got %d after %v", res.Status(), res.Interim)
	}
}
