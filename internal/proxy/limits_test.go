package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

// small limits a request's head to 8 KiB and its URL to 1 KiB.
func small(c *proxy.Config, _ *proxy.Upstream) {
	c.MaxHeaderBytes, c.MaxURLBytes = 8*record.KiB, record.KiB
}

// TestHeadLimits: what is over a limit gets an error that names the setting,
// over either protocol, and the upstream sees nothing of it.
func TestHeadLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, target, field string
		status              int
		code, setting       string
	}{
		{"url", "/v1/" + strings.Repeat("x", 1100), "X-A: b", 414, "url_too_long", "proxy.max_url_bytes (1KiB)"},
		{"own url", "/livez?" + strings.Repeat("x", 1100), "X-A: b", 414, "url_too_long", "proxy.max_url_bytes (1KiB)"},
		{"head", "/v1/x", "X-Long: " + strings.Repeat("a", 9<<10), 431, "header_too_large", "proxy.max_header_bytes (8KiB)"},
		{"head beyond what net/http reads", "/v1/x", "X-Long: " + strings.Repeat("a", 40<<10), 431, "header_too_large", "proxy.max_header_bytes (8KiB)"},
	} {
		up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
		id := newIdentity(t)
		check := func(t *testing.T, p *proxied, res upstreamtest.Response) {
			t.Helper()
			if res.Status() != c.status {
				t.Errorf("got %d, want %d", res.Status(), c.status)
			}
			wantProblem(t, res, c.code)
			if !strings.Contains(string(res.Body), c.setting) {
				t.Errorf("%s does not name %s", res.Body, c.setting)
			}
			if n := len(up.Requests()); n != 0 {
				t.Errorf("the upstream got %d requests", n)
			}
			eventually(t, "the refusal is counted", func() bool { return p.counted("docket_proxy_refused_total", c.code) })
		}
		t.Run(c.name+" HTTP/1.1", func(t *testing.T) {
			t.Parallel()
			p := start(t, up.URL(), small)
			check(t, p, call(t, p.addr, get(c.target, c.field)))
		})
		t.Run(c.name+" TLS", func(t *testing.T) {
			t.Parallel()
			p := start(t, up.URL(), func(pc *proxy.Config, u *proxy.Upstream) { small(pc, u); id.secured(pc) })
			conn := id.dialTLS(t, p.addr, "http/1.1")
			conn.send(t, get(c.target, c.field))
			check(t, p, conn.answer(t, "GET"))
		})
		if strings.Contains(c.name, "beyond") {
			continue // over HTTP/2 such a head gets net/http's own 431, or ends the connection
		}
		t.Run(c.name+" HTTP/2", func(t *testing.T) {
			t.Parallel()
			p := start(t, up.URL(), small)
			h := dial2(t, p.addr)
			check(t, p, response2(t, h, send2(t, h, get(c.target, c.field))))
		})
	}
}

// TestBrokenHeads: what net/http answers by itself has the form of our errors.
func TestBrokenHeads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, raw string
		status    int
		code      string
	}{
		{"no HTTP", "hello, this is not a request\r\n\r\n", 400, "bad_request"},
		{"broken escape", "GET /v1/%zz HTTP/1.1\r\nHost: proxy.test\r\n\r\n", 400, "bad_request"},
		{"no host", "GET /v1/x HTTP/1.1\r\n\r\n", 400, "bad_request"},
		{"version", "GET /v1/x HTTP/3.0\r\nHost: proxy.test\r\n\r\n", 505, "bad_request"},
		{"transfer encoding", "POST /v1/x HTTP/1.1\r\nHost: proxy.test\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "transfer_encoding"},
		{"expectation", "POST /v1/x HTTP/1.1\r\nHost: proxy.test\r\nExpect: miracles\r\nContent-Length: 1\r\n\r\nx", 417, "expectation_failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "http://127.0.0.1:1", nil)
			conn := dial(t, p.addr)
			conn.send(t, c.raw)
			res := conn.answer(t, "GET")
			if res.Status() != c.status {
				t.Errorf("got %d, want %d", res.Status(), c.status)
			}
			wantProblem(t, res, c.code)
			if rest, err := io.ReadAll(conn.r); err != nil || len(rest) > 0 {
				t.Errorf("after the answer: %q, %v", rest, err)
			}
		})
	}
}

// TestWordsOfNetHTTPInAnAnswerStay: only what net/http says is replaced, not an
// answer of an upstream with the same bytes.
func TestWordsOfNetHTTPInAnAnswerStay(t *testing.T) {
	t.Parallel()
	words := "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n431 Request Header Fields Too Large"
	goOn := make(chan struct{})
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		for {
			if _, err := u.ReadRequest(); err != nil || u.Send(answer("200 OK\r\nContent-Length: "+itoa(len(words)), "")) != nil {
				return
			}
			<-goOn // the body is a write of its own
			if u.Send(words) != nil {
				return
			}
		}
	})
	p := start(t, up.URL(), nil)
	c := dial(t, p.addr)
	for range 3 {
		c.send(t, get("/v1/x"))
		if _, err := c.r.Peek(20); err != nil {
			t.Fatal(err)
		}
		goOn <- struct{}{}
		if res := c.answer(t, "GET"); res.Status() != 200 || string(res.Body) != words {
			t.Fatalf("got %d %q", res.Status(), res.Body)
		}
	}
}

