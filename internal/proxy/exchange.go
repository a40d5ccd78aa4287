package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"time"

	"docket/internal/capture"
	"docket/internal/record"
)

// exchange is one call on its way through. It is the transport and the hooks of
// a httputil.ReverseProxy that lives as long as the call.
type exchange struct {
	server *Server
	route  *route
	in     *http.Request // as net/http made it
	target target
	rest   string // of the path, after the prefix
	caller caller
	span   spanContext
	start  time.Time
	record *capture.Exchange
	writer *responseWriter
	watch  *watch
	body   *requestBody // nil when the request has none

	call     *http.Request // in, with the context of the call upstream
	cancel   context.CancelCauseFunc
	left     func() bool // stops waiting for the client to leave
	draining drain

	trip trip // the way to the upstream

	state  string // terminal state where the proxy knows it
	why    error  // what led to it
	asked  bool   // the upstream was asked for usage that the client did not ask for
	failed bool   // no answer came, and the record says so
}

// forward serves one call of a route.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, rt *route, t target, rest string, c caller) {
	control := http.NewResponseController(w)
	// Without it, an answer that comes before the request was read is cut
	// (golang/go#40747). HTTP/1.0 clients get it too.
	_ = control.EnableFullDuplex() // only a foreign ResponseWriter has none
	x := s.newExchange(w, r, rt, t, rest, c)
	x.writer.control = control
	s.metrics.begin(rt.name)
	s.calls.Add(1)
	s.running.Add(1)
	defer s.calls.Done()
	defer s.running.Add(-1)
	defer func() { x.finish(recover()) }()

	if err := x.record.Start(x.call.Context()); err != nil {
		x.record.Fail(record.StateUpstreamError, http.StatusServiceUnavailable, err)
		x.failed = true
		s.metrics.answer(rt.name, http.StatusServiceUnavailable)
		problem{http.StatusServiceUnavailable, "recording_unavailable", "the call cannot be recorded, and the settings refuse such calls"}.write(x.writer)
		return
	}
	proxy := httputil.ReverseProxy{
		Rewrite:        x.rewrite,
		Transport:      x,
		ModifyResponse: x.answer,
		ErrorHandler:   x.fail,
		ErrorLog:       s.silent, // what went wrong is logged once, in finish
		BufferPool:     s.buffers,
		// FlushInterval is 0: responseWriter flushes each write itself. That of
		// ReverseProxy sends the head alone, from another goroutine.
	}
	proxy.ServeHTTP(x.writer, x.call)
}

func (s *Server) newExchange(w http.ResponseWriter, r *http.Request, rt *route, t target, rest string, c caller) *exchange {
	x := &exchange{server: s, route: rt, in: r, target: t, rest: rest, caller: c, span: newSpanContext(r.Header), start: time.Now()}
	dropInventedCacheControl(r.Header)
	restoreExpect(r)
	x.followClient()
	x.writer = &responseWriter{ResponseWriter: w, request: r, onHead: x.head, onError: x.draining.more}
	x.watch = &watch{limits: rt.config.Timeouts, idleName: rt.idleName, expired: x.expire, release: x.releaseHead, flushHead: x.writer.flushHead, reading: x.waitingForClient, start: x.start}
	x.record = s.recorder.Begin(capture.Begin{
		Upstream: rt.name, API: rt.config.API, Provider: rt.config.Provider, Level: rt.config.Capture,
		ServerAddress: rt.host, ServerPort: rt.port, Project: c.project, Key: c.key,
		Method: r.Method, Path: t.path, UpstreamPath: rt.basePath + rest, RawQuery: rt.withQuery(t, rt.basePath+rest),
		Header: rt.withSecrets(r.Header), ContentLength: r.ContentLength,
		TraceID: x.span.traceID, SpanID: x.span.serverID, ParentSpanID: x.span.parentID,
		UpstreamSpanID: x.span.clientID, TraceFlags: x.span.flags, TraceState: x.span.state,
		Baggage: keptBaggage(r.Header, s.config.KeepBaggage), Start: x.start,
	})
	if r.ContentLength != 0 {
		x.body = &requestBody{call: x.call, in: r, src: x.record.RequestBody(r.Body), watch: x.watch, stream: r.ProtoMajor == 2}
		if expectsContinue(r) {
			x.expectContinue()
		}
	}
	return x
}

