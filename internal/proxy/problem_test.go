package proxy_test

import (
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

// wantProblem checks the shape of an error of ours.
func wantProblem(t *testing.T, res upstreamtest.Response, code string) {
	t.Helper()
	var got struct {
		Error struct {
			Message, Type, Code string
			Param               *string
		}
	}
	if err := json.Unmarshal(res.Body, &got); err != nil {
		t.Fatalf("%q: %v", res.Body, err)
	}
	if got.Error.Code != code || got.Error.Message == "" || got.Error.Type == "" || got.Error.Param != nil {
		t.Errorf("got %+v, want code %s", got.Error, code)
	}
	if ct := res.Values("Content-Type"); len(ct) != 1 || ct[0] != "application/json" {
		t.Errorf("content type %q", ct)
	}
}

// silentListener takes connections into its backlog and never answers.
func silentListener(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln.Addr().String()
}

// refusedAddress is one that nobody listens on, and that no test can be given.
func refusedAddress() string { return "127.0.0.1:1" }

// unknownName is too long to be looked up: no name server has a say in it.
func unknownName() string { return strings.Repeat("x", 64) + ".invalid" }

func TestUnreachableUpstreams(t *testing.T) {
	t.Parallel()
	const key = "fake-AIzaKEY-0009"
	short := 30 * time.Millisecond
	for _, c := range []struct {
		name, base string
		timeouts   proxy.Timeouts
		status     int
		code       string
		state      string
	}{
		{"refused", "http://" + refusedAddress(), proxy.Timeouts{}, 502, "upstream_unreachable", "upstream_error"},
		{"unknown name", "http://" + unknownName(), proxy.Timeouts{}, 502, "upstream_unreachable", "upstream_error"},
		{"no tls there", "https://" + refusedAddress(), proxy.Timeouts{}, 502, "upstream_unreachable", "upstream_error"},
		{"tls never answers", "https://" + silentListener(t), proxy.Timeouts{Connect: short}, 504, "upstream_connect_timeout", "timeout_connect"},
		{"no head", "http://" + silentListener(t), proxy.Timeouts{Header: short}, 504, "upstream_header_timeout", "timeout_header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, c.base, func(_ *proxy.Config, u *proxy.Upstream) {
				u.Timeouts = c.timeouts
				u.Prefix = "/v1beta"
			})
			res := call(t, p.addr, line("POST", "/v1beta/models/g:generateContent?key="+key, "x-goog-api-key: "+key, "Content-Length: 2")+"{}")
			if res.Status() != c.status {
				t.Errorf("status %d, want %d", res.Status(), c.status)
			}
			wantProblem(t, res, c.code)
			eventually(t, "state "+c.state+" in the log", func() bool { return strings.Contains(p.logs.String(), "state="+c.state) })
			logs := p.logs.String()
			base, err := url.Parse(c.base)
			if err != nil {
				t.Fatal(err)
			}
			for _, hidden := range []string{key, "generateContent", base.Host} {
				if strings.Contains(string(res.Body), hidden) || hidden != base.Hostname() && strings.Contains(logs, hidden) {
					t.Errorf("%q is in the answer or the log:\n%s\n%s", hidden, res.Body, logs)
				}
			}
			if !strings.Contains(logs, "host="+base.Hostname()) || !strings.Contains(logs, "reason=") {
				t.Errorf("the log names no host or no reason: %s", logs)
			}
		})
	}
}

func TestTimersInTheAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, raw string
		timeouts  proxy.Timeouts
		state     string
	}{
		{"first byte", answer("200 OK\r\nTransfer-Encoding: chunked", ""), proxy.Timeouts{FirstByte: 30 * time.Millisecond}, "timeout_first_byte"},
		{"first byte, length", answer("200 OK\r\nContent-Length: 9", ""), proxy.Timeouts{FirstByte: 30 * time.Millisecond}, "timeout_first_byte"},
		{"idle", answer("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n"), proxy.Timeouts{FirstByte: time.Minute, Idle: 2 * time.Second}, "timeout_idle"}, // the limit of sending, too,
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
				if _, err := u.ReadRequest(); err == nil && u.Send(c.raw) == nil {
					u.AwaitClose()
				}
			})
			p := start(t, up.URL(), func(_ *proxy.Config, u *proxy.Upstream) { u.Timeouts = c.timeouts })
			res := call(t, p.addr, post("{}"))
			if res.Status() != 200 || !res.Cut {
				t.Errorf("got %+v, want a 200 that is cut", res)
			}
			eventually(t, "state in the log", func() bool { return strings.Contains(p.logs.String(), "state="+c.state) })
		})
	}
}

// TestUpstreamThatDoesNotRead: sending makes no progress, and it is not the
// client's fault.
func TestUpstreamThatDoesNotRead(t *testing.T) {
	t.Parallel()
	p := start(t, "http://"+silentListener(t), func(_ *proxy.Config, u *proxy.Upstream) {
		u.Timeouts = proxy.Timeouts{Idle: 3 * time.Second, Header: 3 * time.Second}
	})
	c := dial(t, p.addr)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Write([]byte(post(strings.Repeat("x", 64<<20)))) // ends when the proxy gives up
	}()
	if res := c.answer(t, "POST"); res.Status() != 504 {
		t.Errorf("got %d", res.Status())
	}
	c.Close()
	<-done
}

// TestLongStreamIsNotCut: limits are per phase and per read, none on the whole.
func TestLongStreamIsNotCut(t *testing.T) {
	t.Parallel()
	limit := 5 * time.Second
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		if _, err := u.ReadRequest(); err != nil || u.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") != nil {
			return
		}
		for range 15 {
			time.Sleep(limit / 10) // the upstream's pace is what is tested
			if u.Send("1\r\nx\r\n") != nil {
				return
			}
		}
		_ = u.Send("0\r\n\r\n")
	})
	p := start(t, up.URL(), func(c *proxy.Config, u *proxy.Upstream) {
		c.ReadHeaderTimeout, c.IdleTimeout = limit, limit
		u.Timeouts = proxy.Timeouts{Connect: limit, Header: limit, FirstByte: limit, Idle: limit}
	})
	res := call(t, p.addr, post("{}"))
	if string(res.Body) != strings.Repeat("x", 15) || res.Cut {
		t.Errorf("got %+v", res)
	}
}

func TestBrokenRequestBody(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
	p := start(t, up.URL(), nil)
	res := call(t, p.addr, line("POST", "/v1/x", "Transfer-Encoding: chunked")+"3\r\nabc\r\nzz\r\n")
	if res.Status() != 400 {
		t.Errorf("got %d", res.Status())
	}
	wantProblem(t, res, "invalid_body")
}
