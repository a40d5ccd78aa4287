package proxy_test

import (
	"strings"
	"testing"
	"time"

	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

// TestCutsReachTheClient: what arrived before a cut is there, status included,
// and the message does not end.
func TestCutsReachTheClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, raw string
		reset     bool
		status    int
		body      string
	}{
		{"length not met", answer("200 OK\r\nContent-Length: 278", strings.Repeat("x", 150)), false, 200, strings.Repeat("x", 150)},
		{"length, nothing of the body", answer("201 Created\r\nX-A: b\r\nContent-Length: 278", ""), false, 201, ""},
		{"length, reset", answer("200 OK\r\nContent-Length: 278", "abc"), true, 200, "abc"},
		{"large, almost whole", answer("200 OK\r\nContent-Length: 100001", strings.Repeat("x", 100_000)), false, 200, strings.Repeat("x", 100_000)},
		{"chunked, between chunks", answer("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n"), false, 200, "abc"},
		{"chunked, within a chunk", answer("200 OK\r\nTransfer-Encoding: chunked", "30\r\nabc"), false, 200, "abc"},
		{"chunked, no last line", answer("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n"), false, 200, "abc"},
		{"chunked, nothing", answer("503 Service Unavailable\r\nTransfer-Encoding: chunked", ""), false, 503, ""},
		{"chunked, broken framing", answer("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\nzz\r\n"), false, 200, "abc"},
		{"events, reset", answer("200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked", "9\r\ndata: 1\n\n\r\n"), true, 200, "data: 1\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := make(chan struct{})
			up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
				if _, err := u.ReadRequest(); err != nil || u.Send(c.raw) != nil {
					return
				}
				if c.reset { // a reset overtakes data that was not read
					<-got
					u.Reset()
				}
			})
			p := start(t, up.URL(), nil)
			conn := dial(t, p.addr)
			conn.send(t, post("{}"))
			if c.reset {
				if _, err := conn.r.Peek(len(c.body) + 35); err != nil {
					t.Error(err)
				}
				close(got)
			}
			res := conn.answer(t, "POST")
			if res.Status() != c.status || string(res.Body) != c.body || !res.Cut {
				t.Errorf("got status %d, %d bytes, cut %v; want %d, %d bytes, a cut", res.Status(), len(res.Body), res.Cut, c.status, len(c.body))
			}
			if n := len(up.Requests()); n != 1 {
				t.Errorf("the upstream got %d requests", n)
			}
			eventually(t, "the cut is logged", func() bool { return strings.Contains(p.logs.String(), "upstream_truncated") })
			if strings.Contains(p.logs.String(), "panic") {
				t.Errorf("log: %s", p.logs)
			}
		})
	}
}

// TestNoAnswer: the upstream closes without an answer, after it got the request.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"nothing": "", "half a status line": "HTTP/1.1 2", "half a head": "HTTP/1.1 200 OK\r\nX-Secret: fake-canary-77\r\nX", "not http": "fake-canary-77 hello\r\n\r\n",
		"status 000": answer("000 x\r\nContent-Length: 0", ""), "interim only": answer("103 Early Hints\r\nLink: </a>", ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(raw))
			p := start(t, up.URL(), nil)
			res := call(t, p.addr, post("{}", "Idempotency-Key: k"))
			if res.Status() != 502 || res.Cut {
				t.Errorf("got %+v, want a whole 502", res)
			}
			wantProblem(t, res, "upstream_unreachable")
			if n := len(up.Requests()); n != 1 {
				t.Errorf("the upstream got %d requests", n)
			}
			if strings.Contains(p.logs.String()+string(res.Body), "fake-canary") {
				t.Errorf("bytes of the upstream are in the log or the answer: %s\n%s", p.logs, res.Body)
			}
		})
	}
}

