package proxy

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// trip is what is known of the attempts to send an exchange's request.
type trip struct {
	reused bool                 // the last connection was
	conn   *conn                // the last one tried that speaks HTTP/1.1
	start  int64                // what had been written to it before
	hold   atomic.Pointer[conn] // the last one that holds the head until the body is there

	// Of HTTP/2, where a connection is shared:
	stream  bool        // the last attempt had one
	stale   bool        // its connection was closed by the other side; nothing was sent
	sent    atomic.Bool // the head of the request was written
	resets  int64       // what route.resets was at the start
	abandon context.CancelFunc
}

// giveUp frees what the last attempt holds.
func (t *trip) giveUp() {
	if t.abandon != nil {
		t.abandon()
	}
}

// wrote says whether anything was written to the last connection.
func (t *trip) wrote() bool { return t.conn != nil && t.conn.written.Load() != t.start }

func (x *exchange) waitingForClient() bool { return x.body != nil && x.body.reading.Load() }

// RoundTrip sends the request, with our hooks in the trace that ReverseProxy
// made for it. A trace of our own would be merged with that one by reflection.
func (x *exchange) RoundTrip(out *http.Request) (*http.Response, error) {
	if t := httptrace.ContextClientTrace(out.Context()); t != nil {
		t.GotConn = x.gotConn
		if x.route.http2 {
			t.WroteHeaders = func() { x.trip.sent.Store(true) }
		}
		t.WroteRequest = func(httptrace.WroteRequestInfo) { x.watch.wrote() }
	}
	transport := x.route.transport
	if out.Header["Upgrade"] != nil {
		transport = x.route.upgrades
	}
	x.trip.resets = x.route.resets.Load()
	for try := 0; ; try++ {
		t := &x.trip
		t.conn, t.reused, t.stream, t.stale = nil, false, false, false
		x.watch.enter(phaseConnect)
		res, err := transport.RoundTrip(x.attempt(out))
		switch {
		case t.stale && x.call.Context().Err() == nil:
			x.pause(try)
			continue
		case t.stream, t.wrote(), !t.reused, x.call.Context().Err() != nil, x.body != nil && x.body.touched.Load():
			return res, err
		}
		// Nothing of the request left us: the connection was closed while it was
		// idle, or there was an answer in it to a request that nobody sent.
		if err == nil {
			_ = res.Body.Close() // nothing is lost by it
		}
	}
}

// attempt is the request for one attempt. Over HTTP/2 an attempt can be
// abandoned without the others.
func (x *exchange) attempt(out *http.Request) *http.Request {
	if !x.route.http2 {
		return out
	}
	x.trip.giveUp()
	ctx, cancel := context.WithCancel(out.Context())
	x.trip.abandon = cancel
	return out.WithContext(ctx)
}

// gotConn sees each connection that the transport tries. It tries again on its
// own when a reused connection broke: that is stopped if anything was written.
func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	c := connOf(info.Conn)
	if c == nil {
		x.watch.enter(phaseSending)
		return
	}
	if x.route.http2 && c.speaks2(info.Conn) {
		x.gotStream(c, info.Reused)
		return
	}
	t := &x.trip
	if t.wrote() {
		c.refused.Store(true)
		x.cancel(errReplay)
	}
	t.conn, t.start, t.reused = c, c.written.Load(), info.Reused
	c.take(x)
	c.check.Store(info.Reused)
	if x.bodyIsClose() {
		c.holdHead()
		t.hold.Store(c)
		x.watch.enter(phaseHold)
		return
	}
	x.watch.enter(phaseSending)
}

// gotStream is gotConn for HTTP/2. The transport tries again when the upstream
// did not process a request (REFUSED_STREAM, or GOAWAY with a lower stream),
// which is as good as if nothing had been written. But it also does so after
// PROTOCOL_ERROR, which says nothing of the kind.
func (x *exchange) gotStream(c *conn, reused bool) {
	t := &x.trip
	t.conn, t.reused, t.stream = nil, reused, true
	if t.sent.Load() && x.route.resets.Load() != t.resets {
		x.cancel(errReplay)
		return
	}
	if reused && c.raw != nil && hungUp(c.raw) {
		t.stale = true
		t.abandon()
		return
	}
	if x.body != nil {
		x.body.keep()
	}
	x.watch.enter(phaseSending)
}

// pause waits until the transport has seen the end of a connection, too.
func (x *exchange) pause(try int) {
	timer := time.NewTimer(time.Millisecond << min(try, 6))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.call.Context().Done():
	}
}

// bodyIsClose says whether the request's body is likely here already: recording
// reads small ones first.
func (x *exchange) bodyIsClose() bool {
	return x.body != nil && x.body.continued == nil && x.in.ContentLength > 0 && x.in.ContentLength <= smallBody
}

// releaseHead lets the head of the request go without its body.
func (x *exchange) releaseHead() {
	if c := x.trip.hold.Load(); c != nil {
		c.release()
	}
}
