package proxy_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

// TestProtocolsOfClients: one address speaks HTTP/1.1 and HTTP/2, with TLS or
// without.
func TestProtocolsOfClients(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.Answer(plainAnswer))
	id := newIdentity(t)
	plain := start(t, up.URL(), nil)
	secure := start(t, up.URL(), func(c *proxy.Config, _ *proxy.Upstream) { id.secured(c) })
	check := func(name string, res upstreamtest.Response) {
		t.Helper()
		if res.Status() != 200 || string(res.Body) != "{}" {
			t.Errorf("%s: got %d %q", name, res.Status(), res.Body)
		}
	}
	check("HTTP/1.1", call(t, plain.addr, post("{}")))
	h := dial2(t, plain.addr)
	check("h2c", response2(t, h, send2(t, h, post("{}"))))
	check("h2c again", response2(t, h, send2(t, h, get("/v1/models"))))
	for _, protocol := range []string{"", "http/1.1"} {
		c := id.dialTLS(t, secure.addr, protocol)
		for range 2 {
			c.send(t, post("{}"))
			check("TLS "+protocol, c.answer(t, "POST"))
		}
	}
	h = over2(t, id.dialTLS(t, secure.addr, "h2"))
	check("TLS h2", response2(t, h, send2(t, h, post("{}"))))
	own := response2(t, h, send2(t, h, get("/livez")))
	if own.Status() != 200 || string(own.Body) != "ok\n" {
		t.Errorf("livez: %d %q", own.Status(), own.Body)
	}
}

// steps is an upstream whose streams go on when they are told to: by the last
// part of their path.
type steps struct {
	up *upstreamtest.Server
	mu sync.Mutex
	on map[string]chan string
}

// newSteps answers each call with the head of a stream, and then with what is
// sent for its name: a chunk, "end", or "cut".
func newSteps(t *testing.T) *steps {
	s := &steps{on: map[string]chan string{}}
	s.up = upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		r, err := u.ReadRequest()
		if err != nil || u.Send(answer("200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked", "")) != nil {
			return
		}
		for part := range s.of(r.Target()) {
			switch part {
			case "end":
				_ = u.Send("0\r\n\r\n")
				return
			case "cut":
				return
			case "watch":
				u.AwaitClose()
				close(s.of(r.Target() + " gone"))
				return
			}
			if u.Send(chunked(part)[:len(part)+5]) != nil {
				return
			}
		}
	})
	return s
}

func (s *steps) of(name string) chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on[name] == nil {
		s.on[name] = make(chan string)
	}
	return s.on[name]
}

// TestStreamsOfOneConnection: a cut upstream resets its own stream, and a client
// that resets a stream cancels its own call; the others go on.
func TestStreamsOfOneConnection(t *testing.T) {
	t.Parallel()
	s := newSteps(t)
	p := startRecorded(t, config(s.up.URL(), nil))
	h := dial2(t, p.addr)
	cut, left, whole := send2(t, h, get("/v1/cut")), send2(t, h, get("/v1/left")), send2(t, h, get("/v1/whole"))
	for name, id := range map[string]uint32{"/v1/cut": cut, "/v1/left": left, "/v1/whole": whole} {
		s.of(name) <- "one"
		if err := h.Received(id, 3); err != nil { // each event is here before the next is sent
			t.Fatal(err)
		}
	}
	s.of("/v1/cut") <- "cut"
	if code, err := h.Reset(cut); err != nil || code != http2.ErrCodeInternal {
		t.Errorf("the cut stream: %v, %v", code, err)
	}
	s.of("/v1/left") <- "watch"
	if err := h.WriteRSTStream(left, http2.ErrCodeCancel); err != nil {
		t.Fatal(err)
	}
	<-s.of("/v1/left gone") // while nothing else happens on the connection
	s.of("/v1/whole") <- "two"
	s.of("/v1/whole") <- "end"
	if res := response2(t, h, whole); string(res.Body) != "onetwo" || res.Cut {
		t.Errorf("the other stream: %q, cut %v", res.Body, res.Cut)
	}
	if res, err := h.Response(cut); err != nil || string(res.Body) != "one" || !res.Cut || res.Status() != 200 {
		t.Errorf("the cut stream: %+v, %v", res, err)
	}
	states := map[string]string{}
	for _, inf := range p.rows(t, 3).Inferences {
		states[inf.Path] = inf.TerminalState
	}
	want := map[string]string{"/v1/cut": record.StateUpstreamTruncated, "/v1/left": record.StateClientCancelled, "/v1/whole": record.StateComplete}
	for path, state := range want {
		if states[path] != state {
			t.Errorf("%s is recorded as %s, want %s", path, states[path], state)
		}
	}
}

// TestDrainAfterReset: with on_client_abort: drain the upstream can finish a
// call whose stream was reset.
func TestDrainAfterReset(t *testing.T) {
	t.Parallel()
	s := newSteps(t)
	c := config(s.up.URL(), func(c *proxy.Config, _ *proxy.Upstream) { c.OnClientAbort = proxy.AbortDrain })
	p := startRecorded(t, c)
	h := dial2(t, p.addr)
	id := send2(t, h, get("/v1/x"))
	s.of("/v1/x") <- "one"
	if err := h.Received(id, 3); err != nil {
		t.Fatal(err)
	}
	if err := h.WriteRSTStream(id, http2.ErrCodeCancel); err != nil {
		t.Fatal(err)
	}
	h.Close()
	for range 50 {
		s.of("/v1/x") <- "more"
	}
	s.of("/v1/x") <- "end"
	if got := p.rows(t, 1).Inferences[0]; got.ResponseBytes != 203 {
		t.Errorf("%d bytes were recorded (%s), want 203", got.ResponseBytes, got.TerminalState)
	}
}

