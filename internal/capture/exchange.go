package capture

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"docket/internal/record"
	"docket/internal/redact"
)

// ErrNotRecorded says that a call could not be recorded and that the settings
// ask for such calls to be refused (when_full: fail_503).
var ErrNotRecorded = errors.New("the call cannot be recorded")

// Exchange is one call and its answer on their way through the proxy. The order
// of calls is
//
//	x := recorder.Begin(b)
//	defer func() { x.End(state) }()        // also when the handler panics
//	out.Body = x.RequestBody(in.Body)
//	if err := x.Start(ctx); err != nil { answer 503 }
//	res, err := transport.RoundTrip(out)
//	err != nil: x.Fail(state, status, err), then answer
//	x.Response(res)                        // res.Body is replaced
//	... copy res.Body to the client ...
//
// The request body may be read by another goroutine, as http.Transport does.
type Exchange struct {
	r       *Recorder
	off     bool // nothing is recorded
	head    beginHead
	secrets *redact.Secrets
	length  int64 // announced length of the request body, -1 if unknown
	expects bool  // the client waits for 100 Continue

	req requestTee

	mu    sync.Mutex // guards what follows
	begun bool
	lost  bool // the begin record is not in the spool: nothing else is appended
	ended bool
	freed bool
	res   responseTee
	notes []string // name, value, name, value ...
}

// ID is the inference id, "" when capture is off.
func (x *Exchange) ID() string {
	if x.off {
		return ""
	}
	return x.head.ID.String()
}

// Start appends the begin record. A body of at most 64 KiB with a known length
// and no Expect header is read first, for at most MaxWait. Start returns
// ErrNotRecorded, or nil in all other cases.
func (x *Exchange) Start(ctx context.Context) error {
	if !x.off {
		x.req.prefetch(ctx, x.r.opts.MaxWait)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.startLocked()
	}
	if x.lost && x.r.cfg.WhenFull == WhenFullFail503 {
		return ErrNotRecorded
	}
	return nil
}

func (x *Exchange) startLocked() {
	if x.begun {
		return
	}
	x.begun = true
	info, body := x.req.take(x.head.Level)
	x.head.Request = info
	failure, detail := x.r.append(KindBegin, &x.head, x.secrets, x.head.Project, body)
	if failure != "" {
		x.lost = true
		x.req.stop()
		x.res.buf.stop()
		x.r.gap(x.head.Project, failure, uint64(max(x.length, 0)), detail)
		return
	}
	x.r.metrics.begun.Inc()
}

// Prefetched returns the whole request body if Start has read it and the begin
// record holds it, nil else. It is valid until End, and is not to be changed.
func (x *Exchange) Prefetched() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.off || x.lost {
		return nil
	}
	x.req.mu.Lock()
	defer x.req.mu.Unlock()
	if x.req.fetched == nil || x.req.fetching || x.req.gone || !x.req.whole || !x.req.saved {
		return nil
	}
	return x.req.buf.bytes()
}

// Note adds an attribute to the record of the exchange. It must come before its
// end.
func (x *Exchange) Note(name, value string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.notes = append(x.notes, name, value)
}

// Response notes status and headers of the final answer (not of 1xx ones) and
// replaces res.Body by one that copies what is read, and that appends the done
// and end records before it returns the bytes that complete the answer. After
// 101 Switching Protocols the body is left alone.
//
// Call it before anything of the answer is written: an answer that has no body
// is recorded here.
func (x *Exchange) Response(res *http.Response) {
	if x.off || x.lost {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.res.status, x.res.sent = res.StatusCode, true
	x.res.headers = x.r.headers.append(nil, res.Header)
	if res.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	if x.emptyAnswer(res) {
		x.res.ended = true
		x.endLocked(record.StateComplete, "")
		return
	}
	x.res.length = res.ContentLength
	x.res.scan = scannerFor(res.Header)
	res.Body = &responseBody{x: x, inner: res.Body}
}

// emptyAnswer says whether the answer is complete with its head.
func (x *Exchange) emptyAnswer(res *http.Response) bool {
	return x.head.Method == http.MethodHead || res.ContentLength == 0 || res.Body == nil || res.Body == http.NoBody ||
		res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusNotModified
}

// Fail records that no answer came from the upstream: the terminal state
// (record.State*), the status that the client is given (0 if none) and the
// error, whose text is masked. Call it before that answer is written.
func (x *Exchange) Fail(state string, status int, err error) {
	if x.off {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.startLocked()
	if !x.res.sent {
		x.res.status = status
	}
	text := ""
	if err != nil {
		text = bounded(x.secrets.Error(err), maxErrorBytes)
	}
	x.endLocked(state, text)
}

// End records how the exchange ended unless that is recorded already, and frees
// its buffers. state is what the proxy knows (record.State*); "" lets Exchange
// tell from what passed: complete when the answer or the provider's end event
// was seen, upstream_truncated when reading the answer failed, else
// client_cancelled. After the provider's end event every state is complete.
// Calls after the first do nothing. The bodies must not be read after it.
func (x *Exchange) End(state string) {
	if x.off {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.freed {
		return
	}
	text := ""
	if x.res.err != nil && !x.res.endEvent {
		text = bounded(x.secrets.Error(x.res.err), maxErrorBytes)
	}
	x.endLocked(x.stateOf(state), text)
	x.freed = true
	x.res.buf.release()
	x.req.close()
}

func (x *Exchange) stateOf(state string) string {
	switch {
	case x.res.endEvent:
		return record.StateComplete
	case state != "":
		return state
	case x.res.err != nil:
		return record.StateUpstreamTruncated
	case x.res.status == http.StatusSwitchingProtocols:
		return record.StateComplete
	default:
		return record.StateClientCancelled
	}
}

// endLocked appends the end record, once.
func (x *Exchange) endLocked(state, text string) {
	if x.ended || !x.begun {
		return
	}
	x.ended = true
	if x.lost {
		return
	}
	x.res.buf.finish()
	answer := x.answerLocked()
	h := x.endHead(state)
	h.Error = text
	late, body := x.req.rest(x.head.Level)
	body, _ = x.secrets.Mask(body) // here already: its length goes into the head
	h.Request, h.RequestLen = late, len(body)
	x.countCuts(&h)
	if failure, detail := x.r.append(KindEnd, &h, x.secrets, x.head.Project, body, answer); failure != "" {
		x.r.gap(x.head.Project, failure, uint64(len(body)+len(answer)), detail)
		x.r.endLater(h, x.head.Project, x.secrets)
		return
	}
	x.r.metrics.ended.Inc()
}

// countCuts counts copies that the memory budget cut short.
func (x *Exchange) countCuts(h *endHead) {
	if x.res.buf.cut == record.GapBufferCap {
		x.r.gap(x.head.Project, record.GapBufferCap, h.Response.Size-uint64(len(x.res.buf.bytes())), "")
	}
	if x.req.cutReason() == record.GapBufferCap {
		x.r.gap(x.head.Project, record.GapBufferCap, h.Request.Size, "")
	}
}

// endHead describes the answer as far as it has come.
func (x *Exchange) endHead(state string) endHead {
	now := x.r.opts.Clock()
	return endHead{
		ID: x.head.ID, Time: now, State: state, Status: x.res.status, Sent: x.res.sent, Headers: x.res.headers,
		FirstByte: x.res.first, HasFirst: x.res.chunks > 0, Duration: max(now.Sub(x.head.Time), 0).Round(time.Microsecond),
		Attributes: x.notes, Chunks: x.res.chunks, EndEvent: x.res.endEvent, BodyEnded: x.res.ended, Response: x.res.info(x.head.Level),
	}
}
