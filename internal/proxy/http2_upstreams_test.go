package proxy_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

// by2 makes the proxy speak HTTP/2 to a plain upstream.
func by2(_ *proxy.Config, u *proxy.Upstream) { u.HTTPVersion = "2" }

func answered(t *testing.T, raw string) upstreamtest.Response {
	t.Helper()
	res, err := upstreamtest.ParseResponse(raw, "GET")
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// echo2 answers every request with "{}".
func echo2(t *testing.T) func(*upstreamtest.H2) {
	ok := answered(t, plainAnswer)
	return func(h *upstreamtest.H2) {
		for {
			r, id, err := h.NextRequest()
			if err != nil || h.Answer(id, ok, r.Method()) != nil {
				return
			}
		}
	}
}

// TestVersionsOfUpstreams: http_version and what the upstream offers decide.
func TestVersionsOfUpstreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, version string
		tls           bool
		offers        []string
		want          int
	}{
		{"auto, https with both", "auto", true, []string{"h2", "http/1.1"}, 2},
		{"auto, https without HTTP/2", "auto", true, []string{"http/1.1"}, 1},
		{"auto, https without ALPN", "auto", true, nil, 1},
		{"auto, http", "auto", false, nil, 1},
		{"empty is auto", "", true, []string{"h2"}, 2},
		{"1.1, https with both", "1.1", true, []string{"h2", "http/1.1"}, 1},
		{"2, https", "2", true, []string{"h2", "http/1.1"}, 2},
		{"2, http", "2", false, nil, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen.Store(int64(r.ProtoMajor))
				w.Header().Set("Content-Length", "2")
				_, _ = w.Write([]byte("{}")) // the client looks
			}))
			up.Config.Protocols = new(http.Protocols)
			up.Config.Protocols.SetHTTP1(true)
			up.Config.Protocols.SetHTTP2(true)
			up.Config.Protocols.SetUnencryptedHTTP2(true)
			id := newIdentity(t)
			if c.tls {
				up.TLS = id.serverConfig(c.offers...)
				up.EnableHTTP2 = len(c.offers) > 0 && c.offers[0] == "h2"
				up.StartTLS()
			} else {
				up.Start()
			}
			defer up.Close()
			p := start(t, up.URL, func(_ *proxy.Config, u *proxy.Upstream) { u.HTTPVersion, u.TLS.CAFile = c.version, id.certFile })
			for range 2 {
				if res := call(t, p.addr, post("{}")); res.Status() != 200 || seen.Load() != int64(c.want) {
					t.Errorf("got %d over HTTP/%d, want HTTP/%d\n%s", res.Status(), seen.Load(), c.want, p.logs)
				}
			}
			p.stop()
		})
	}
}

// warm makes calls until the transport uses a connection again, which it does
// not before it has noted it as shared, and says how many that took.
func warm(t *testing.T, addr string, up *upstreamtest.Server) (calls int) {
	t.Helper()
	for conns := -1; up.Accepted() != conns; calls++ {
		conns = up.Accepted()
		if res := call(t, addr, get("/v1/warm")); res.Status() != 200 {
			t.Fatalf("got %d", res.Status())
		}
	}
	return calls
}

// begin sends a part of an answer, and then does what cuts it.
func begin(h *upstreamtest.H2, id uint32, cut func(*upstreamtest.H2, uint32) error) error {
	head := []upstreamtest.Field{{Name: ":status", Value: "200"}, {Name: "content-length", Value: "10"}}
	if err := h.Headers(id, false, head...); err != nil {
		return err
	}
	if err := h.Body(id, false, []byte("abc")); err != nil {
		return err
	}
	return cut(h, id)
}

