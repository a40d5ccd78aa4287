package localclickhouse

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// oneConn is a listener that accepts one connection.
type oneConn struct {
	conns  chan net.Conn // one
	closed chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l oneConn) Close() error   { close(l.closed); return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// talk serves handle behind the guard and returns the client's end. It is
// called on fake time.
func talk(handle http.HandlerFunc) (client net.Conn, stop func()) {
	ours, theirs := net.Pipe()
	l := oneConn{make(chan net.Conn, 1), make(chan struct{})}
	l.conns <- theirs
	server := &http.Server{Handler: (&Server{}).guard(handle)}
	go func() { _ = server.Serve(l) }()
	return ours, func() { _, _ = ours.Close(), server.Close() }
}

func TestClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		c, stop := talk(func(w http.ResponseWriter, _ *http.Request) {
			a := newAnswer(w)
			_, err := a.Write(make([]byte, 1<<20))
			failed <- err
			a.finish(err)
		})
		defer stop()
		start := time.Now()
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if err := <-failed; err == nil {
			t.Error("no error")
		}
		if took := time.Since(start); took != clientLimit {
			t.Errorf("gave up after %s", took)
		}
	})
}

func TestClientThatDoesNotSend(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"/read", "X-Clickhouse-Exception-Code: 159"},
		{"/unread", ""}, // the answer came while the client should have sent
	} {
		t.Run(c.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testUnsentBody(t, c.path, c.want) })
		})
	}
}

func testUnsentBody(t *testing.T, path, want string) {
	c, stop := talk(func(w http.ResponseWriter, r *http.Request) {
		a := newAnswer(w)
		if r.URL.Path == "/unread" {
			a.finish(nil)
			return
		}
		_, err := io.ReadAll(timedBody{r.Body, a.control})
		a.finish(bodyError(err))
	})
	defer stop()
	start := time.Now()
	_, _ = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc")
	answer, err := io.ReadAll(c) // until the server closes
	if err != nil || !strings.Contains(string(answer), want) {
		t.Errorf("got %v, %s", err, answer)
	}
	if took := time.Since(start).Round(time.Second); took != clientLimit {
		t.Errorf("gave up after %s", took)
	}
}

func TestRestBetweenRequestsIsNoSlowness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		c, stop := talk(func(w http.ResponseWriter, r *http.Request) {
			a := newAnswer(w)
			_, err := io.ReadAll(timedBody{r.Body, a.control})
			time.Sleep(2 * clientLimit) // a long statement
			ended <- errors.Join(err, r.Context().Err())
			if r.URL.Path == "/rows" {
				_, err = a.Write([]byte("row\n"))
			}
			a.finish(err)
		})
		defer stop()
		in := bufio.NewReader(c)
		for _, path := range []string{"/rows", "/nothing", "/rows"} {
			_, _ = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", path, err)
			}
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			time.Sleep(2 * clientLimit)
		}
	})
}

func TestFullSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := make(chan struct{}, 1)
		release, err := acquire(t.Context(), slots)
		if err != nil {
			t.Fatal(err)
		}
		var e *Exception
		if _, err := acquire(t.Context(), slots); !errors.As(err, &e) || e.Code != codeTooMany || !strings.Contains(e.Message, "30s") {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := acquire(ctx, slots); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		release()
		if _, err := acquire(t.Context(), slots); err != nil {
			t.Error(err)
		}
	})
}
