package proxy_test

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

// way is a protocol at each side of the proxy.
type way struct{ client, upstream string }

func (w way) client2() bool   { return w.client != "HTTP/1.1" }
func (w way) upstream2() bool { return w.upstream != "HTTP/1.1" }

func ways() []way {
	return []way{
		{"HTTP/1.1", "HTTP/1.1"},
		{"h2c", "HTTP/1.1"},
		{"TLS h2", "HTTP/1.1"},
		{"HTTP/1.1", "h2c"},
		{"h2c", "h2c"},
		{"TLS h2", "TLS h2"},
	}
}

// serve is an upstream that gives the answer of a case.
func (w way) serve(t *testing.T, id identity, c exchangeCase) (up *upstreamtest.Server, base string) {
	t.Helper()
	var security *tls.Config
	switch w.upstream {
	case "HTTP/1.1":
		up = upstreamtest.Start(t, upstreamtest.AnswerAndClose(c.answer))
		return up, up.URL()
	case "TLS h2":
		security = id.serverConfig("h2")
	}
	up = upstreamtest.Start(t, upstreamtest.Over2(security, func(h *upstreamtest.H2) {
		for {
			r, stream, err := h.NextRequest()
			if err != nil {
				return
			}
			res, err := upstreamtest.ParseResponse(c.answer, r.Method())
			if err != nil || h.Answer(stream, res, r.Method()) != nil {
				return
			}
		}
	}))
	if security != nil {
		return up, "https://" + up.Addr()
	}
	return up, up.URL()
}

// proxy starts one for the way.
func (w way) proxy(t *testing.T, id identity, base string) *proxied {
	t.Helper()
	return start(t, base, func(c *proxy.Config, u *proxy.Upstream) {
		if w.client == "TLS h2" {
			id.secured(c)
		}
		switch w.upstream {
		case "h2c":
			u.HTTPVersion = "2"
		case "TLS h2":
			u.TLS.CAFile = id.certFile
		}
	})
}

// call sends the request of a case to the proxy.
func (w way) call(t *testing.T, id identity, addr, raw string) upstreamtest.Response {
	t.Helper()
	var h *upstreamtest.H2
	switch w.client {
	case "HTTP/1.1":
		return call(t, addr, raw)
	case "TLS h2":
		h = over2(t, id.dialTLS(t, addr, "h2"))
	default:
		h = dial2(t, addr)
	}
	defer h.Close() // else a stop of the proxy waits for it
	return response2(t, h, send2(t, h, raw))
}

// TestTransparency sends each request to the upstream itself and through the
// proxy, over each pair of protocols, and compares what arrived at both ends.
func TestTransparency(t *testing.T) {
	t.Parallel()
	id := newIdentity(t)
	for _, c := range exchangeCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plain := upstreamtest.Start(t, upstreamtest.AnswerAndClose(c.answer))
			direct := call(t, plain.Addr(), c.request)
			for _, w := range ways() {
				up, base := w.serve(t, id, c)
				p := w.proxy(t, id, base)
				through := w.call(t, id, p.addr, c.request)
				requests := up.Requests()
				if len(requests) != 1 {
					t.Fatalf("%v: the upstream got %d requests, want 1\nlog: %s", w, len(requests), p.logs)
				}
				if diff := cmp.Diff(seenRequest(plain.Requests()[0], w), seenRequest(requests[0], w)); diff != "" {
					t.Errorf("%v: request (-direct +through the proxy):\n%s", w, diff)
				}
				if diff := cmp.Diff(seenAnswer(direct), seenAnswer(through)); diff != "" {
					t.Errorf("%v: answer (-direct +through the proxy):\n%s", w, diff)
				}
				if got := len(requests[0].Values("traceparent")); got != 1 {
					t.Errorf("%v: %d traceparent fields went upstream, want ours", w, got)
				}
				p.stop()
			}
		})
	}
}

// seen is a message without the differences that the README lists, and no
// others.
type seen struct {
	First    string
	Interim  []seen
	Fields   map[string][]string
	Trailers map[string][]string
	Body     string
	Cut      bool
}

