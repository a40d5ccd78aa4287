package proxy_test

import (
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

func dials(addr string) bool {
	c, err := dialRaw(addr)
	if err != nil {
		return false
	}
	c.Close()
	return true
}
