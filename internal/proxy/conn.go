package proxy

import (
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// errStale is the error of a write to a connection that died while it was idle,
// or that may not be used. No byte of the request is written then, so that
// http.Transport takes another connection.
var errStale = errors.New("the connection was closed while it was idle")

// conn is a connection to an upstream. It counts what is written, and looks
// whether the other side is still there before it is used again: the transport
// hears of a close only when its reading goroutine runs, which may be after the
// next request was written.
type conn struct {
	net.Conn
	raw     syscall.RawConn // nil when the connection has none
	written atomic.Int64
	check   atomic.Bool // look before the next write
	refused atomic.Bool // nothing may be written any more
	used    atomic.Bool // some exchange had it: before that, TLS has its handshake
	user    atomic.Pointer[exchange]
}

func newConn(c net.Conn) *conn {
	out := &conn{Conn: c}
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			out.raw = raw
		}
	}
	return out
}

// Read refuses the connection for further use when something comes that nobody
// asked for, such as the 408 by which some servers end an idle connection.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.user.Load() == nil && c.used.Load() {
		c.refused.Store(true)
	}
	return n, err
}

// Write writes nothing to a connection that is known to be dead.
func (c *conn) Write(p []byte) (int, error) {
	if c.refused.Load() || c.check.Swap(false) && c.raw != nil && !quiet(c.raw) {
		return 0, errStale
	}
	// Counted before, since the answer may be here before Write returns.
	c.written.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n - len(p)))
	return n, err
}

// take gives the connection to an exchange, until it leaves it. By then it may
// have its next user.
func (c *conn) take(x *exchange) {
	c.user.Store(x)
	c.used.Store(true)
}

func (c *conn) leave(x *exchange) { c.user.CompareAndSwap(x, nil) }

// connOf finds our connection under TLS.
func connOf(c net.Conn) *conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	out, _ := c.(*conn)
	return out
}
