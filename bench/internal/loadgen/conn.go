package loadgen

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"strconv"
	"time"

	"docket/bench/internal/payload"
)

// client is one keep-alive HTTP/1.1 connection. It reads just what the load
// generator measures, which costs a fraction of what net/http's client does.
type client struct {
	addr    string
	timeout time.Duration

	c    net.Conn
	in   []byte
	r, w int
	at   time.Time // when the bytes in hand arrived
	ev   []byte    // the event being put together
}

// reply is what one exchange showed.
type reply struct {
	status     int
	reqCRC     string // X-Mock-Req-Crc, when the proxy lets it through
	bodyCRC    uint32
	bodyBytes  int64
	first      time.Time // first byte of the body
	done       time.Time
	closeAfter bool
	events     int
}

// observer is told of each streamed event: the time since the one before
// (0 for the first) and the time since the upstream sent it (0 if unknown).
type observer func(gap, transit time.Duration)

func (c *client) close() {
	if c.c != nil {
		c.c.Close()
		c.c = nil
	}
}

func (c *client) exchange(req []byte, see observer) (reply, error) {
	if c.c == nil {
		conn, err := net.DialTimeout("tcp", c.addr, c.timeout)
		if err != nil {
			return reply{}, err
		}
		c.c, c.r, c.w = conn, 0, 0
	}
	_ = c.c.SetDeadline(time.Now().Add(c.timeout))
	if _, err := c.c.Write(req); err != nil {
		c.close()
		return reply{}, err
	}
	rep, err := c.read(see)
	if err != nil || rep.closeAfter {
		c.close()
	}
	return rep, err
}

func (c *client) fill() error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	} else if c.w == len(c.in) {
		if c.r == 0 {
			return errors.New("header line too long")
		}
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
	}
	n, err := c.c.Read(c.in[c.w:])
	c.w += n
	c.at = time.Now()
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

func (c *client) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(c.in[c.r:c.w], '\n'); i >= 0 {
			l := bytes.TrimSuffix(c.in[c.r:c.r+i], []byte("\r"))
			c.r += i + 1
			return l, nil
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

func (c *client) read(see observer) (reply, error) {
	var rep reply
	l, err := c.line()
	if err != nil {
		return rep, err
	}
	if len(l) < 12 {
		return rep, fmt.Errorf("bad status line %q", l)
	}
	rep.status, _ = strconv.Atoi(string(l[9:12]))
	length, chunked, events := int64(-1), false, false
	for {
		if l, err = c.line(); err != nil {
			return rep, err
		}
		if len(l) == 0 {
			break
		}
		k, v, _ := bytes.Cut(l, []byte(":"))
		v = bytes.TrimSpace(v)
		switch {
		case bytes.EqualFold(k, []byte("content-length")):
			if length, err = strconv.ParseInt(string(v), 10, 64); err != nil {
				return rep, err
			}
		case bytes.EqualFold(k, []byte("transfer-encoding")):
			chunked = bytes.EqualFold(v, []byte("chunked"))
		case bytes.EqualFold(k, []byte("connection")):
			rep.closeAfter = bytes.EqualFold(v, []byte("close"))
		case bytes.EqualFold(k, []byte("content-type")):
			events = bytes.HasPrefix(v, []byte("text/event-stream"))
		case bytes.EqualFold(k, []byte("x-mock-req-crc")):
			rep.reqCRC = string(v)
		}
	}
	b := body{c: c, rep: &rep, see: see, events: events}
	c.ev = c.ev[:0]
	switch {
	case chunked:
		err = b.chunked()
	case length >= 0:
		err = b.fixed(length)
	default:
		rep.closeAfter = true
		err = b.toEnd()
	}
	if len(c.ev) > 0 { // an event without its end mark
		rep.bodyCRC = crc32.Update(rep.bodyCRC, payload.Table, c.ev)
	}
	rep.done = time.Now()
	return rep, err
}

type body struct {
	c      *client
	rep    *reply
	see    observer
	events bool
	last   time.Time
}

func (b *body) take(p []byte) {
	if b.rep.bodyBytes == 0 {
		b.rep.first = b.c.at
	}
	b.rep.bodyBytes += int64(len(p))
	if !b.events {
		b.rep.bodyCRC = crc32.Update(b.rep.bodyCRC, payload.Table, p)
		return
	}
	b.c.ev = append(b.c.ev, p...)
	for {
		i := bytes.Index(b.c.ev, []byte("\n\n"))
		if i < 0 {
			return
		}
		e := b.c.ev[:i+2]
		var gap, transit time.Duration
		if sent := payload.ZeroStamp(e); sent > 0 {
			transit = b.c.at.Sub(time.Unix(0, sent))
		}
		if !b.last.IsZero() {
			gap = b.c.at.Sub(b.last)
		}
		b.last = b.c.at
		b.rep.events++
		b.rep.bodyCRC = crc32.Update(b.rep.bodyCRC, payload.Table, e)
		if b.see != nil {
			b.see(gap, transit)
		}
		b.c.ev = append(b.c.ev[:0], b.c.ev[i+2:]...)
	}
}

func (b *body) fixed(n int64) error {
	c := b.c
	for n > 0 {
		if c.r == c.w {
			if err := c.fill(); err != nil {
				return err
			}
		}
		m := min(int64(c.w-c.r), n)
		b.take(c.in[c.r : c.r+int(m)])
		c.r += int(m)
		n -= m
	}
	return nil
}

func (b *body) toEnd() error {
	c := b.c
	for {
		if c.r < c.w {
			b.take(c.in[c.r:c.w])
			c.r = c.w
		}
		if err := c.fill(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func (b *body) chunked() error {
	for {
		l, err := b.c.line()
		if err != nil {
			return err
		}
		if i := bytes.IndexByte(l, ';'); i >= 0 {
			l = l[:i]
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(l)), 16, 64)
		if err != nil {
			return err
		}
		if n == 0 {
			for { // trailer
				if l, err = b.c.line(); err != nil || len(l) == 0 {
					return err
				}
			}
		}
		if err := b.fixed(n); err != nil {
			return err
		}
		if _, err := b.c.line(); err != nil {
			return err
		}
	}
}
