package proxy

import (
	"errors"
	"io"
	"net"
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
	return newConn(near), far.(*net.TCPConn)
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
			for deadline := time.Now().Add(5 * time.Second); quiet(c.raw); time.Sleep(time.Millisecond) {
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