func seenRequest(r upstreamtest.Request, w way) seen {
	s := seen{First: r.Method() + " " + r.Target(), Fields: fieldsOf(r.Fields), Trailers: fieldsOf(r.Trailers), Body: string(r.Body)}
	for _, ours := range []string{"host", "traceparent", "tracestate"} {
		delete(s.Fields, ours)
	}
	if len(r.Body) == 0 { // framing of an empty body
		delete(s.Fields, "content-length")
	}
	if v := s.Fields["cookie"]; len(v) > 0 && (w.client2() || w.upstream2()) {
		s.Fields["cookie"] = []string{crumbs(v)}
	}
	if w.client2() && len(r.Values("Trailer")) == 0 {
		s.Trailers = map[string][]string{}
	}
	if v := s.Fields["user-agent"]; len(v) > 0 && w.upstream2() {
		if s.Fields["user-agent"] = v[:1]; v[0] == "" {
			delete(s.Fields, "user-agent")
		}
	}
	return s
}

// crumbs is what cookie fields say together. HTTP/2 may cut and join them (RFC
// 9113, 8.2.3).
func crumbs(fields []string) string {
	var all []string
	for _, v := range fields {
		for c := range strings.SplitSeq(v, ";") {
			all = append(all, strings.TrimSpace(c))
		}
	}
	return strings.Join(all, "; ")
}

// TestDifferencesOfHTTP2: what TestTransparency leaves out of the comparison
// differs just as the README says.
func TestDifferencesOfHTTP2(t *testing.T) {
	t.Parallel()
	id := newIdentity(t)
	trailers := line("POST", "/v1/x", "Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"
	for _, c := range []struct {
		way
		name, request, field string
		want                 []string
	}{
		{way{"h2c", "HTTP/1.1"}, "cookies are joined", get("/v1/x", "Cookie: a=b; c=d", "Cookie: e=f"), "Cookie", []string{"a=b; c=d; e=f"}},
		{way{"HTTP/1.1", "h2c"}, "cookies are cut", get("/v1/x", "Cookie: a=b; c=d", "Cookie: e=f"), "Cookie", []string{"a=b", "c=d", "e=f"}},
		{way{"HTTP/1.1", "h2c"}, "one user agent", get("/v1/x", "User-Agent: a", "User-Agent: b"), "User-Agent", []string{"a"}},
		{way{"HTTP/1.1", "h2c"}, "no empty user agent", get("/v1/x", "User-Agent:"), "User-Agent", nil},
		{way{"h2c", "HTTP/1.1"}, "unannounced trailers", trailers, "trailers", nil},
		{way{"HTTP/1.1", "h2c"}, "unannounced trailers from HTTP/1.1", trailers, "trailers", []string{"1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up, base := c.serve(t, id, exchangeCase{answer: plainAnswer})
			if res := c.call(t, id, c.proxy(t, id, base).addr, c.request); res.Status() != 200 {
				t.Fatalf("got %d", res.Status())
			}
			r := up.Requests()[0]
			got := r.Values(c.field)
			if c.field == "trailers" {
				got = fieldsOf(r.Trailers)["x-sum"]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.field, diff)
			}
		})
	}
}

func seenAnswer(r upstreamtest.Response) seen {
	s := seen{First: itoa(r.Status()), Fields: fieldsOf(r.Fields), Trailers: fieldsOf(r.Trailers), Body: string(r.Body), Cut: r.Cut}
	for _, m := range r.Interim {
		_, code, _ := strings.Cut(m.First, " ")
		s.Interim = append(s.Interim, seen{First: code[:3], Fields: fieldsOf(m.Fields), Trailers: map[string][]string{}})
	}
	return s
}

// fieldsOf drops hop-by-hop fields. Names have no case; values keep their
// order.
func fieldsOf(fields []upstreamtest.Field) map[string][]string {
	out := map[string][]string{}
	for _, f := range fields {
		name := strings.ToLower(f.Name)
		switch name {
		case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "trailer", "upgrade":
		default:
			out[name] = append(out[name], f.Value)
		}
	}
	return out
}