// TestCutsOver2: an answer that the upstream resets, or whose connection ends,
// is a cut, and after a reset the connection is used again.
func TestCutsOver2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		cut   func(*upstreamtest.H2, uint32) error
		again bool
	}{
		{"reset", func(h *upstreamtest.H2, id uint32) error { return h.WriteRSTStream(id, http2.ErrCodeInternal) }, true},
		{"reset without an error", func(h *upstreamtest.H2, id uint32) error { return h.WriteRSTStream(id, http2.ErrCodeNo) }, true},
		{"refused too late", func(h *upstreamtest.H2, id uint32) error { return h.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, true},
		{"goaway", func(h *upstreamtest.H2, id uint32) error {
			if err := h.WriteGoAway(id, http2.ErrCodeNo, nil); err != nil {
				return err
			}
			return h.Close()
		}, false},
		{"close", func(h *upstreamtest.H2, _ uint32) error { return h.Close() }, false},
		{"length not met", func(h *upstreamtest.H2, id uint32) error { return h.Body(id, true, nil) }, true},
	} {
		for _, client := range []string{"HTTP/1.1", "HTTP/2"} {
			t.Run(c.name+" "+client, func(t *testing.T) {
				t.Parallel()
				ok := answered(t, plainAnswer)
				up := upstreamtest.Start(t, upstreamtest.Over2(nil, func(h *upstreamtest.H2) {
					for {
						r, id, err := h.NextRequest()
						switch {
						case err != nil:
						case strings.Contains(r.Target(), "cut"):
							err = begin(h, id, c.cut)
						default:
							err = h.Answer(id, ok, r.Method())
						}
						if err != nil {
							return
						}
					}
				}))
				p := startRecorded(t, config(up.URL(), by2))
				calls := warm(t, p.addr, up) + 2
				conns := up.Accepted()
				var res upstreamtest.Response
				if client == "HTTP/2" {
					h := dial2(t, p.addr)
					res = response2(t, h, send2(t, h, get("/v1/cut")))
				} else {
					res = call(t, p.addr, get("/v1/cut"))
				}
				if res.Status() != 200 || string(res.Body) != "abc" || !res.Cut {
					t.Errorf("got %+v, want a cut", res)
				}
				if res := call(t, p.addr, get("/v1/next")); res.Status() != 200 {
					t.Errorf("the next call: %d\n%s", res.Status(), p.logs)
				}
				if n := up.Accepted(); c.again && n != conns {
					t.Errorf("%d connections to the upstream, %d before", n, conns)
				}
				for _, inf := range p.rows(t, calls).Inferences {
					want := record.StateComplete
					if inf.Path == "/v1/cut" {
						want = record.StateUpstreamTruncated
					}
					if inf.TerminalState != want {
						t.Errorf("%s is recorded as %s, want %s", inf.Path, inf.TerminalState, want)
					}
				}
			})
		}
	}
}

// TestCancelOver2: a client that leaves resets its stream at the upstream, whose
// connection serves others.
func TestCancelOver2(t *testing.T) {
	t.Parallel()
	for _, answers := range []bool{false, true} {
		t.Run(map[bool]string{false: "before the answer", true: "in the stream"}[answers], func(t *testing.T) {
			t.Parallel()
			ready, gone := make(chan struct{}), make(chan http2.ErrCode, 1)
			ok := answered(t, plainAnswer)
			up := upstreamtest.Start(t, upstreamtest.Over2(nil, func(h *upstreamtest.H2) {
				r, id, err := h.NextRequest()
				for ; err == nil && r.Method() != "POST"; r, id, err = h.NextRequest() {
					if h.Answer(id, ok, r.Method()) != nil {
						return
					}
				}
				if err != nil {
					return
				}
				if answers && (h.Headers(id, false, upstreamtest.Field{Name: ":status", Value: "200"}) != nil || h.Body(id, false, []byte("abc")) != nil) {
					return
				}
				close(ready)
				code, err := h.Reset(id)
				if err != nil {
					return
				}
				gone <- code
				echo2(t)(h)
			}))
			p := start(t, up.URL(), by2)
			warm(t, p.addr, up)
			conns := up.Accepted()
			c := dial(t, p.addr)
			c.send(t, post("{}"))
			<-ready
			if answers {
				if _, err := c.r.ReadString('c'); err != nil {
					t.Fatal(err)
				}
			}
			c.Close()
			select {
			case code := <-gone:
				if code != http2.ErrCodeCancel {
					t.Errorf("reset with %v", code)
				}
			case <-time.After(patience):
				t.Fatal("the upstream is still asked")
			}
			if res := call(t, p.addr, get("/v1/next")); res.Status() != 200 {
				t.Errorf("the next call: %d", res.Status())
			}
			if n := up.Accepted(); n != conns {
				t.Errorf("%d connections to the upstream, %d before", n, conns)
			}
			eventually(t, "the call is logged", func() bool { return strings.Contains(p.logs.String(), "client_cancelled") })
		})
	}
}

