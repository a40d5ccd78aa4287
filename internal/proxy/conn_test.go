package proxy

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// pair is a connection as the transport has it, and its other end.
func pair(t *testing.T) (*conn, *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	near, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return newConn(near, &buffers{}), far.(*net.TCPConn)
}

// TestDeadConnectionIsNotWrittenTo: what happened to an idle connection shows
// before its first byte is written, although nobody has read from it.
func TestDeadConnectionIsNotWrittenTo(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn) error{
		"close":      func(c *net.TCPConn) error { return c.Close() },
		"half-close": func(c *net.TCPConn) error { return c.CloseWrite() },
		"reset":      func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
		"words":      func(c *net.TCPConn) error { _, err := io.WriteString(c, "HTTP/1.1 408 x\r\n\r\n"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			c, far := pair(t)
			c.check.Store(true)
			if n, err := c.Write([]byte("a")); n != 1 || err != nil {
				t.Fatalf("a live connection: %d, %v", n, err)
			}
			if _, err := io.ReadFull(far, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if err := end(far); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(time.Minute); quiet(c.raw); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the end is never seen")
				}
			}
			c.check.Store(true)
			if n, err := c.Write([]byte("b")); n != 0 || !errors.Is(err, errStale) || c.written.Load() != 1 {
				t.Errorf("wrote %d (%d in all), %v; want nothing", n, c.written.Load(), err)
			}
		})
	}
}

// TestUnsolicitedBytesRefuseTheConnection: they may have been read already.
func TestUnsolicitedBytesRefuseTheConnection(t *testing.T) {
	c, far := pair(t)
	x := &exchange{}
	hear := func() {
		t.Helper()
		if _, err := io.WriteString(far, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	hear() // a handshake
	c.take(x)
	hear() // an answer
	c.leave(&exchange{})
	hear() // the answer to the next user
	if _, err := c.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	c.leave(x)
	hear()
	if n, err := c.Write([]byte("b")); n != 0 || !errors.Is(err, errStale) {
		t.Errorf("wrote %d, %v", n, err)
	}
}

// TestHeadWaitsForItsBody: both go out in one write, unless the body keeps the
// head waiting.
func TestHeadWaitsForItsBody(t *testing.T) {
	read := func(far net.Conn) string {
		t.Helper()
		buf := make([]byte, 100)
		n, err := far.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	write := func(c *conn, text string) {
		t.Helper()
		if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("wrote %d of %q, %v", n, text, err)
		}
	}
	c, far := pair(t)
	for range 2 {
		c.holdHead()
		before := c.written.Load()
		write(c, "head ")
		if got := c.written.Load(); got != before {
			t.Errorf("%d bytes of a held head count as written", got-before)
		}
		if n, err := c.ReadFrom(io.LimitReader(strings.NewReader("body and more"), 4)); n != 4 || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
		if got := read(far); got != "head body" {
			t.Errorf("got %q", got)
		}
		if got := c.written.Load() - before; got != 9 {
			t.Errorf("%d bytes count as written", got)
		}
	}
	c.holdHead()
	write(c, "head ")
	c.release()
	if got := read(far); got != "head " {
		t.Errorf("got %q", got)
	}
	write(c, "body")
	if got := read(far); got != "body" {
		t.Errorf("got %q", got)
	}
	c.holdHead()
	c.release() // before the head came
	write(c, "head ")
	if got := read(far); got != "head " {
		t.Errorf("got %q", got)
	}
}

// TestReleaseDoesNotWait: sending a head alone waits for no write that is under
// way, since the timer of the exchange would stand still meanwhile.
func TestReleaseDoesNotWait(t *testing.T) {
	c, far := pair(t)
	full := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, 64<<20)) // more than the sockets hold
		full <- err
	}()
	if _, err := io.ReadFull(far, make([]byte, 1)); err != nil { // the write is under way
		t.Fatal(err)
	}
	c.release()
	select {
	case err := <-full:
		t.Fatalf("the write has ended already: %v", err)
	default:
	}
	far.Close()
	<-full
}
