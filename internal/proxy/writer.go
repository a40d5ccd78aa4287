package proxy

import (
	"cmp"
	"net/http"
	"strings"
	"sync"
)

// responseWriter writes an answer as the upstream sent it: without the Date and
// Content-Type that net/http adds, and flushed as it comes. It is between
// httputil.ReverseProxy and net/http.
type responseWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	request *http.Request

	mayHear100 func() bool       // whether the client was not told to continue yet; nil for always
	onContinue func()            // after 100 Continue was passed on
	onHead     func(http.Header) // before the final head is written
	onAnswer   func()            // after it was written
	onError    func(int) bool    // this many bytes did not reach the client; true goes on without it

	mu     sync.Mutex // guards what follows, and the underlying writer
	status int        // of the final answer, 0 before it
	bytes  int64
	failed bool // the client cannot be reached
	closed bool // the handler has returned
}

// Unwrap lets http.ResponseController find Hijack. Nothing else is looked up
// there: Flush is here.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader passes on a head, interim (1xx) ones included.
func (w *responseWriter) WriteHeader(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code >= 100 && code < 200 && code != http.StatusSwitchingProtocols {
		w.interimLocked(code)
		return
	}
	h := w.Header()
	w.onHead(h)
	for _, name := range []string{"Date", "Content-Type"} {
		if _, ok := h[name]; !ok {
			h[name] = nil // net/http adds none
		}
	}
	if code == http.StatusNotModified {
		keepOf304(h)
	}
	w.status = code
	w.ResponseWriter.WriteHeader(code)
	if w.onAnswer != nil {
		w.onAnswer()
	}
	if streams(code, w.request.Method, h) {
		w.flushLocked()
	}
}

func (w *responseWriter) interimLocked(code int) {
	if !w.request.ProtoAtLeast(1, 1) {
		return // RFC 9110, 15.2: HTTP/1.0 has no interim answers
	}
	if code == http.StatusContinue && w.mayHear100 != nil && !w.mayHear100() {
		return
	}
	w.ResponseWriter.WriteHeader(code)
	if code == http.StatusContinue && w.onContinue != nil {
		w.onContinue()
	}
}

// keepOf304 keeps the fields that net/http removes from a 304 answer. It looks
// for their canonical names only.
func keepOf304(h http.Header) {
	for _, name := range []string{"Content-Type", "Content-Length"} {
		if v := h[name]; len(v) > 0 {
			delete(h, name)
			h[strings.ToLower(name)] = v
		}
	}
}

// streams says whether the end of an answer is not known when it begins. Its
// head is flushed at once. Other heads wait up to headDelay for the body.
func streams(code int, method string, h http.Header) bool {
	return len(h["Content-Length"]) == 0 && method != http.MethodHead &&
		code != http.StatusNoContent && code != http.StatusNotModified
}

// Write passes on a part of the body and flushes it.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed {
		return w.lostLocked(p, nil)
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	if err == nil {
		err = w.control.Flush()
	}
	if err != nil {
		w.failed = true
		return w.lostLocked(p, err)
	}
	return n, nil
}

func (w *responseWriter) lostLocked(p []byte, err error) (int, error) {
	if w.onError(len(p)) {
		return len(p), nil
	}
	return 0, cmp.Or(err, errClient)
}

// FlushError sends what is buffered, for http.ResponseController.
func (w *responseWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flushLocked()
}

func (w *responseWriter) flushLocked() error {
	if w.closed || w.status == 0 || w.failed {
		return nil
	}
	err := w.control.Flush()
	if err != nil {
		w.failed = true
	}
	return err
}

// flushHead sends the head of the answer if there is one.
func (w *responseWriter) flushHead() { _ = w.FlushError() } // a failure shows in failed

// switched says that the connection has left HTTP: nothing is written here any
// more.
func (w *responseWriter) switched() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status, w.closed = http.StatusSwitchingProtocols, true
}

// close says that the handler returns: nothing may be written afterwards.
func (w *responseWriter) close() (status int, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return w.status, w.failed
}
