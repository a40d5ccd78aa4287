package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"docket/internal/capture"
	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

// patience is how long a test waits for what must come at once, on a machine
// that does much else.
const patience = 60 * time.Second

// proxied is a running proxy and what it logged.
type proxied struct {
	addr     string
	server   *proxy.Server
	registry *prometheus.Registry
	logs     *logBuffer
	stop     func()
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func textLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// config forwards /v1 to base, with short limits where change does not say
// otherwise.
func config(base string, change func(*proxy.Config, *proxy.Upstream)) proxy.Config {
	c := proxy.DefaultConfig()
	c.AllowedHosts = []string{"proxy.test"}
	c.ShutdownTimeout = time.Second
	u := proxy.Upstream{Prefix: "/v1", BaseURL: base, API: "openai"}
	u.SetDefaults()
	if change != nil {
		change(&c, &u)
	}
	c.Upstreams = map[string]proxy.Upstream{"test": u}
	return c
}

// start runs a proxy in front of base until the test ends.
func start(t *testing.T, base string, change func(*proxy.Config, *proxy.Upstream)) *proxied {
	t.Helper()
	return startWith(t, config(base, change), nil)
}

func startWith(t *testing.T, c proxy.Config, spool capture.Spool) *proxied {
	t.Helper()
	return startWaiting(t, c, spool, 20*time.Millisecond)
}

// startWaiting is startWith where recording waits longer for small bodies.
func startWaiting(t *testing.T, c proxy.Config, spool capture.Spool, maxWait time.Duration) *proxied {
	t.Helper()
	p := &proxied{registry: prometheus.NewRegistry(), logs: &logBuffer{}}
	log := textLog(p.logs)
	recorder := capture.NewRecorder(capture.DefaultConfig(), capture.Options{
		Spool: spool, Log: log, Clock: time.Now, Instance: "test", MaxWait: maxWait,
		SampleValue: func(string, string, byte) uint64 { return 0 },
	})
	server, err := proxy.New(c, proxy.Options{Recorder: recorder, Log: log, Registerer: p.registry, Gatherer: p.registry})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.addr, p.server = ln.Addr().String(), server
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, ln) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(p.stop)
	return p
}

// client is a raw connection with a deadline.
type client struct {
	net.Conn
	r *bufio.Reader
}

func dialRaw(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }

func dial(t *testing.T, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return newClient(c)
}

func newClient(c net.Conn) *client { return &client{c, bufio.NewReader(c)} }

func (c *client) send(t *testing.T, raw string) {
	t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatalf("send: %v", err)
	}
}

func (c *client) answer(t *testing.T, method string) upstreamtest.Response {
	t.Helper()
	res, err := upstreamtest.ReadResponse(c.r, method)
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	return res
}

// call sends a raw request over a connection of its own.
func call(t *testing.T, addr, raw string) upstreamtest.Response {
	t.Helper()
	c := dial(t, addr)
	c.send(t, raw)
	method, _, _ := strings.Cut(raw, " ")
	return c.answer(t, method)
}

// peekTo waits until text has come, and leaves it to be read.
func (c *client) peekTo(t *testing.T, text string) {
	t.Helper()
	for n := len(text); ; n++ {
		b, err := c.r.Peek(n)
		if err != nil {
			t.Fatalf("waiting for %q: %v", text, err)
		}
		if strings.HasSuffix(string(b), text) {
			return
		}
	}
}

// eventually polls until ok says true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never happened: %s", what)
}

func post(body string, fields ...string) string {
	head := "POST /v1/chat/completions HTTP/1.1\r\nHost: proxy.test\r\nContent-Type: application/json\r\n"
	for _, f := range fields {
		head += f + "\r\n"
	}
	return head + "Content-Length: " + itoa(len(body)) + "\r\n\r\n" + body
}

// counted says whether a counter with a label of that value is above 0.
func (p *proxied) counted(name, label string) bool {
	families, err := p.registry.Gather()
	if err != nil {
		return false
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetValue() == label && m.GetCounter().GetValue() > 0 {
					return true
				}
			}
		}
	}
	return false
}
