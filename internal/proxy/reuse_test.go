package proxy_test

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

// streams is how many streams the early answer test sends: with
// DOCKET_TEST_TORTURE set, ten times as many.
func streams() int {
	if os.Getenv("DOCKET_TEST_TORTURE") != "" {
		return 10_000
	}
	return 1_000
}

// earlyStream answers with a stream as soon as it has the head, and reads the
// body beside it.
func earlyStream(stream string) func(*upstreamtest.Conn) {
	return func(u *upstreamtest.Conn) {
		for {
			r, err := u.ReadHead()
			if err != nil {
				return
			}
			var sending sync.WaitGroup
			sending.Go(func() { err = u.Send(stream) })
			bodyErr := u.ReadBody(&r)
			sending.Wait()
			if err != nil || bodyErr != nil {
				return
			}
		}
	}
}

// TestStreamsThatAnswerBeforeTheBodyIsRead: no stream is cut, no byte differs,
// and connections are used again (golang/go#40747).
func TestStreamsThatAnswerBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	for i := range 40 {
		fmt.Fprintf(&body, "data: {\"n\":%d,\"text\":%q}\n\n", i, strings.Repeat("token ", i))
	}
	body.WriteString("data: [DONE]\n\n")
	want := crc32.ChecksumIEEE([]byte(body.String()))
	up := upstreamtest.Start(t, earlyStream(answer("200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked", chunked(body.String()))))
	p := start(t, up.URL(), nil)

	request := post(strings.Repeat("x", 20_000))
	const clients = 16
	var left atomic.Int64
	left.Store(int64(streams()))
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			c, err := net.Dial("tcp", p.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			r := bufio.NewReader(c)
			for left.Add(-1) >= 0 {
				_ = c.SetDeadline(time.Now().Add(patience)) // a TCP connection has deadlines
				if _, err := io.WriteString(c, request); err != nil {
					t.Errorf("send: %v", err)
					return
				}
				res, err := upstreamtest.ReadResponse(r, "POST")
				if err != nil || res.Cut || res.Status() != 200 || crc32.ChecksumIEEE(res.Body) != want {
					t.Errorf("status %d, %d of %d bytes, cut %v, %v", res.Status(), len(res.Body), body.Len(), res.Cut, err)
					return
				}
			}
		})
	}
	wg.Wait()
	// http.Transport gives one up when its writer is slow to say that it is done,
	// which is up to the scheduler. Without reuse it is one for each stream.
	if n := up.Accepted(); n > streams()/2 {
		t.Errorf("%d connections to the upstream for %d streams", n, streams())
	}
}

// TestEarlyAnswerAndTheRestOfTheBody: after an answer that came before the body
// was read, the rest of the body is never taken for a request. Either the
// connection can be used again, or it is closed.
func TestEarlyAnswerAndTheRestOfTheBody(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 5_000, 200_000, 2_000_000} {
		for _, late := range []bool{false, true} {
			for _, framing := range []string{"length", "chunked"} {
				t.Run(fmt.Sprintf("%d late=%v %s", size, late, framing), func(t *testing.T) {
					t.Parallel()
					up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
						if _, err := u.ReadHead(); err == nil {
							_ = u.Send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
							u.AwaitClose()
						}
					})
					p := start(t, up.URL(), nil)
					restOfTheBody(t, p, size, late, framing)
					for _, r := range up.Requests() {
						if strings.Contains(r.Target(), "smuggled") {
							t.Errorf("the body became a request: %s", r.First)
						}
					}
				})
			}
		}
	}
}

func restOfTheBody(t *testing.T, p *proxied, size int, late bool, framing string) {
	body := strings.Repeat("GET /v1/smuggled HTTP/1.1\r\nHost: proxy.test\r\n\r\n", size/40+1)[:size]
	head := line("POST", "/v1/x", "Content-Length: "+itoa(size))
	if framing == "chunked" {
		head, body = line("POST", "/v1/x", "Transfer-Encoding: chunked"), chunked(body)
	}
	c := dial(t, p.addr)
	c.send(t, head)
	rest := make(chan struct{})
	send := func() {
		defer close(rest)
		_, _ = io.WriteString(c, body) // the proxy may close before its end
	}
	if !late {
		go send()
	}
	res := c.answer(t, "POST")
	if res.Status() != 401 || string(res.Body) != "no" || res.Cut {
		t.Errorf("got %d %q, cut %v", res.Status(), res.Body, res.Cut)
	}
	if late {
		go send()
	}
	<-rest
	_, _ = io.WriteString(c, line("GET", "/livez")) // may be closed
	next, err := upstreamtest.ReadResponse(c.r, "GET")
	if err == nil && (next.Status() != 200 || string(next.Body) != "ok\n") {
		t.Errorf("the rest of the body was answered: %d %q", next.Status(), next.Body)
	}
}

