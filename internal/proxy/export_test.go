package proxy

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// SetContinueGrace changes how long an upstream may take to say 100 Continue.
func (s *Server) SetContinueGrace(d time.Duration) { s.continueGrace = d }

// Ears are what the transports hear with. An end that comes while they are held
// is not heard of until Close.
type Ears struct {
	done chan struct{} // closed by Close

	mu    sync.Mutex // guards what follows
	held  bool
	ended map[string]bool // local addresses of connections
}

// NewEars puts them on the connections that a server opens from now on.
func NewEars(s *Server) *Ears {
	e := &Ears{done: make(chan struct{}), ended: map[string]bool{}}
	for _, rt := range s.routes {
		dial := rt.transport.DialContext
		rt.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if own, ok := c.(*conn); ok {
				own.Conn = &ear{own.Conn, own.raw, e}
			}
			return c, err
		}
	}
	return e
}

// Hold holds the ears, or no longer.
func (e *Ears) Hold(held bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = held
}

// Close lets everything be heard of.
func (e *Ears) Close() { close(e.done) }

// Ended says whether the end of a connection has arrived, heard of or not.
func (e *Ears) Ended(addr string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended[addr]
}

type ear struct {
	net.Conn
	raw  syscall.RawConn
	ears *Ears
}

func (c *ear) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.ears.mu.Lock()
	held := c.ears.held
	c.ears.mu.Unlock()
	if !held && err == nil {
		return n, err
	}
	for err == nil && quiet(c.raw) { // farewell words: the end follows
		time.Sleep(time.Millisecond)
	}
	c.ears.mu.Lock()
	c.ears.ended[c.LocalAddr().String()] = true
	c.ears.mu.Unlock()
	if held {
		<-c.ears.done
	}
	return n, err
}
