package capture

import (
	"io"
	"net/http"
	"time"

	"docket/internal/record"
	"docket/internal/wire"
)

// responseTee is the answer as far as it has passed. The exchange's lock guards
// it.
type responseTee struct {
	sent     bool // its head came from the upstream
	status   int
	headers  []string
	length   int64 // announced, -1 if unknown
	scan     *wire.EndScanner
	buf      buffer
	chunks   uint32
	first    time.Duration // from the start of the call to the first byte
	endEvent bool
	ended    bool // the transport ended it as announced
	doneLen  int  // bytes of the copy that the done record holds
	err      error
}

func (t *responseTee) init(m *memory, limit, maxValue int) {
	t.buf = buffer{mem: m, limit: limit, maxValue: maxValue}
	t.length = -1
}

func (t *responseTee) info(level string) bodyInfo {
	return bodyInfo{
		Present: level == record.CaptureFull, Whole: t.ended, Size: t.buf.size, CRC: t.buf.crc,
		Cut: t.buf.cut != "" && level == record.CaptureFull,
	}
}

// scannerFor returns what looks for the provider's end event. A compressed
// answer cannot be looked into: it ends with its body.
func scannerFor(h http.Header) *wire.EndScanner {
	if enc := h.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil
	}
	return wire.NewEndScanner(h.Get("Content-Type"))
}

// responseBody copies the answer while the proxy reads it.
type responseBody struct {
	x     *Exchange
	inner io.ReadCloser
}

// Read returns the bytes that complete an answer only after its record is
// appended.
func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.inner.Read(p)
	if n > 0 || err != nil {
		b.x.observe(p[:n], err)
	}
	return n, err
}

func (b *responseBody) Close() error { return b.inner.Close() }

// observe takes what one read of the answer brought.
func (x *Exchange) observe(p []byte, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := &x.res
	if x.freed {
		return
	}
	if len(p) > 0 {
		if t.chunks == 0 {
			t.first = max(x.r.opts.Clock().Sub(x.head.Time), 0)
		}
		t.buf.expect(t.length)
		t.chunks++
		t.buf.write(p)
	}
	event := t.scan != nil && len(p) > 0 && !t.endEvent && t.scan.Write(p)
	t.endEvent = t.endEvent || event
	switch {
	case err == io.EOF || t.length >= 0 && t.buf.size >= uint64(t.length):
		t.ended = true
		x.endLocked(record.StateComplete, "")
	case err != nil:
		t.err = err
	case event:
		x.doneLocked()
	}
}

// doneLocked appends the answer up to the provider's end event. If that does
// not succeed, the end record holds it.
func (x *Exchange) doneLocked() {
	if x.ended || x.lost {
		return
	}
	h := x.endHead(record.StateComplete)
	body := x.res.buf.bytes()
	if failure, _ := x.r.append(KindDone, &h, x.secrets, x.head.Project, body); failure == "" {
		x.res.doneLen = len(body)
		x.res.buf.keep()
	}
}

// answerLocked is what the end record holds of the answer. Compression would
// hide a secret that the upstream repeats: then the copy is kept without it.
func (x *Exchange) answerLocked() []byte {
	answer := x.res.buf.bytes()[x.res.doneLen:]
	at := 0
	for at < len(x.res.headers) && x.res.headers[at] != "content-encoding" {
		at += 2
	}
	if at == len(x.res.headers) || len(answer) == 0 {
		return answer
	}
	encoding := x.res.headers[at+1]
	if r := wire.Plain(encoding, answer); r == nil || !x.secrets.Within(r) {
		return answer
	}
	plain, _ := io.ReadAll(wire.Plain(encoding, answer)) // as much as can be decoded
	x.res.headers[at+1] = "identity"
	return plain
}