// TestRetriesOver2: a request is sent again when the upstream says that it did
// not process it, and only then.
func TestRetriesOver2(t *testing.T) {
	t.Parallel()
	reset := func(code http2.ErrCode) func(*upstreamtest.H2, uint32) error {
		return func(h *upstreamtest.H2, id uint32) error { return h.WriteRSTStream(id, code) }
	}
	goAway := func(h *upstreamtest.H2, id uint32) error { return h.WriteGoAway(id-1, http2.ErrCodeNo, nil) }
	small, large := post("hello"), post(strings.Repeat("x", 200_000))
	for _, c := range []struct {
		name    string
		request string
		refuse  func(*upstreamtest.H2, uint32) error
		again   bool
	}{
		{"refused GET", get("/v1/x"), reset(http2.ErrCodeRefusedStream), true},
		{"refused body", small, reset(http2.ErrCodeRefusedStream), true},
		{"refused chunks", line("POST", "/v1/x", "Transfer-Encoding: chunked") + chunked("hello"), reset(http2.ErrCodeRefusedStream), true},
		{"refused large body", large, reset(http2.ErrCodeRefusedStream), false},
		{"goaway GET", get("/v1/x"), goAway, true},
		{"goaway body", small, goAway, true},
		{"goaway that includes it", small, func(h *upstreamtest.H2, id uint32) error {
			if err := h.WriteGoAway(id, http2.ErrCodeNo, nil); err != nil {
				return err
			}
			return h.Close()
		}, false},
		{"protocol error", get("/v1/x"), reset(http2.ErrCodeProtocol), false},
		{"protocol error with a body", small, reset(http2.ErrCodeProtocol), false},
		{"internal error", get("/v1/x", "Idempotency-Key: k"), reset(http2.ErrCodeInternal), false},
		{"cancel", get("/v1/x"), reset(http2.ErrCodeCancel), false},
		{"close", get("/v1/x"), func(h *upstreamtest.H2, _ uint32) error { return h.Close() }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			echo := echo2(t)
			var calls atomic.Int64
			up := upstreamtest.Start(t, upstreamtest.Over2(nil, func(h *upstreamtest.H2) {
				for {
					r, id, err := h.NextRequest()
					if err != nil {
						return
					}
					switch calls.Add(1) {
					case 1: // so that the connection is a used one
						err = h.Answer(id, answered(t, plainAnswer), r.Method())
					case 2:
						err = c.refuse(h, id)
					default:
						_ = h.Answer(id, answered(t, plainAnswer), r.Method())
						echo(h)
						return
					}
					if err != nil {
						return
					}
				}
			}))
			p := start(t, up.URL(), by2)
			conn := dial(t, p.addr)
			conn.send(t, get("/v1/first"))
			if res := conn.answer(t, "GET"); res.Status() != 200 {
				t.Fatalf("got %d", res.Status())
			}
			conn.send(t, c.request)
			method, _, _ := strings.Cut(c.request, " ")
			res := conn.answer(t, method)
			requests := up.Requests()[1:]
			want, n := 502, 1
			if c.again {
				want, n = 200, 2
			}
			if res.Status() != want || len(requests) != n {
				t.Fatalf("got %d and %d requests upstream, want %d and %d\n%s", res.Status(), len(requests), want, n, p.logs)
			}
			if c.again && string(requests[0].Body) != string(requests[1].Body) {
				t.Errorf("sent %q, then %q", requests[0].Body, requests[1].Body)
			}
			if !c.again {
				wantProblem(t, res, "upstream_unreachable")
			}
		})
	}
}