// TestSlowHead: a head that does not come to its end is answered; a connection
// that is idle is closed without a word.
func TestSlowHead(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.Answer(plainAnswer))
	for _, c := range []struct {
		name, first, raw string
	}{
		{"first head", "", "POST /v1/x HTTP/1.1\r\nHost: prox"},
		{"a few bytes", "", "POST"},
		{"second head", post("{}"), "GET /v1/x HT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, up.URL(), func(pc *proxy.Config, _ *proxy.Upstream) { pc.ReadHeaderTimeout = 2 * time.Second })
			conn := dial(t, p.addr)
			if c.first != "" {
				conn.send(t, c.first)
				if res := conn.answer(t, "POST"); res.Status() != 200 {
					t.Fatalf("got %d", res.Status())
				}
			}
			conn.send(t, c.raw)
			res := conn.answer(t, "POST")
			if res.Status() != 408 || !strings.Contains(string(res.Body), "proxy.read_header_timeout (2s)") {
				t.Errorf("got %d %s", res.Status(), res.Body)
			}
			wantProblem(t, res, "head_timeout")
			if rest, err := io.ReadAll(conn.r); err != nil || len(rest) > 0 {
				t.Errorf("after the answer: %q, %v", rest, err)
			}
		})
	}
	for _, first := range []string{"", post("{}"), post(strings.Repeat("x", 100_000))} {
		t.Run(fmt.Sprintf("idle after %d bytes", len(first)), func(t *testing.T) {
			t.Parallel()
			p := start(t, up.URL(), func(pc *proxy.Config, _ *proxy.Upstream) {
				pc.ReadHeaderTimeout, pc.IdleTimeout = 2*time.Second, 2*time.Second
			})
			conn := dial(t, p.addr)
			if first != "" {
				conn.send(t, first)
				if res := conn.answer(t, "POST"); res.Status() != 200 {
					t.Fatalf("got %d", res.Status())
				}
			}
			if rest, err := io.ReadAll(conn.r); err != nil || len(rest) > 0 {
				t.Errorf("an idle connection ends with %q, %v", rest, err)
			}
		})
	}
}

// TestSlowBody: a request whose body stands still is answered with the name of
// the setting; one that goes on slowly is not, however long it takes.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	hang := func(u *upstreamtest.Conn) {
		r, err := u.ReadHead()
		if err != nil || u.ReadBody(&r) != nil {
			return
		}
		_ = u.Send(plainAnswer)
	}
	short := func(_ *proxy.Config, u *proxy.Upstream) { u.Timeouts = proxy.Timeouts{Idle: 2 * time.Second} }
	check := func(t *testing.T, p *proxied, res upstreamtest.Response) {
		t.Helper()
		if res.Status() != 408 || !strings.Contains(string(res.Body), "proxy.upstreams.test.timeouts.idle (2s)") {
			t.Errorf("got %d %s", res.Status(), res.Body)
		}
		wantProblem(t, res, "body_timeout")
		eventually(t, "the call is logged", func() bool { return strings.Contains(p.logs.String(), "state=client_cancelled status=408") })
	}
	t.Run("HTTP/1.1", func(t *testing.T) {
		t.Parallel()
		p := start(t, upstreamtest.Start(t, hang).URL(), short)
		c := dial(t, p.addr)
		c.send(t, line("POST", "/v1/x", "Content-Length: 500000")+strings.Repeat("x", 100_000))
		check(t, p, c.answer(t, "POST"))
	})
	t.Run("HTTP/2", func(t *testing.T) {
		t.Parallel()
		p := start(t, upstreamtest.Start(t, hang).URL(), short)
		h := dial2(t, p.addr)
		id := h.NewStream()
		if err := h.Headers(id, false, head2("POST", "/v1/x")...); err != nil {
			t.Fatal(err)
		}
		if err := h.Body(id, false, []byte("x")); err != nil {
			t.Fatal(err)
		}
		check(t, p, response2(t, h, id))
	})
	t.Run("other limits are the upstream's", func(t *testing.T) {
		t.Parallel()
		limit := 5 * time.Second
		p := start(t, upstreamtest.Start(t, hang).URL(), func(_ *proxy.Config, u *proxy.Upstream) {
			u.Timeouts = proxy.Timeouts{Connect: limit, Header: limit, FirstByte: limit, Idle: time.Minute}
		})
		c := dial(t, p.addr)
		c.send(t, line("POST", "/v1/x", "Content-Length: 5"))
		for range 5 {
			time.Sleep(limit / 4) // the client's own pace is what is tested
			c.send(t, "x")
		}
		if res := c.answer(t, "POST"); res.Status() != 200 {
			t.Errorf("got %+v\n%s", res, p.logs)
		}
	})
}

