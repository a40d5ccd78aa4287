package proxy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	smallBody = 64 << 10 // recording reads such bodies before the call goes upstream

	// continueGrace is how long an upstream may take to say 100 Continue, or to
	// answer, before a client that waits for it is told to go on. An upstream
	// that knows nothing of Expect never says so.
	continueGrace = 300 * time.Millisecond

	// What is left of a request body when its answer is complete is read, so
	// that the connection can be used again, up to these limits.
	leftoverBytes = 256 << 10
	leftoverWait  = time.Second
)

var (
	errBodyClosed   = errors.New("request body read after the exchange ended")
	errBodyConsumed = errors.New("request body was read before")
)

// requestBody is the request body on its way to the transport, which reads it
// in a goroutine of its own and may do so after the answer came.
type requestBody struct {
	call    *http.Request // its context ends what Read waits for
	in      *http.Request // as net/http made it: its Trailer is filled at the end of the body
	src     io.ReadCloser // in.Body, or a copying reader around it
	trailer http.Header   // of the outgoing request, nil when it can have none
	watch   *watch
	stream  bool // of HTTP/2: what is left of it cannot be taken for another request

	// With Expect: 100-continue, reading makes net/http say 100 to the client.
	// So the first read waits for one of these. Both are nil without it.
	continued, answered chan struct{}
	grace               time.Duration // how long it waits for them
	told                atomic.Bool   // net/http says 100, the upstream need not any more

	reading atomic.Bool
	touched atomic.Bool
	closed  atomic.Bool
	broken  atomic.Bool // reading from the client failed

	mu    sync.Mutex // held while src is read; guards what follows
	n     int64
	ended bool
	kept  bool   // copy has all that was read
	copy  []byte // so that a small body can be sent again to an upstream that did not process it
}

// replayedBody is a body from its beginning again.
type replayedBody struct {
	*requestBody
	off int
}

// Read takes from the copy, then from the client.
func (b *replayedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.off < len(b.copy) {
		defer b.mu.Unlock()
		n := copy(p, b.copy[b.off:])
		b.off += n
		return n, nil
	}
	b.mu.Unlock()
	n, err := b.requestBody.Read(p)
	b.off += n
	return n, err
}

// keep lets a small body be sent again. Nothing of it has been read.
func (b *requestBody) keep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 && b.in.ContentLength <= smallBody {
		b.kept = true
	}
}

// Read gives the transport the next bytes, and the trailers with the last one.
func (b *requestBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.continued != nil && !b.touched.Load() && !b.mayContinue() || b.closed.Load() {
		return 0, errBodyClosed
	}
	b.touched.Store(true)
	if b.ended {
		return 0, io.EOF
	}
	b.watch.progress() // by the upstream, which has taken what came before
	b.reading.Store(true)
	n, err := b.src.Read(p)
	b.watch.progress()
	b.reading.Store(false)
	b.n += int64(n)
	if b.kept {
		b.keepLocked(p[:n])
	}
	switch {
	case err == io.EOF:
		b.ended = true
		b.copyTrailers()
	case err != nil && !b.closed.Load():
		b.broken.Store(true)
	}
	return n, err
}

// mayContinue waits until the upstream wants the body. When it answered without
// wanting it, the read lasts until the exchange is over: an error would make the
// transport drop the connection, and the answer with it.
func (b *requestBody) mayContinue() bool {
	grace := time.NewTimer(b.grace)
	defer grace.Stop()
	select {
	case <-b.continued:
		return true
	case <-grace.C:
		select {
		case <-b.answered: // both at once: the answer counts
		default:
			b.told.Store(true)
			return true
		}
	case <-b.answered:
	case <-b.call.Context().Done():
	}
	<-b.call.Context().Done()
	return false
}

func (b *requestBody) copyTrailers() {
	if b.trailer == nil {
		return
	}
	for name, values := range b.in.Trailer {
		switch name {
		case "Transfer-Encoding", "Trailer", "Content-Length", "Host":
			continue // would change how the message is read
		}
		if !strings.HasPrefix(name, docketPrefix) {
			b.trailer[name] = values
		}
	}
}

// Close does nothing: net/http closes the client's body, and a body that was
// closed before it was read can still be sent over another connection.
func (b *requestBody) Close() error { return nil }

func (b *requestBody) keepLocked(p []byte) {
	if len(b.copy)+len(p) > smallBody {
		b.copy, b.kept = nil, false
		return
	}
	b.copy = append(b.copy, p...)
}

// again is http.Request.GetBody: the same body, unless some of it is gone.
func (b *requestBody) again() (io.ReadCloser, error) {
	if !b.touched.Load() {
		return b, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept {
		return &replayedBody{requestBody: b}, nil
	}
	return nil, errBodyConsumed
}

// finish ends reading. The rest of the body must not be taken for the next
// request of the connection: it is read now, or the connection is closed after
// the answer. The context of the exchange must have ended.
func (b *requestBody) finish(w http.ResponseWriter, aborted bool) {
	b.closed.Store(true)
	control := http.NewResponseController(w)
	wait := leftoverWait
	if aborted || b.stream || b.continued != nil && !b.touched.Load() {
		wait = -time.Second // nothing is worth waiting for
	}
	// The transport may be inside a read. The deadline ends that, too.
	if err := control.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stream {
		return // net/http resets it
	}
	if b.ended || wait > 0 && !b.broken.Load() && b.discard() {
		_ = control.SetReadDeadline(time.Time{}) // worked just before
		return
	}
	closeAfterAnswer(w)
	_ = control.SetReadDeadline(time.Now().Add(-time.Second)) // net/http must not wait for the rest
}

// discard reads the rest of the body and says whether it got to its end.
func (b *requestBody) discard() bool {
	if left := b.in.ContentLength - b.n; left > leftoverBytes {
		return false
	}
	n, err := io.CopyN(io.Discard, b.in.Body, leftoverBytes+1)
	return err == io.EOF && n <= leftoverBytes
}

// closeAfterAnswer makes net/http close the connection when the handler has
// returned, even if the head of the answer is gone. http.MaxBytesReader does
// that when its limit is passed; there is no other way in.
func closeAfterAnswer(w http.ResponseWriter) {
	over := http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0)
	_, _ = over.Read(make([]byte, 1)) // fails by design
}