// expectContinue lets the body wait until the upstream wants it.
func (x *exchange) expectContinue() {
	x.body.continued, x.body.answered, x.body.grace = make(chan struct{}), make(chan struct{}), x.server.continueGrace
	goOn := closeOnce(x.body.continued)
	x.writer.onContinue, x.writer.onAnswer = goOn, closeOnce(x.body.answered)
	x.writer.mayHear100 = func() bool { return !x.body.told.Load() }
	if x.body.stream {
		// net/http says 100 once more when the body is read, whoever said it before.
		x.writer.mayHear100 = func() bool { goOn(); return false }
	}
}

// expire ends the exchange for a limit that was passed.
func (x *exchange) expire(err error) {
	x.cancel(err)
	slow := (*slowClientError)(nil)
	past := time.Now().Add(-time.Second)
	switch {
	case !errors.As(err, &slow):
	case slow.sending:
		_ = x.writer.control.SetReadDeadline(past) // ends the read, which the transport waits for
	default:
		_ = x.writer.control.SetWriteDeadline(past) // ends the write
	}
}

// followClient sets the context of the call upstream: it ends with the client,
// or some time later.
func (x *exchange) followClient() {
	c := x.server.config
	if c.OnClientAbort == AbortCancel {
		ctx, cancel := context.WithCancelCause(x.in.Context())
		x.call, x.cancel = x.in.WithContext(ctx), cancel
		x.left = func() bool { return true }
		return
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(x.in.Context()))
	x.call, x.cancel = x.in.WithContext(ctx), cancel
	x.draining.on, x.draining.bytes = true, int64(c.AbortDrainBytes)
	x.left = context.AfterFunc(x.in.Context(), func() {
		x.draining.begin(c.AbortDrainTime, func() { x.cancel(errClient) })
	})
}

// answer is called with the final answer, before anything of it is written.
func (x *exchange) answer(res *http.Response) error {
	if res.StatusCode < 100 {
		return errStatus
	}
	dropInventedCacheControl(res.Header)
	if res.StatusCode == http.StatusSwitchingProtocols {
		return x.switchProtocols(res)
	}
	x.server.metrics.answer(x.route.name, res.StatusCode)
	if res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusNotModified {
		// Over HTTP/2, net/http misses the body that a 304 gives the length of.
		_ = res.Body.Close()
		res.Body = http.NoBody
	}
	res.Body = &answerBody{ReadCloser: res.Body, x: x}
	x.record.Response(res)
	x.withoutUsage(res)
	return nil
}

// head adds what the settings add to an answer.
func (x *exchange) head(h http.Header) {
	if id := x.record.ID(); id != "" && x.server.config.InferenceIDHeader {
		h[capture.HeaderInferenceID] = []string{id}
	}
}

// fail answers when the upstream did not.
func (x *exchange) fail(_ http.ResponseWriter, _ *http.Request, err error) {
	if errors.Is(err, errSwitched) {
		return
	}
	if cause := context.Cause(x.call.Context()); cause != nil {
		err = cause
	}
	x.state, x.why = x.stateOf(err, record.StateUpstreamError), err
	x.failed = true
	slow := (*slowClientError)(nil)
	switch {
	case errors.As(err, &slow):
		x.answerFailure(problem{http.StatusRequestTimeout, "body_timeout", slow.Error()})
	case x.state == record.StateClientCancelled, x.state == record.StateProxyDied:
		x.record.Fail(x.state, 0, errors.New(describe(err)))
		panic(http.ErrAbortHandler) // there is nobody to answer
	case x.body != nil && x.body.broken.Load():
		x.state = record.StateClientCancelled
		x.answerFailure(problem{http.StatusBadRequest, "invalid_body", "the request body could not be read"})
	default:
		x.answerFailure(problemOf(err))
	}
}