// TestSlowReader: a client that takes nothing of its answer ends the call, and
// not another one on its connection.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	const size = 64 << 20 // more than all buffers on the way
	big := answer("200 OK\r\nContent-Length: "+itoa(size), "")
	upstream := func(t *testing.T) (*upstreamtest.Server, chan struct{}) {
		cut := make(chan struct{}, 1)
		return upstreamtest.Start(t, func(u *upstreamtest.Conn) {
			for {
				r, err := u.ReadRequest()
				if err != nil {
					return
				}
				if strings.Contains(r.Target(), "small") {
					err = u.Send(plainAnswer)
				} else if err = u.Send(big); err == nil {
					err = u.Send(strings.Repeat("x", size))
				}
				if err != nil {
					cut <- struct{}{}
					return
				}
			}
		}), cut
	}
	short := func(_ *proxy.Config, u *proxy.Upstream) { u.Timeouts = proxy.Timeouts{Idle: 2 * time.Second} }
	ended := func(t *testing.T, p *proxied, cut chan struct{}) {
		t.Helper()
		select {
		case <-cut:
		case <-time.After(patience):
			t.Fatal("the upstream is still sending")
		}
		eventually(t, "the call is logged", func() bool {
			s := p.logs.String()
			return strings.Contains(s, "state=client_cancelled") && strings.Contains(s, "proxy.upstreams.test.timeouts.idle (2s)")
		})
	}
	t.Run("HTTP/1.1", func(t *testing.T) {
		t.Parallel()
		up, cut := upstream(t)
		p := start(t, up.URL(), short)
		c := dial(t, p.addr)
		c.send(t, get("/v1/x"))
		ended(t, p, cut)
		if res := c.answer(t, "GET"); !res.Cut {
			t.Error("the answer ends as if it were whole")
		}
	})
	t.Run("HTTP/2", func(t *testing.T) {
		t.Parallel()
		up, cut := upstream(t)
		p := start(t, up.URL(), short)
		h := dial2(t, p.addr)
		h.Withhold = true
		id := send2(t, h, get("/v1/x"))
		if _, err := h.Reset(id); err != nil {
			t.Fatal(err)
		}
		ended(t, p, cut)
		// The window of the connection is used up.
		if err := h.WriteWindowUpdate(0, 1<<20); err != nil {
			t.Fatal(err)
		}
		if res := response2(t, h, send2(t, h, get("/v1/small"))); res.Status() != 200 {
			t.Errorf("the next call on the connection: %d", res.Status())
		}
	})
	t.Run("slow but not still", func(t *testing.T) {
		t.Parallel()
		part := strings.Repeat("x", 512<<10)
		up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(answer("200 OK\r\nContent-Length: "+itoa(40*len(part)), strings.Repeat(part, 40))))
		p := start(t, up.URL(), func(_ *proxy.Config, u *proxy.Upstream) {
			u.Timeouts = proxy.Timeouts{Idle: 5 * time.Second}
		})
		c := dial(t, p.addr)
		c.send(t, get("/v1/x"))
		var got bytes.Buffer
		for got.Len() < 40*len(part) {
			time.Sleep(150 * time.Millisecond) // the client's own pace is what is tested
			if _, err := io.CopyN(&got, c.r, int64(len(part))); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestPlainHTTPToTLS: a client that speaks no TLS is told so.
func TestPlainHTTPToTLS(t *testing.T) {
	t.Parallel()
	id := newIdentity(t)
	p := start(t, "http://127.0.0.1:1", func(c *proxy.Config, _ *proxy.Upstream) { id.secured(c) })
	res := call(t, p.addr, get("/livez"))
	if res.Status() != 400 || !strings.Contains(string(res.Body), "https") {
		t.Errorf("got %d %s", res.Status(), res.Body)
	}
	wantProblem(t, res, "tls_required")
}

// TestExtendedConnect: WebSocket over HTTP/2 (RFC 8441) is not offered, and a
// client that asks for it nevertheless is refused on its stream.
func TestExtendedConnect(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.Answer(plainAnswer))
	p := start(t, up.URL(), nil)
	h := dial2(t, p.addr)
	id := h.NewStream()
	head := append(head2("CONNECT", "/v1/realtime"), upstreamtest.Field{Name: ":protocol", Value: "websocket"})
	if err := h.Headers(id, false, head...); err != nil {
		t.Fatal(err)
	}
	if code, err := h.Reset(id); err != nil || code != http2.ErrCodeProtocol {
		t.Errorf("got %v, %v", code, err)
	}
	if h.Settings[http2.SettingEnableConnectProtocol] != 0 {
		t.Error("extended CONNECT is offered")
	}
	if res := response2(t, h, send2(t, h, get("/v1/x"))); res.Status() != 200 {
		t.Errorf("the next call on the connection: %d", res.Status())
	}
}