// TestConnectionClosedWhileIdleOver2: an upstream that closes an idle
// connection, with GOAWAY or without a word, is never the reason of a failed
// call.
func TestConnectionClosedWhileIdleOver2(t *testing.T) {
	t.Parallel()
	id := newIdentity(t)
	for _, farewell := range []bool{false, true} {
		for name, config := range map[string]*tls.Config{"h2c": nil, "TLS": id.serverConfig("h2")} {
			t.Run(map[bool]string{false: "silent ", true: "goaway "}[farewell]+name, func(t *testing.T) {
				t.Parallel()
				answered1, closed := make(chan struct{}), make(chan struct{})
				up := upstreamtest.Start(t, upstreamtest.Over2(config, func(h *upstreamtest.H2) {
					r, stream, err := h.NextRequest()
					if err != nil || h.Answer(stream, answered(t, plainAnswer), r.Method()) != nil {
						return
					}
					<-answered1
					if farewell {
						_ = h.WriteGoAway(stream, http2.ErrCodeNo, nil)
					}
					_ = h.Close()
					closed <- struct{}{}
				}))
				base := up.URL()
				if config != nil {
					base = "https://" + up.Addr()
				}
				p := start(t, base, func(_ *proxy.Config, u *proxy.Upstream) { u.HTTPVersion, u.TLS.CAFile = "2", id.certFile })
				c := dial(t, p.addr)
				for i := range 40 {
					request := post("{}")
					if i%2 == 1 {
						request = post(strings.Repeat("x", 100_000))
					}
					c.send(t, request)
					if res := c.answer(t, "POST"); res.Status() != 200 {
						t.Errorf("got %d %s\n%s", res.Status(), res.Body, p.logs)
						return
					}
					answered1 <- struct{}{}
					<-closed // over loopback the other side is told by then
				}
			})
		}
	}
}

// TestEmptyAnswersOver2: a head may give the length of a body that does not
// come.
func TestEmptyAnswersOver2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, request, answer string }{
		{"304", get("/v1/x"), answer("304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 77", "")},
		{"204", get("/v1/x"), answer("204 No Content", "")},
		{"HEAD", line("HEAD", "/v1/x"), answer("200 OK\r\nContent-Length: 77", "")},
		{"empty", get("/v1/x"), answer("200 OK\r\nContent-Length: 0", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			method, _, _ := strings.Cut(c.request, " ")
			want, err := upstreamtest.ParseResponse(c.answer, method)
			if err != nil {
				t.Fatal(err)
			}
			up := upstreamtest.Start(t, upstreamtest.Over2(nil, func(h *upstreamtest.H2) {
				for {
					_, id, err := h.NextRequest()
					if err != nil || h.Answer(id, want, method) != nil {
						return
					}
				}
			}))
			p := startRecorded(t, config(up.URL(), by2))
			got := call(t, p.addr, c.request)
			h := dial2(t, p.addr)
			got2 := response2(t, h, send2(t, h, c.request))
			for _, res := range []upstreamtest.Response{got, got2} {
				if res.Status() != want.Status() || len(res.Body) != 0 || res.Cut || strings.Join(res.Values("Content-Length"), "") != strings.Join(want.Values("Content-Length"), "") {
					t.Errorf("got %+v, want %+v", res, want)
				}
			}
			for _, inf := range p.rows(t, 2).Inferences {
				if inf.TerminalState != record.StateComplete {
					t.Errorf("recorded as %s", inf.TerminalState)
				}
			}
		})
	}
}

// TestHTTP2WithoutTLSNeedsADirectWay: an HTTP proxy that is given absolute
// targets is no way for it.
func TestHTTP2WithoutTLSNeedsADirectWay(t *testing.T) {
	t.Parallel()
	c := config("http://upstream.test", func(_ *proxy.Config, u *proxy.Upstream) {
		u.HTTPVersion, u.HTTPProxy = "2", record.NewSecret("http://127.0.0.1:1")
	})
	if _, err := proxy.New(c, proxy.Options{}); err == nil || !strings.Contains(err.Error(), "upstreams.test.http_version") {
		t.Errorf("got %v", err)
	}
}
