package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"docket/internal/record"
)

var (
	errSwitched  = errors.New("the connection has left HTTP") // for ReverseProxy, which is not to go on
	errNotAsked  = errors.New("the upstream switched to a protocol that was not asked for")
	errNoHijack  = errors.New("the connection of the client cannot leave HTTP")
	errHalfStill = errors.New("one end of an upgraded connection closed, and the other was idle for too long")
)

// tunnel is a connection that has left HTTP, such as a WebSocket: bytes pass
// both ways, unchanged, until both ends have closed.
type tunnel struct {
	client, upstream io.ReadWriteCloser
	buffers          *buffers
	limit            time.Duration // without progress, once one end has closed; 0: none

	sent, received uint64 // owned by their goroutines until they end

	mu     sync.Mutex // guards what follows
	halves int        // ends that have closed
	ended  bool
	fault  error // what ended it, where nobody closed before
	state  string
	timer  *time.Timer
}

// refuseOwnUpgrade takes out an upgrade to HTTP/2. Its requests would pass
// unseen, and its settings are in a field that is not passed on (RFC 9113, 3.1,
// has given it up).
func refuseOwnUpgrade(h http.Header) {
	for token := range strings.SplitSeq(h.Get("Upgrade"), ",") {
		if strings.EqualFold(strings.TrimSpace(token), "h2c") {
			delete(h, "Upgrade")
			delete(h, "Connection")
			return
		}
	}
}

// switchProtocols passes on an answer of 101 and what follows it. It returns
// errSwitched when that has ended.
func (x *exchange) switchProtocols(res *http.Response) error {
	upstream, ok := res.Body.(io.ReadWriteCloser)
	asked := res.Request.Header.Get("Upgrade")
	if !ok || asked == "" || !strings.EqualFold(asked, res.Header.Get("Upgrade")) {
		return errNotAsked
	}
	client, buffered, err := x.writer.control.Hijack()
	if err != nil {
		return errNoHijack
	}
	defer client.Close()
	x.server.metrics.answer(x.route.name, res.StatusCode)
	x.watch.stop() // what follows has no phases
	x.writer.switched()
	x.record.Response(res)
	x.head(res.Header)
	early, err := buffered.Reader.Peek(buffered.Reader.Buffered()) // what the client sent ahead
	if err == nil {
		_, err = fmt.Fprintf(buffered, "HTTP/1.1 %d %s\r\n", res.StatusCode, http.StatusText(res.StatusCode))
	}
	err = errors.Join(err, res.Header.Write(buffered))
	_, _ = buffered.WriteString("\r\n") // an error stays until Flush
	if err = errors.Join(err, buffered.Flush()); err != nil {
		x.state, x.why = x.stateOf(errClient, ""), errClient
		return errSwitched
	}
	t := &tunnel{client: client, upstream: upstream, buffers: x.server.buffers, limit: x.route.config.Timeouts.Idle}
	t.run(early, x.server.kill)
	x.record.Tunnelled(t.sent, t.received)
	x.state, x.why = t.state, t.fault
	return errSwitched
}

// run passes bytes until both ends have closed, or kill is closed.
func (t *tunnel) run(early []byte, kill <-chan struct{}) {
	over := make(chan struct{})
	var copies, killer sync.WaitGroup
	killer.Go(func() {
		select {
		case <-kill:
			t.fail(record.StateProxyDied, nil)
		case <-over:
		}
	})
	copies.Go(func() {
		t.sent = t.copy(t.upstream, io.MultiReader(strings.NewReader(string(early)), t.client), record.StateUpstreamTruncated, record.StateClientCancelled)
	})
	copies.Go(func() {
		t.received = t.copy(t.client, t.upstream, record.StateClientCancelled, record.StateUpstreamTruncated)
	})
	copies.Wait()
	close(over)
	killer.Wait()
	t.fail("", nil) // frees the timer
}

// copy passes one direction, and its end.
func (t *tunnel) copy(dst io.Writer, src io.Reader, dstFails, srcFails string) (n uint64) {
	buf := t.buffers.Get()
	defer t.buffers.Put(buf)
	for {
		m, err := src.Read(buf)
		if m > 0 {
			if _, err := dst.Write(buf[:m]); err != nil {
				t.fail(dstFails, err)
				return n
			}
			n += uint64(m)
			t.progress()
		}
		switch {
		case err == io.EOF:
			if !t.closeHalf() || closeWrite(dst) != nil {
				t.fail("", nil)
			}
			return n
		case err != nil:
			t.fail(srcFails, err)
			return n
		}
	}
}

// closeHalf notes that one end has closed, and says whether the other may go on.
func (t *tunnel) closeHalf() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.halves++
	if t.halves == 1 && t.limit > 0 && !t.ended {
		t.timer = time.AfterFunc(t.limit, func() { t.give(record.StateTimeoutIdle, errHalfStill) })
	}
	return !t.ended
}

func (t *tunnel) progress() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil && !t.ended {
		t.timer.Reset(t.limit)
	}
}

// fail closes both ends. A fault counts only while both were open: who has
// closed has had enough.
func (t *tunnel) fail(state string, why error) {
	t.mu.Lock()
	open := t.halves == 0 || state == record.StateProxyDied
	t.mu.Unlock()
	switch {
	case !open:
		state, why = "", nil
	case state == record.StateClientCancelled:
		why = errClient
	}
	t.give(state, why)
}

func (t *tunnel) give(state string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.ended, t.state, t.fault = true, state, why
	if t.timer != nil {
		t.timer.Stop()
	}
	_ = t.client.Close()   // ends what reads and writes there
	_ = t.upstream.Close() // likewise
}
