package capture

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"docket/internal/record"
)

// prefetchLimit is the largest request body that is read before the call goes
// upstream.
const prefetchLimit = 64 << 10

// requestTee is the request body as far as it has passed. Its reader is another
// goroutine than the handler's.
type requestTee struct {
	inner  io.ReadCloser
	length int64 // announced, -1 if unknown

	mu    sync.Mutex // guards what follows; taken after Exchange.mu
	whole bool       // the client has sent all of it
	saved bool       // a record holds it, or none shall
	gone  bool       // the exchange has ended
	buf   buffer

	// A prefetched body is read by a goroutine of its own into buf, from where
	// the reader takes it.
	fetch    bool          // it is to be prefetched
	fetched  chan struct{} // closed when that has ended; nil before it starts
	fetching bool
	err      error // how it ended
	off      int   // what the reader has taken
	more     sync.Cond
	closed   bool
}

func (t *requestTee) init(m *memory, limit, maxValue int) {
	t.buf = buffer{mem: m, limit: limit, maxValue: maxValue}
	t.more.L = &t.mu
	t.whole = true // until there is a body
}

// RequestBody returns a body to send upstream in place of rc: the same bytes,
// copied aside as they pass. It returns rc itself when there is nothing to copy
// (capture off, no body). Closing it closes rc.
func (x *Exchange) RequestBody(rc io.ReadCloser) io.ReadCloser {
	if x.off || rc == nil || rc == http.NoBody || x.length == 0 {
		return rc
	}
	t := &x.req
	t.inner, t.length, t.whole = rc, x.length, false
	t.fetch = x.length > 0 && x.length <= prefetchLimit && x.length <= int64(t.buf.limit) &&
		!x.expects && t.buf.form == nil && t.buf.reserve(int(x.length))
	return &requestBody{x: x, t: t}
}

// prefetch reads the body, and waits for it at most maxWait.
func (t *requestTee) prefetch(ctx context.Context, maxWait time.Duration) {
	if !t.fetch || t.fetched != nil {
		return
	}
	t.fetched, t.fetching = make(chan struct{}), true
	go t.fill()
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-t.fetched:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// fill reads the announced number of bytes. It ends with the connection at the
// latest. Nobody else touches the free part of the block while it runs.
func (t *requestTee) fill() {
	defer close(t.fetched)
	t.mu.Lock()
	defer t.mu.Unlock()
	want := int(t.length)
	for t.err == nil && len(t.buf.bytes()) < want {
		have := len(t.buf.bytes())
		free := (*t.buf.block)[have:want]
		t.mu.Unlock()
		n, err := t.inner.Read(free)
		t.mu.Lock()
		t.buf.account(free[:n])
		*t.buf.block = (*t.buf.block)[:have+n]
		t.err = err
		t.more.Broadcast()
	}
	t.whole = len(t.buf.bytes()) == want
	t.fetching = false
	if t.gone {
		t.buf.release()
	}
}

// take returns the body for the begin record, as far as that can hold it.
func (t *requestTee) take(level string) (bodyInfo, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if level != record.CaptureFull {
		t.saved = true
		return bodyInfo{}, nil
	}
	if !t.whole {
		return bodyInfo{}, nil
	}
	t.saved = true
	return t.infoLocked(level), t.buf.bytes()
}

// rest returns what is known of the body at the end, and the bytes that no
// record holds yet.
func (t *requestTee) rest(level string) (bodyInfo, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info := t.infoLocked(level)
	if t.saved {
		return info, nil
	}
	t.saved = true
	t.buf.freeze() // the body may go on while the caller reads the copy
	return info, t.buf.bytes()
}

func (t *requestTee) infoLocked(level string) bodyInfo {
	t.buf.finish()
	full := level == record.CaptureFull
	return bodyInfo{
		Present: full, Whole: t.whole, Size: t.buf.size, CRC: t.buf.crc,
		Cut: full && (t.buf.cut != "" || !t.whole),
	}
}

func (t *requestTee) cutReason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.cut
}

// stop ends the copying of a body that no record will hold.
func (t *requestTee) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.saved = true
	if !t.fetch {
		t.buf.stop()
	}
}

// close gives the memory back; fill does it when it still runs.
func (t *requestTee) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	if !t.fetching {
		t.buf.release()
	}
	t.more.Broadcast()
}

// requestBody is what the transport reads.
type requestBody struct {
	x *Exchange
	t *requestTee
}

// Read returns the bytes that complete the request only after a record holds
// the body.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.t.fetched != nil {
		return b.readFetched(p)
	}
	n, err := b.t.inner.Read(p)
	t := b.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return n, err
	}
	t.buf.expect(t.length)
	t.buf.write(p[:n])
	if err == io.EOF || t.length > 0 && t.buf.size == uint64(t.length) {
		t.whole = true
		b.saveLocked()
	}
	return n, err
}

// readFetched takes from what fill has read, and goes on with the client's body
// behind it.
func (b *requestBody) readFetched(p []byte) (int, error) {
	t := b.t
	t.mu.Lock()
	for t.fetching && !t.closed && !t.gone && t.off == len(t.buf.bytes()) {
		t.more.Wait()
	}
	if t.closed || t.gone {
		t.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	}
	if n := copy(p, t.buf.bytes()[t.off:]); n > 0 || len(p) == 0 {
		t.off += n
		if t.off == int(t.length) {
			b.saveLocked()
		}
		t.mu.Unlock()
		return n, nil
	}
	err := t.err
	t.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return t.inner.Read(p)
}

// saveLocked appends the body unless a record holds it already.
func (b *requestBody) saveLocked() {
	t, x := b.t, b.x
	if t.saved {
		return
	}
	t.saved = true
	h := requestHead{ID: x.head.ID, Request: t.infoLocked(x.head.Level)}
	if failure, detail := x.r.append(KindRequest, &h, x.secrets, x.head.Project, t.buf.bytes()); failure != "" {
		t.buf.cut = failure
		x.r.gap(x.head.Project, failure, t.buf.size, detail)
	}
}

func (b *requestBody) Close() error {
	t := b.t
	t.mu.Lock()
	t.closed = true
	t.more.Broadcast()
	t.mu.Unlock()
	return t.inner.Close()
}
