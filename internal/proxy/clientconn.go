package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// What a client's connection is in.
const (
	awaitingHead int32 = iota // nothing, or a part, of a request's head has come
	readHead                  // a head has come; no handler has seen it
	inHandler                 // a handler has it, or had the last one
)

// clientConn is a connection from a client. It puts what net/http says on its
// own, to a request that reaches no handler, into the form of our other errors,
// and speaks to a client whose head does not come to its end.
type clientConn struct {
	net.Conn
	server *Server
	phase  atomic.Int32
	begun  atomic.Bool // a part of a head has come
	http2  atomic.Bool
	told   atomic.Bool // an error of ours was written: nothing may follow
}

// enter follows net/http: it waits for a head in a new and in an idle
// connection, and has read one, or what should be one, in an active one.
func (c *clientConn) enter(state http.ConnState) {
	switch {
	case c.http2.Load():
	case state == http.StateNew, state == http.StateIdle:
		c.begun.Store(false)
		c.phase.Store(awaitingHead)
	case state == http.StateActive:
		c.phase.Store(readHead)
	}
}

// handled says that a handler has the request.
func (c *clientConn) handled(r *http.Request) {
	c.phase.Store(inHandler)
	if r.ProtoMajor == 2 {
		c.http2.Store(true)
	}
}

// Read tells a client why its connection ends when its head takes too long, or
// when it does not speak TLS.
func (c *clientConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.phase.Load() != awaitingHead {
		return n, err
	}
	if n > 0 {
		c.begun.Store(true)
	}
	var notTLS tls.RecordHeaderError
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded) && c.begun.Load() && !c.http2.Load():
		c.tell(c.Conn, problem{
			http.StatusRequestTimeout, "head_timeout",
			fmt.Sprintf("the head of the request did not arrive within proxy.read_header_timeout (%s)", c.server.config.ReadHeaderTimeout),
		})
	case errors.As(err, &notTLS) && notTLS.Conn != nil && looksLikeHTTP(notTLS.RecordHeader):
		c.tell(notTLS.Conn, problem{http.StatusBadRequest, "tls_required", "this address speaks TLS (proxy.tls_cert): use https"})
	}
	return n, err
}

// looksLikeHTTP says whether a client began with a method instead of TLS.
func looksLikeHTTP(head [5]byte) bool {
	for _, b := range head {
		if (b < 'A' || b > 'Z') && b != ' ' && b != '/' {
			return false
		}
	}
	return true
}

// Write replaces the words of net/http about a request that no handler has
// seen.
func (c *clientConn) Write(p []byte) (int, error) {
	if c.told.Load() {
		return len(p), nil
	}
	if c.phase.Load() != readHead || c.http2.Load() {
		return c.Conn.Write(p)
	}
	said, ok := c.server.ownWords(p)
	if !ok {
		return c.Conn.Write(p)
	}
	c.tell(c.Conn, said)
	return len(p), nil
}

// tell writes an error and counts it. The connection ends after it.
func (c *clientConn) tell(to net.Conn, p problem) {
	if c.told.Swap(true) {
		return
	}
	c.server.metrics.refused.WithLabelValues(p.code).Inc()
	body := p.body()
	_ = to.SetWriteDeadline(time.Now().Add(time.Second)) // a client that reads nothing hears nothing
	_, _ = fmt.Fprintf(to, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		p.status, http.StatusText(p.status), len(body), body) // it may be gone
}

// ownWords is what net/http answers to a request that it does not take, as a
// problem.
func (s *Server) ownWords(answer []byte) (problem, bool) {
	line, _, _ := bytes.Cut(answer, []byte("\r\n"))
	rest, ok := strings.CutPrefix(string(line), "HTTP/1.1 ")
	if !ok || len(rest) < 4 {
		return problem{}, false
	}
	status, err := strconv.Atoi(rest[:3])
	if err != nil || status < 400 {
		return problem{}, false
	}
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		return s.headTooLarge(), true
	case http.StatusExpectationFailed:
		return problem{status, "expectation_failed", "the Expect field may only say 100-continue"}, true
	case http.StatusNotImplemented:
		return problem{status, "transfer_encoding", "the Transfer-Encoding of the request is not known here"}, true
	}
	_, why, _ := strings.Cut(rest, ": ") // of a few fixed texts
	if why == "" {
		why = "it is not HTTP"
	}
	return problem{status, "bad_request", "the request cannot be read: " + why}, true
}

// CloseWrite ends one direction.
func (c *clientConn) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite ends what is sent over a connection that can be closed by halves.
func closeWrite(c any) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