// answerFailure records a problem as the answer, and writes it.
func (x *exchange) answerFailure(p problem) {
	x.record.Fail(x.state, p.status, errors.New(p.message))
	x.server.metrics.answer(x.route.name, p.status)
	p.write(x.writer)
}

// stateOf is the terminal state of an error, or other when nothing of ours
// caused it.
func (x *exchange) stateOf(err error, other string) string {
	var late *timeoutError
	var slow *slowClientError
	switch {
	case errors.As(err, &late):
		return late.state()
	case errors.As(err, &slow):
		return record.StateClientCancelled
	case x.server.killed.Load():
		return record.StateProxyDied
	case x.in.Context().Err() != nil, errors.Is(err, errClient):
		return record.StateClientCancelled
	default:
		return other
	}
}

// finish ends the exchange, with what the handler panicked with. It lets
// net/http cut the connection by passing http.ErrAbortHandler on.
func (x *exchange) finish(panicked any) {
	x.left()
	x.watch.stop()
	x.draining.stop()
	status, lost := x.writer.close()
	clientGone := x.in.Context().Err() != nil || lost
	if cause := context.Cause(x.call.Context()); x.why == nil && lost {
		x.why = cause // a client that was too slow
	}
	x.cancel(errClient) // ends what the transport still does for this call
	x.trip.giveUp()
	if x.body != nil {
		x.body.finish(x.writer.ResponseWriter, panicked != nil)
	}
	if x.state == "" && (lost || clientGone && panicked != nil) {
		x.state = record.StateClientCancelled
		if x.server.killed.Load() {
			x.state = record.StateProxyDied
		}
	}
	x.record.End(x.state)
	x.server.metrics.end(x.route.name, x.state)
	x.log(status)
	if panicked == nil {
		return
	}
	if panicked != http.ErrAbortHandler {
		x.server.logPanic(panicked)
	}
	panic(http.ErrAbortHandler)
}

// log writes a line for a call that went wrong. Nothing of the call is in it.
func (x *exchange) log(status int) {
	if x.state == "" || x.state == record.StateComplete {
		return
	}
	attrs := []any{
		"upstream", x.route.name, "state", x.state, "status", status,
		"inference_id", x.record.ID(), "trace_id", x.span.traceID,
	}
	if x.why != nil {
		attrs = append(attrs, "reason", describe(x.why))
	}
	if x.failed && x.state != record.StateClientCancelled {
		attrs = append(attrs, "host", x.route.host)
	}
	x.server.log.Warn("call did not end well", attrs...)
}

// answerBody is the body of an answer as it comes from the transport.
type answerBody struct {
	io.ReadCloser
	x     *exchange
	began bool
}

// Close does not wait for the request's body, as that of HTTP/2 does by itself:
// the body may be waiting for the client, or for this exchange to end.
func (b *answerBody) Close() error {
	if b.x.trip.stream {
		b.x.trip.giveUp()
	}
	return b.ReadCloser.Close()
}

// Read moves the watch on. Before an error is returned, what the client has not
// been sent is flushed: the error cuts its connection.
func (b *answerBody) Read(p []byte) (int, error) {
	w := b.x.watch
	if b.began {
		w.progress()
	} else {
		w.enter(phaseHead)
	}
	w.asking.Store(true)
	n, err := b.ReadCloser.Read(p)
	w.progress() // from here on it is the client's turn
	w.asking.Store(false)
	if n > 0 && !b.began {
		b.began = true
		w.enter(phaseIdle)
	}
	switch {
	case err == io.EOF:
		w.stop()
		if c := b.x.trip.conn; c != nil {
			c.leave(b.x)
		}
	case err != nil:
		w.stop()
		if b.x.state == "" {
			cause := err
			if c := context.Cause(b.x.call.Context()); c != nil {
				cause = c
			}
			b.x.state, b.x.why = b.x.stateOf(cause, record.StateUpstreamTruncated), cause
		}
		b.x.writer.flushHead()
	}
	return n, err
}
