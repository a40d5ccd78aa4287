package proxy_test

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"docket/internal/capture"
	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

// TestPanicShowsNothing: a fault of ours cuts the connection, and the log says
// where it was, but not what the panic held.
func TestPanicShowsNothing(t *testing.T) {
	t.Parallel()
	p := start(t, "http://127.0.0.1:1", nil)
	logs := &logBuffer{}
	s := panicking(t, logs, "fake-canary-panic")
	front := httptest.NewServer(s.Handler())
	defer front.Close()
	res, err := front.Client().Post(front.URL+"/v1/x", "text/plain", strings.NewReader("fake-canary-body"))
	if err == nil {
		res.Body.Close()
		t.Errorf("got an answer: %s", res.Status)
	}
	eventually(t, "the panic is logged", func() bool { return strings.Contains(logs.String(), "panic in a handler") })
	if strings.Contains(logs.String(), "fake-canary") {
		t.Errorf("log: %s", logs)
	}
	if res := call(t, p.addr, get("/livez")); res.Status() != 200 {
		t.Errorf("got %d", res.Status())
	}
}

// TestTLSUpstream: connections are kept and found dead under TLS, too.
func TestTLSUpstream(t *testing.T) {
	t.Parallel()
	var conns atomic.Int64
	var last atomic.Value // the client's address of the last connection
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body) // the client compares
	}))
	up.Config.ErrorLog = log.New(io.Discard, "", 0)
	up.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		conns.Add(1)
		last.Store(c.RemoteAddr().String())
		return ctx
	}
	up.StartTLS()
	defer up.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: up.Certificate().Raw})
	if err := os.WriteFile(file, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, up.URL, func(_ *proxy.Config, u *proxy.Upstream) { u.TLS.CAFile = file })
	ears := proxy.NewEars(p.server)
	defer ears.Close()
	c := dial(t, p.addr)
	for i := range 30 {
		if i%3 == 2 {
			ears.Hold(true)
			up.CloseClientConnections()
			eventually(t, "the end arrives", func() bool { return ears.Ended(last.Load().(string)) })
			ears.Hold(false)
		}
		method, want := "POST", strings.Repeat("hello", []int{1, 20_000, 0}[i/3%3])
		request := post(want)
		if want == "" {
			method, request = "GET", get("/v1/models")
		}
		c.send(t, request)
		if res := c.answer(t, method); res.Status() != 200 || string(res.Body) != want {
			t.Fatalf("call %d: got %d %.200s", i, res.Status(), res.Body)
		}
	}
	if n := conns.Load(); n > 20 { // ten times they were all closed
		t.Errorf("%d connections for 30 calls", n)
	}
	untrusting := start(t, up.URL, nil)
	res := call(t, untrusting.addr, post("hello"))
	if res.Status() != 502 || !strings.Contains(string(res.Body), "certificate") {
		t.Errorf("untrusted: got %d %s", res.Status(), res.Body)
	}
	for file, want := range map[string]string{filepath.Join(t.TempDir(), "none"): "no such file", "more_test.go": "no PEM"} {
		_, err := proxy.New(config(up.URL, func(_ *proxy.Config, u *proxy.Upstream) { u.TLS.CAFile = file }), proxy.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "upstreams.test.tls.ca_file") {
			t.Errorf("%s: got %v", file, err)
		}
	}
}

// TestOldClients: HTTP/1.0 gets the same answers in its own framing.
func TestOldClients(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"length":  answer("200 OK\r\nX-A: b\r\nContent-Length: 5", "hello"),
		"chunked": answer("200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked", chunked("hello")),
		"interim": answer("103 Early Hints\r\nLink: </a>", "") + answer("200 OK\r\nX-A: b\r\nContent-Length: 5", "hello"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(raw))
			p := start(t, up.URL(), nil)
			c := dial(t, p.addr)
			c.send(t, "POST /v1/x HTTP/1.0\r\nHost: proxy.test\r\nContent-Length: 2\r\n\r\n{}")
			got, err := io.ReadAll(c.r)
			if err != nil {
				t.Fatal(err)
			}
			if s := string(got); !strings.HasPrefix(s, "HTTP/1.0 200 OK\r\n") || !strings.HasSuffix(s, "\r\n\r\nhello") || strings.Contains(s, "Early") || !strings.Contains(s, "X-A: b") {
				t.Errorf("got %q", s)
			}
		})
	}
}

// TestHeadOfASlowBody: the upstream sees the head of a request although its
// body keeps the proxy waiting.
func TestHeadOfASlowBody(t *testing.T) {
	t.Parallel()
	head := make(chan struct{})
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		r, err := u.ReadHead()
		if err != nil {
			return
		}
		close(head)
		if u.ReadBody(&r) == nil {
			_ = u.Send(plainAnswer)
		}
	})
	p := start(t, up.URL(), nil)
	c := dial(t, p.addr)
	c.send(t, line("POST", "/v1/x", "Content-Length: 4"))
	select {
	case <-head:
	case <-time.After(patience):
		t.Fatal("the upstream has not seen the head")
	}
	c.send(t, "body")
	if res := c.answer(t, "POST"); res.Status() != 200 {
		t.Errorf("got %d", res.Status())
	}
}

func TestHeadLimit(t *testing.T) {
	t.Parallel()
	p := start(t, "http://127.0.0.1:1", func(c *proxy.Config, _ *proxy.Upstream) { c.MaxHeaderBytes = 8 << 10 })
	if res := call(t, p.addr, get("/livez", "X-Long: "+strings.Repeat("a", 64<<10))); res.Status() != 431 {
		t.Errorf("got %d", res.Status())
	}
}

func panicking(t *testing.T, logs *logBuffer, value string) *proxy.Server {
	t.Helper()
	s, err := proxy.New(config("http://127.0.0.1:1", nil), proxy.Options{
		Log: textLog(logs),
		Recorder: capture.NewRecorder(capture.DefaultConfig(), capture.Options{
			Spool: newMemorySpool(), SampleValue: func(string, string, byte) uint64 { panic(value) },
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