// TestExpectOver2: the client's wish to be told to continue reaches the
// upstream, and is answered once.
func TestExpectOver2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		status       int
		interim      int
	}{
		{"continued", "HTTP/1.1 100 Continue\r\n\r\n", 200, 1},
		{"refused", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno", 401, 0},
		{"unknown to the upstream", "", 200, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
				r, err := u.ReadHead()
				if err != nil || u.Send(c.answer) != nil {
					return
				}
				if c.status != 200 {
					u.Note(r)
					u.AwaitClose()
				} else if u.ReadBody(&r) == nil {
					u.Note(r)
					_ = u.Send(plainAnswer)
				}
			})
			p := start(t, up.URL(), nil)
			if c.answer != "" {
				p.server.SetContinueGrace(time.Hour) // it has all the time it wants
			}
			h := dial2(t, p.addr)
			id := h.NewStream()
			head := append(head2("POST", "/v1/x"), upstreamtest.Field{Name: "expect", Value: "100-continue"}, upstreamtest.Field{Name: "content-length", Value: "4"})
			if err := h.Headers(id, false, head...); err != nil {
				t.Fatal(err)
			}
			if c.status == 200 {
				if err := h.Interim(id, 1); err != nil {
					t.Fatal(err)
				}
				if err := h.Body(id, true, []byte("body")); err != nil {
					t.Fatal(err)
				}
			}
			res := response2(t, h, id)
			if res.Status() != c.status || len(res.Interim) != c.interim || res.Cut {
				t.Errorf("got %+v", res)
			}
			got := up.Requests()
			if len(got) != 1 || len(got[0].Values("Expect")) != 1 || c.status == 200 && string(got[0].Body) != "body" {
				t.Errorf("upstream got %+v", got)
			}
		})
	}
}

// TestEarlyAnswerOver2: an answer that comes before the request was read reaches
// the client whole, and the rest of the body is no trouble for the next call.
func TestEarlyAnswerOver2(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		r, err := u.ReadHead()
		if err != nil {
			return
		}
		_ = u.Send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
		_ = u.ReadBody(&r) // as far as it comes
	})
	p := start(t, up.URL(), nil)
	h := dial2(t, p.addr)
	for range 3 {
		id := h.NewStream()
		if err := h.Headers(id, false, head2("POST", "/v1/x")...); err != nil {
			t.Fatal(err)
		}
		if err := h.Body(id, false, []byte(strings.Repeat("x", 10_000))); err != nil {
			t.Fatal(err)
		}
		if res := response2(t, h, id); res.Status() != 401 || string(res.Body) != "no" || res.Cut {
			t.Errorf("got %+v", res)
		}
		if code, err := h.Reset(id); err != nil || code != http2.ErrCodeNo {
			t.Errorf("the rest of the body: %v, %v", code, err)
		}
	}
}

// TestShutdownOver2: a stop is announced, streams finish, and the connection is
// closed.
func TestShutdownOver2(t *testing.T) {
	t.Parallel()
	s := newSteps(t)
	p := start(t, s.up.URL(), func(c *proxy.Config, _ *proxy.Upstream) { c.ShutdownTimeout = time.Minute })
	h := dial2(t, p.addr)
	id := send2(t, h, get("/v1/x"))
	s.of("/v1/x") <- "one"
	if err := h.Received(id, 3); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() { p.stop(); close(stopped) }()
	for !h.GoneAway {
		if err := h.Pump(); err != nil {
			t.Fatal(err)
		}
	}
	s.of("/v1/x") <- "two"
	s.of("/v1/x") <- "end"
	if res := response2(t, h, id); string(res.Body) != "onetwo" || res.Cut {
		t.Errorf("got %q, cut %v", res.Body, res.Cut)
	}
	for h.Pump() == nil {
	}
	<-stopped
	if logs := p.logs.String(); strings.Contains(logs, "calls were cut") {
		t.Errorf("no call was cut: %s", logs)
	}
}

// TestShutdownCutsNothing: connections without a call do not count as calls
// that were cut.
func TestShutdownCutsNothing(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.Answer(plainAnswer))
	p := start(t, up.URL(), func(c *proxy.Config, _ *proxy.Upstream) { c.ShutdownTimeout = time.Second })
	h := dial2(t, p.addr)
	if res := response2(t, h, send2(t, h, get("/v1/x"))); res.Status() != 200 {
		t.Fatalf("got %d", res.Status())
	}
	eventually(t, "the call has ended", func() bool { return p.counted("docket_proxy_calls_total", "complete") })
	fresh := dial(t, p.addr) // sends nothing, which holds a stop up
	p.stop()
	if logs := p.logs.String(); strings.Contains(logs, "calls were cut") {
		t.Errorf("no call was cut: %s", logs)
	}
	fresh.Close()
}
