package upstreamtest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
)

// TB is the part of testing.TB that Start needs.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Server listens on a loopback port and hands each connection to a function.
type Server struct {
	ln    net.Listener
	serve func(*Conn)
	wg    sync.WaitGroup

	mu       sync.Mutex // guards what follows
	conns    map[*Conn]bool
	requests []Request
	accepted int
}

// Start serves until the test ends. Each connection is served in a goroutine
// and closed when serve returns.
func Start(t TB, serve func(*Conn)) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	s := &Server{ln: ln, serve: serve, conns: map[*Conn]bool{}}
	s.wg.Go(s.accept)
	t.Cleanup(s.Close)
	return s
}

// Close stops listening, closes all connections and waits for their functions.
func (s *Server) Close() {
	_ = s.ln.Close() // closing twice is no fault
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Conn.Close() // the function may have closed it
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// URL is the base URL, without a path.
func (s *Server) URL() string { return "http://" + s.Addr() }

// Addr is host and port.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Requests returns what was read so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Accepted says how many connections there were.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

func (s *Server) accept() {
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				continue
			}
			return
		}
		c := &Conn{Conn: nc, server: s, r: bufio.NewReader(nc)}
		s.mu.Lock()
		s.conns[c] = true
		s.accepted++
		s.mu.Unlock()
		s.wg.Go(func() {
			defer func() {
				_ = nc.Close() // may be closed
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			}()
			s.serve(c)
		})
	}
}

// Conn is one connection from the client under test.
type Conn struct {
	net.Conn
	server *Server
	r      *bufio.Reader
}

// ReadRequest reads a whole request and notes it in Server.Requests.
func (c *Conn) ReadRequest() (Request, error) {
	r, err := c.ReadHead()
	if err != nil {
		return Request{}, err
	}
	if err := c.ReadBody(&r); err != nil {
		return Request{}, err
	}
	c.Note(r)
	return r, nil
}

// ReadHead reads a request up to the empty line.
func (c *Conn) ReadHead() (Request, error) {
	m, err := readHead(c.r)
	return Request(m), err
}

// ReadBody reads the body of a request, and its trailers.
func (c *Conn) ReadBody(r *Request) error { return (*message)(r).readBody(c.r, false) }

// Note adds a request to Server.Requests.
func (c *Conn) Note(r Request) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.requests = append(c.server.requests, r)
}

// Send writes bytes as they are. An error means that the client is gone, which
// the next read shows too.
func (c *Conn) Send(s string) error {
	_, err := io.WriteString(c.Conn, s)
	return err
}

// CloseWrite ends what is sent; the client may still send.
func (c *Conn) CloseWrite() error {
	t, ok := c.Conn.(*net.TCPConn)
	if !ok {
		return errors.ErrUnsupported
	}
	return t.CloseWrite()
}

// Read reads what comes outside of messages.
func (c *Conn) Read(p []byte) (int, error) { return c.r.Read(p) }

// AwaitClose reads until the client closes the connection.
func (c *Conn) AwaitClose() {
	_, _ = io.Copy(io.Discard, c.r) // any end will do
}

// Reset closes the connection with a TCP reset.
func (c *Conn) Reset() {
	if t, ok := c.Conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // then Close sends RST
	}
	_ = c.Conn.Close() // nothing depends on it
}

// Answer returns a function for Start that answers every request with the same
// bytes and keeps the connection.
func Answer(raw string) func(*Conn) {
	return func(c *Conn) {
		for {
			if _, err := c.ReadRequest(); err != nil {
				return
			}
			if c.Send(raw) != nil {
				return
			}
		}
	}
}

// AnswerAndClose returns a function for Start that answers one request with raw
// bytes and closes the connection.
func AnswerAndClose(raw string) func(*Conn) {
	return func(c *Conn) {
		if _, err := c.ReadRequest(); err == nil {
			_ = c.Send(raw) // the client may be gone
		}
	}
}