// TestConnectionClosedWhileIdle: an upstream that closes idle connections, with
// or without a word, is never the reason of a failed call, be it that the
// transport has heard of it or not yet.
func TestConnectionClosedWhileIdle(t *testing.T) {
	t.Parallel()
	for _, farewell := range []string{"", "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"} {
		for _, request := range []string{post("{}"), post(strings.Repeat("x", 100_000)), line("GET", "/v1/models"), line("POST", "/v1/x", "Content-Length: 0")} {
			for _, heard := range []bool{true, false} {
				t.Run(fmt.Sprintf("%.12q %.30q heard=%v", farewell, request, heard), func(t *testing.T) {
					t.Parallel()
					closedWhileIdle(t, farewell, request, heard)
				})
			}
		}
	}
}

func closedWhileIdle(t *testing.T, farewell, request string, heard bool) {
	answered, closed := make(chan struct{}), make(chan string)
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		if _, err := u.ReadRequest(); err != nil || u.Send(plainAnswer) != nil {
			return
		}
		<-answered
		_ = u.Send(farewell)
		if heard {
			_ = u.Conn.(*net.TCPConn).CloseWrite()
			u.AwaitClose()
		}
		_ = u.Close()
		closed <- u.RemoteAddr().String()
	})
	p := start(t, up.URL(), nil)
	ears := proxy.NewEars(p.server)
	defer ears.Close()
	c := dial(t, p.addr)
	for range 20 {
		c.send(t, request)
		res := c.answer(t, request[:strings.IndexByte(request, ' ')])
		if res.Status() != 200 {
			t.Errorf("got %d %s\n%s", res.Status(), res.Body, p.logs)
			return
		}
		ears.Hold(!heard)
		answered <- struct{}{}
		addr := <-closed
		if !heard {
			eventually(t, "the end arrives", func() bool { return ears.Ended(addr) })
			ears.Hold(false)
		}
	}
}

// TestNoReplays: a request of which something was written is not sent again,
// whatever its method and fields say, over a connection that was used before.
func TestNoReplays(t *testing.T) {
	t.Parallel()
	for _, request := range []string{
		line("GET", "/v1/models"), line("HEAD", "/v1/models"), line("OPTIONS", "/v1/models"), line("TRACE", "/v1/models"),
		line("POST", "/v1/x", "Idempotency-Key: k", "Content-Length: 0"), line("DELETE", "/v1/x", "X-Idempotency-Key: k"),
		post("{}", "Idempotency-Key: k"), line("QUERY", "/v1/x"),
	} {
		t.Run(request[:20], func(t *testing.T) {
			t.Parallel()
			// http.Transport gives a connection up when its writer is slow to
			// say that it is done. Then the next one is tried.
			for again := true; again; {
				again = !notReplayed(t, request)
			}
		})
	}
}

// notReplayed says whether the request went over a connection that was used
// before.
func notReplayed(t *testing.T, request string) (reused bool) {
	used := make(chan bool, 10) // room for replays, which there must not be
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		r, err := u.ReadRequest()
		first := err == nil && r.Target() == "/v1/first"
		if first && u.Send(plainAnswer) == nil {
			_, err = u.ReadRequest()
		}
		if err == nil {
			used <- first // and it is never answered
		}
	})
	p := start(t, up.URL(), nil)
	c := dial(t, p.addr)
	c.send(t, line("GET", "/v1/first"))
	if res := c.answer(t, "GET"); res.Status() != 200 {
		t.Fatalf("got %d", res.Status())
	}
	c.send(t, request)
	if res := c.answer(t, request[:strings.IndexByte(request, ' ')]); res.Status() != 502 {
		t.Errorf("got %d, want 502", res.Status())
	}
	if n := len(up.Requests()); n != 2 {
		t.Errorf("the upstream got %d requests, want 2", n)
	}
	return <-used
}

// TestPipelinedAndReused: many calls over one connection, some of them sent
// before the answer of the last.
func TestPipelinedAndReused(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.Answer(plainAnswer))
	p := start(t, up.URL(), nil)
	c := dial(t, p.addr)
	for range 20 {
		c.send(t, post("{}")+line("GET", "/v1/models")+post("", "X-A: b"))
		for _, m := range []string{"POST", "GET", "POST"} {
			if res := c.answer(t, m); res.Status() != 200 || string(res.Body) != "{}" {
				t.Fatalf("got %+v", res)
			}
		}
	}
	if n := len(up.Requests()); n != 60 {
		t.Errorf("the upstream got %d requests", n)
	}
	if n := up.Accepted(); n > 30 { // as above
		t.Errorf("%d connections to the upstream for 60 calls", n)
	}
}
