package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// errStale is the error of a write to a connection that died while it was idle,
// or that may not be used. No byte of the request is written then, so that
// http.Transport takes another connection.
var errStale = errors.New("the connection was closed while it was idle")

// maxHeld is the longest head that waits for its body.
const maxHeld = 8 << 10

// conn is a connection to an upstream. It counts what is written, and looks
// whether the other side is still there before it is used again: the transport
// hears of a close only when its reading goroutine runs, which may be after the
// next request was written.
type conn struct {
	net.Conn
	buffers *buffers
	raw     syscall.RawConn // nil when the connection has none
	written atomic.Int64
	check   atomic.Bool          // look before the next write
	refused atomic.Bool          // nothing may be written any more
	http2   atomic.Pointer[bool] // whether it speaks it; nil: not known yet
	used    atomic.Bool          // some exchange had it: before that, TLS has its handshake
	user    atomic.Pointer[exchange]

	mu      sync.Mutex // guards what follows
	idle    sync.Cond  // told when writing ends
	writing bool       // without the lock
	hold    bool       // the next write is the head of a request, and its body follows at once
	held    []byte
	err     error // of a write that nobody waited for
}

func newConn(c net.Conn, b *buffers) *conn {
	out := &conn{Conn: c, buffers: b}
	out.idle.L = &out.mu
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

// Write writes nothing to a connection that is known to be dead. It may keep
// the head of a request until its body is there: http.Transport writes them one
// by one, which costs a system call here and a wake-up at the other end.
func (c *conn) Write(p []byte) (int, error) {
	if c.check.Swap(false) && c.raw != nil && !quiet(c.raw) {
		c.refused.Store(true) // also for the farewell that TLS writes when it gives up
	}
	if c.refused.Load() {
		return 0, errStale
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.writing { // a head whose body kept it waiting
		c.idle.Wait()
	}
	if c.err != nil {
		return 0, c.err
	}
	if c.hold && len(p) <= maxHeld {
		c.held = append(c.held[:0], p...)
		c.hold = false
		return len(p), nil
	}
	c.hold = false
	if len(c.held) == 0 {
		return c.writeUnlocked(p)
	}
	n, err := c.writeUnlocked(c.held, p)
	n = max(n-len(c.held), 0)
	c.held = c.held[:0]
	return n, err
}

// ReadFrom sends a request body with a buffer from the pool. io.Copy, which
// http.Transport uses, would make one for each body.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	buf := c.buffers.Get()
	defer c.buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{c}, r, buf)
}

// holdHead says that a head and its body come next.
func (c *conn) holdHead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold = true
}

// release sends a head whose body keeps it waiting. When a write is under way
// there is nothing to do: it takes the head along. It does not wait for one.
func (c *conn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold = false
	if c.writing || len(c.held) == 0 {
		return
	}
	_, c.err = c.writeUnlocked(c.held)
	c.held = c.held[:0]
}

// writeUnlocked writes while it lets go of the lock. Only one write is under way
// at a time.
func (c *conn) writeUnlocked(parts ...[]byte) (int, error) {
	c.writing = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.writing = false
		c.idle.Broadcast()
	}()
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	// Counted before, since the answer may be here before the write returns.
	c.written.Add(int64(size))
	var n int64
	var err error
	if len(parts) == 1 {
		var m int
		m, err = c.Conn.Write(parts[0])
		n = int64(m)
	} else {
		list := net.Buffers(parts)
		n, err = list.WriteTo(c.Conn)
	}
	c.written.Add(n - int64(size))
	return int(n), err
}

// take gives the connection to an exchange, until it leaves it. By then it may
// have its next user.
func (c *conn) take(x *exchange) {
	c.user.Store(x)
	c.used.Store(true)
}

func (c *conn) leave(x *exchange) { c.user.CompareAndSwap(x, nil) }

// CloseWrite ends one direction, for connections that have left HTTP.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

// connOf finds our connection under TLS.
func connOf(c net.Conn) *conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	out, _ := c.(*conn)
	return out
}
