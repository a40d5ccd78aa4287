package capture

import (
	"context"
	"errors"
	"io"
	"net/http"
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
	r *Recorder
}

// ID is the inference id, "" when capture is off.
func (x *Exchange) ID() string { return "" }

// RequestBody returns a body to send upstream in place of rc: the same bytes,
// copied aside as they pass. It returns rc itself when there is nothing to copy
// (capture off, no body). Closing it closes rc.
func (x *Exchange) RequestBody(rc io.ReadCloser) io.ReadCloser { return rc }

// Start appends the begin record. A body of at most 64 KiB with a known length
// and no Expect header is read first, for at most MaxWait. Start returns
// ErrNotRecorded, or nil in all other cases.
func (x *Exchange) Start(ctx context.Context) error { return nil }

// Response notes status and headers of the final answer (not of 1xx ones) and
// replaces res.Body by one that copies what is read, and that appends the done
// and end records before it returns the bytes that complete the answer. After
// 101 Switching Protocols the body is left alone.
//
// Call it before anything of the answer is written: an answer that has no body
// is recorded here.
func (x *Exchange) Response(res *http.Response) {}

// Fail records that no answer came from the upstream: the terminal state
// (record.State*), the status that the client is given (0 if none) and the
// error, whose text is masked. Call it before that answer is written.
func (x *Exchange) Fail(state string, status int, err error) {}

// End records how the exchange ended unless that is recorded already, and frees
// its buffers. state is what the proxy knows (record.State*); "" lets Exchange
// tell from what passed: complete when the answer or the provider's end event
// was seen, upstream_truncated when reading the answer failed, else
// client_cancelled. After the provider's end event every state is complete.
// Calls after the first do nothing. The bodies must not be read after it.
func (x *Exchange) End(state string) {}
