package proxy_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

// TestShutdownLetsStreamsFinish: a stop waits for running streams, and takes no
// new connections.
func TestShutdownLetsStreamsFinish(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		if _, err := u.ReadRequest(); err != nil || u.Send(answer("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n")) != nil {
			return
		}
		<-goOn
		_ = u.Send("3\r\ndef\r\n0\r\n\r\n")
	})
	p := start(t, up.URL(), func(c *proxy.Config, _ *proxy.Upstream) { c.ShutdownTimeout = time.Minute })
	c := dial(t, p.addr)
	c.send(t, post("{}"))
	c.peekTo(t, "abc")
	stopped := make(chan struct{})
	go func() { p.stop(); close(stopped) }()
	eventually(t, "the listener is closed", func() bool { return !dials(p.addr) })
	close(goOn)
	if res := c.answer(t, "POST"); string(res.Body) != "abcdef" || res.Cut {
		t.Errorf("got %+v", res)
	}
	<-stopped
}

// TestShutdownCutsAtItsLimit: what is still running then is cut, as a cut.
func TestShutdownCutsAtItsLimit(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		if _, err := u.ReadRequest(); err == nil && u.Send(answer("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n")) == nil {
			u.AwaitClose()
		}
	})
	p := start(t, up.URL(), func(c *proxy.Config, _ *proxy.Upstream) { c.ShutdownTimeout = 50 * time.Millisecond })
	c := dial(t, p.addr)
	c.send(t, post("{}"))
	c.peekTo(t, "abc")
	p.stop()
	if res := c.answer(t, "POST"); string(res.Body) != "abc" || !res.Cut {
		t.Errorf("got %+v", res)
	}
	if s := p.logs.String(); !strings.Contains(s, "proxy_died") {
		t.Errorf("log: %s", s)
	}
}

// TestUpgrade: after 101 the connection belongs to the two ends.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		if _, err := u.ReadRequest(); err != nil || u.Send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n") != nil {
			return
		}
		_, _ = io.Copy(u, u) // until either end closes
	})
	p := start(t, up.URL(), func(_ *proxy.Config, u *proxy.Upstream) { u.Timeouts.Idle = time.Second })
	c := dial(t, p.addr)
	c.send(t, get("/v1/realtime", "Connection: Upgrade", "Upgrade: echo"))
	if res := c.answer(t, "GET"); res.Status() != 101 {
		t.Fatalf("got %d", res.Status())
	}
	time.Sleep(1500 * time.Millisecond) // longer than the idle limit, which has no part in this
	c.send(t, "ping")
	got := make([]byte, 4)
	if _, err := io.ReadFull(c.r, got); err != nil || string(got) != "ping" {
		t.Errorf("got %q, %v", got, err)
	}
	c.Close()
}

func dials(addr string) bool {
	c, err := dialRaw(addr)
	if err != nil {
		return false
	}
	c.Close()
	return true
}