// TestEventsAreNotHeldBack: each event is relayed before the next is sent, also
// when the length is known, and a head before its body.
func TestEventsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"events":  "200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked",
		"chunked": "200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked",
		"to end":  "200 OK\r\nConnection: close",
		"length":  "200 OK\r\nContent-Type: text/plain\r\nContent-Length: 50",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := make(chan struct{})
			up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
				if _, err := u.ReadRequest(); err != nil || u.Send("HTTP/1.1 "+head+"\r\n\r\n") != nil {
					return
				}
				for range 5 {
					<-step
					part := "data: 1234"
					if strings.Contains(head, "chunked") {
						part = "a\r\n" + part + "\r\n"
					}
					if u.Send(part) != nil {
						return
					}
				}
				if strings.Contains(head, "chunked") {
					_ = u.Send("0\r\n\r\n")
				}
			})
			p := start(t, up.URL(), nil)
			c := dial(t, p.addr)
			c.send(t, post("{}"))
			for line := "x"; line != "\r\n"; { // the head is here before any of the body
				var err error
				if line, err = c.r.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			for range 5 { // the next event is sent when this one is here
				step <- struct{}{}
				for seen := ""; !strings.HasSuffix(seen, "data: 1234"); {
					b, err := c.r.ReadByte()
					if err != nil {
						t.Fatal(err)
					}
					seen += string(b)
				}
			}
		})
	}
}

// TestClientCancelReachesUpstream: and is not left to a limit, which are minutes.
func TestClientCancelReachesUpstream(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{false, true} {
		t.Run(map[bool]string{false: "before the answer", true: "in the stream"}[answered], func(t *testing.T) {
			t.Parallel()
			ready, gone := make(chan struct{}), make(chan struct{})
			up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
				if _, err := u.ReadRequest(); err != nil {
					return
				}
				if answered && u.Send(answer("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n")) != nil {
					return
				}
				close(ready)
				u.AwaitClose()
				close(gone)
			})
			p := start(t, up.URL(), nil)
			c := dial(t, p.addr)
			c.send(t, post("{}"))
			<-ready
			if answered {
				if _, err := c.r.ReadString('c'); err != nil {
					t.Fatal(err)
				}
			}
			c.Close()
			select {
			case <-gone:
			case <-time.After(patience):
				t.Fatal("the upstream has not heard of it")
			}
			eventually(t, "the call is logged", func() bool { return strings.Contains(p.logs.String(), "client_cancelled") })
		})
	}
}

// TestDrainAfterClientAbort: with on_client_abort: drain the upstream can finish.
func TestDrainAfterClientAbort(t *testing.T) {
	t.Parallel()
	goOn, finished := make(chan struct{}), make(chan error, 1)
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		if _, err := u.ReadRequest(); err != nil || u.Send(answer("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n")) != nil {
			return
		}
		<-goOn
		var err error
		for range 200 {
			if err = u.Send("400\r\n" + strings.Repeat("x", 0x400) + "\r\n"); err != nil {
				break
			}
		}
		if err == nil {
			err = u.Send("0\r\n\r\n")
		}
		finished <- err
		u.AwaitClose()
	})
	p := start(t, up.URL(), func(c *proxy.Config, _ *proxy.Upstream) { c.OnClientAbort = proxy.AbortDrain })
	c := dial(t, p.addr)
	c.send(t, post("{}"))
	if _, err := c.r.ReadString('c'); err != nil {
		t.Fatal(err)
	}
	c.Close()
	close(goOn)
	if err := <-finished; err != nil {
		t.Errorf("the upstream was cut: %v", err)
	}
	eventually(t, "the call ends", func() bool { return strings.Contains(p.logs.String(), "client_cancelled") })
}

func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*proxy.Config){
		"time":  func(c *proxy.Config) { c.AbortDrainTime = 20 * time.Millisecond },
		"bytes": func(c *proxy.Config) { c.AbortDrainBytes = 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{})
			up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
				defer close(gone)
				if _, err := u.ReadRequest(); err != nil || u.Send(answer("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n")) != nil {
					return
				}
				if name == "time" {
					u.AwaitClose()
					return
				}
				for u.Send("400\r\n"+strings.Repeat("x", 0x400)+"\r\n") == nil {
				}
			})
			p := start(t, up.URL(), func(c *proxy.Config, _ *proxy.Upstream) {
				c.OnClientAbort = proxy.AbortDrain
				change(c)
			})
			c := dial(t, p.addr)
			c.send(t, post("{}"))
			if _, err := c.r.ReadString('c'); err != nil {
				t.Fatal(err)
			}
			c.Close()
			select {
			case <-gone:
			case <-time.After(patience):
				t.Fatal("the upstream is still asked")
			}
		})
	}
}
