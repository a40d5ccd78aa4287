package proxy_test

import (
	"testing"
	"time"

	"docket/internal/upstreamtest"
)

const expecting = "POST /v1/x HTTP/1.1\r\nHost: proxy.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"

func (c *client) interim(t *testing.T) string {
	t.Helper()
	first, err := c.r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return first
}

// TestExpectContinuePasses: the 100 is the upstream's, which has all the time it
// wants.
func TestExpectContinuePasses(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, func(c *upstreamtest.Conn) {
		r, err := c.ReadHead()
		if err != nil || c.Send("HTTP/1.1 100 Continue\r\n\r\n") != nil {
			return
		}
		if c.ReadBody(&r) == nil {
			c.Note(r)
			_ = c.Send(plainAnswer)
		}
	})
	p := start(t, up.URL(), nil)
	p.server.SetContinueGrace(time.Hour)
	c := dial(t, p.addr)
	c.send(t, expecting)
	if got := c.interim(t); got != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q", got)
	}
	c.send(t, "body")
	res := c.answer(t, "POST")
	if len(res.Interim) != 0 || res.Status() != 200 {
		t.Errorf("got %+v", res)
	}
	if got := up.Requests(); len(got) != 1 || string(got[0].Body) != "body" || len(got[0].Values("Expect")) != 1 {
		t.Errorf("upstream got %+v", got)
	}
}

// TestExpectEarlyAnswer: a client that is refused hears of nothing else.
func TestExpectEarlyAnswer(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, func(c *upstreamtest.Conn) {
		if _, err := c.ReadHead(); err == nil {
			_ = c.Send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
			c.AwaitClose()
		}
	})
	p := start(t, up.URL(), nil)
	p.server.SetContinueGrace(time.Hour)
	c := dial(t, p.addr)
	c.send(t, expecting)
	res := c.answer(t, "POST")
	if res.Status() != 401 || string(res.Body) != "no" || len(res.Interim) != 0 {
		t.Errorf("got %+v, want the 401 and no 100", res)
	}
	// The body was not sent, so the connection is of no use.
	if n, err := c.r.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the connection stays open: %d, %v", n, err)
	}
}

// TestExpectUnknownToUpstream: a client that insists on 100 is told to go on.
func TestExpectUnknownToUpstream(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
	p := start(t, up.URL(), nil)
	c := dial(t, p.addr)
	c.send(t, expecting)
	if got := c.interim(t); got != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q", got)
	}
	c.send(t, "body")
	if res := c.answer(t, "POST"); res.Status() != 200 {
		t.Errorf("got %+v", res)
	}
}
