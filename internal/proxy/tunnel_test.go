package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Kept: 1\r\nX-Kept: 2\r\n\r\n"

// switched is an upstream that switches protocols and then does as told.
func switched(t *testing.T, then func(*upstreamtest.Conn)) *upstreamtest.Server {
	return upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		if _, err := u.ReadRequest(); err == nil && u.Send(switching) == nil {
			then(u)
		}
	})
}

// upgraded is a client's connection after the switch.
func upgraded(t *testing.T, c *client) *client {
	t.Helper()
	c.send(t, get("/v1/realtime?model=m-voice", "Connection: Upgrade", "Upgrade: echo"))
	res := c.answer(t, "GET")
	if res.Status() != 101 || strings.Join(res.Values("X-Kept"), "|") != "1|2" || strings.Join(res.Values("Upgrade"), "|") != "echo" || strings.Join(res.Values("Connection"), "|") != "Upgrade" {
		t.Fatalf("got %+v", res)
	}
	return c
}

func (c *client) hears(t *testing.T, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.r, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
}

// TestWebSocket: a library's client and server understand each other through
// the proxy, over either kind of listener and upstream, and the call is one row.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	id := newIdentity(t)
	for _, c := range []struct {
		name             string
		clientTLS, upTLS bool
		version          string
	}{
		{"plain", false, false, ""},
		{"h2c upstream", false, false, "2"},
		{"TLS to the proxy", true, false, ""},
		{"TLS upstream that speaks HTTP/2", false, true, ""},
		{"TLS on both sides", true, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan http.Header, 1)
			up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen <- r.Header.Clone()
				echoMessages(t, w, r)
			}))
			if c.upTLS {
				up.TLS, up.EnableHTTP2 = id.serverConfig("h2", "http/1.1"), true
				up.StartTLS()
			} else {
				up.Start()
			}
			defer up.Close()
			p := startRecorded(t, config(up.URL, func(pc *proxy.Config, u *proxy.Upstream) {
				u.HTTPVersion, u.TLS.CAFile = c.version, id.certFile
				if c.clientTLS {
					id.secured(pc)
				}
			}))
			base, transport := "ws://"+p.addr, &http.Transport{}
			if c.clientTLS {
				base, transport = "wss://"+p.addr, id.transport()
			}
			defer transport.CloseIdleConnections()
			talk(t, base+"/v1/realtime?model=m-voice", &http.Client{Transport: transport})
			header := <-seen
			if got := header.Get("Authorization") + " " + header.Get("Sec-Websocket-Protocol"); got != "Bearer fake-ws-key realtime,beta" {
				t.Errorf("the upstream got %q", got)
			}
			batch := p.rows(t, 1)
			inf := batch.Inferences[0]
			if want := "00-" + callerTrace + "-" + inf.UpstreamSpanID + "-01"; header.Get("Traceparent") != want || inf.TraceID != callerTrace {
				t.Errorf("traceparent %q, want %s", header.Get("Traceparent"), want)
			}
			if inf.TerminalState != record.StateComplete || inf.Status != 101 || inf.Path != "/v1/realtime" || inf.Method != "GET" {
				t.Errorf("row %+v", inf)
			}
			if inf.API != "openai.realtime" || inf.Operation != "realtime" || inf.RequestBytes < 100_000 || inf.ResponseBytes < 100_000 || inf.Duration <= 0 {
				t.Errorf("row has %s, %s, %d and %d bytes in %s", inf.API, inf.Operation, inf.RequestBytes, inf.ResponseBytes, inf.Duration)
			}
			if body := batch.Bodies[0]; len(body.Request) > 0 || len(body.Response) > 0 || inf.RequestCut || inf.ResponseCut || inf.Undecodable {
				t.Errorf("%d and %d bytes were kept; row %+v", len(body.Request), len(body.Response), inf)
			}
			fieldCase{Secrets: []string{"fake-ws-key", "hello from"}}.checkSecrets(t, p, batch)
		})
	}
}

func echoMessages(t *testing.T, w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"beta"}})
	if err != nil {
		t.Errorf("accept: %v", err)
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(1 << 20)
	for {
		kind, data, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		if err := ws.Write(r.Context(), kind, data); err != nil {
			t.Errorf("echo: %v", err)
			return
		}
	}
}

func talk(t *testing.T, url string, c *http.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ws, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient: c, Host: "proxy.test", Subprotocols: []string{"realtime", "beta"},
		HTTPHeader: http.Header{"Authorization": {"Bearer fake-ws-key"}, "Traceparent": {callerParent}},
	})
	if err != nil {
		t.Fatalf("%v, %+v", err, res)
	}
	defer ws.CloseNow()
	ws.SetReadLimit(1 << 20)
	if got := ws.Subprotocol(); got != "beta" {
		t.Errorf("subprotocol %q", got)
	}
	for i, text := range []string{"hello from here", strings.Repeat("x", 100_000), ""} {
		if err := ws.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		kind, data, err := ws.Read(ctx)
		if err != nil || kind != websocket.MessageText || string(data) != text {
			t.Fatalf("message %d: %v, %d bytes, %v", i, kind, len(data), err)
		}
	}
	if err := ws.Close(websocket.StatusNormalClosure, "done"); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestUpgradeHalfClose: either end may close its direction and still hear the
// other.
func TestUpgradeHalfClose(t *testing.T) {
	t.Parallel()
	id := newIdentity(t)
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run("client first "+name, func(t *testing.T) {
			t.Parallel()
			up := switched(t, func(u *upstreamtest.Conn) {
				all, err := io.ReadAll(u) // to the client's half-close
				if err == nil {
					_ = u.Send("heard " + string(all))
				}
			})
			p := startRecorded(t, config(up.URL(), func(c *proxy.Config, _ *proxy.Upstream) {
				if secure {
					id.secured(c)
				}
			}))
			var c *client
			if secure {
				c = id.dialTLS(t, p.addr, "http/1.1")
			} else {
				c = dial(t, p.addr)
			}
			upgraded(t, c).send(t, "ping")
			if err := c.closeWrite(); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(c.r); err != nil || string(rest) != "heard ping" {
				t.Errorf("got %q, %v", rest, err)
			}
			if inf := p.rows(t, 1).Inferences[0]; inf.TerminalState != record.StateComplete || inf.RequestBytes != 4 || inf.ResponseBytes != 10 {
				t.Errorf("row has %s, %d and %d bytes", inf.TerminalState, inf.RequestBytes, inf.ResponseBytes)
			}
		})
	}
	t.Run("upstream first", func(t *testing.T) {
		t.Parallel()
		heard := make(chan string, 1)
		up := switched(t, func(u *upstreamtest.Conn) {
			if u.Send("bye") == nil && u.CloseWrite() == nil {
				all, _ := io.ReadAll(u) // what came counts
				heard <- string(all)
			}
		})
		p := start(t, up.URL(), nil)
		c := upgraded(t, dial(t, p.addr))
		if rest, err := io.ReadAll(c.r); err != nil || string(rest) != "bye" {
			t.Errorf("got %q, %v", rest, err)
		}
		c.send(t, "last words")
		c.Close()
		if got := <-heard; got != "last words" {
			t.Errorf("the upstream heard %q", got)
		}
	})
}

// TestUpgradeEnds: how an upgraded connection ends is in its row, and reaches
// the other side at once.
func TestUpgradeEnds(t *testing.T) {
	t.Parallel()
	await := func(u *upstreamtest.Conn) { u.AwaitClose() }
	for _, c := range []struct {
		name   string
		then   func(*upstreamtest.Conn)
		client func(*testing.T, *client, *recorded)
		state  string
	}{
		{"client closes", await, func(_ *testing.T, c *client, _ *recorded) { c.Close() }, record.StateComplete},
		{"upstream closes", func(*upstreamtest.Conn) {}, func(_ *testing.T, c *client, _ *recorded) {
			_, _ = io.ReadAll(c.r) // until the end reaches the client
			c.Close()
		}, record.StateComplete},
		{"client resets", await, func(t *testing.T, c *client, _ *recorded) { c.reset(t) }, record.StateClientCancelled},
		{"upstream resets", func(u *upstreamtest.Conn) { u.Reset() }, func(_ *testing.T, c *client, _ *recorded) {
			_, _ = io.ReadAll(c.r)
		}, record.StateUpstreamTruncated},
		{"a stop", await, func(_ *testing.T, c *client, p *recorded) {
			p.stop()
			_, _ = io.ReadAll(c.r)
		}, record.StateProxyDied},
		{"half closed and still", func(u *upstreamtest.Conn) {
			for u.Send("") == nil { // the upstream ignores that the client is gone
				if _, err := u.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}, func(t *testing.T, c *client, _ *recorded) {
			if err := c.closeWrite(); err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(c.r)
		}, record.StateTimeoutIdle},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := startRecorded(t, config(switched(t, c.then).URL(), func(pc *proxy.Config, u *proxy.Upstream) {
				pc.ShutdownTimeout = 50 * time.Millisecond
				if c.state == record.StateTimeoutIdle {
					u.Timeouts.Idle = 2 * time.Second
				}
			}))
			conn := upgraded(t, dial(t, p.addr))
			c.client(t, conn, p)
			if inf := p.rows(t, 1).Inferences[0]; inf.TerminalState != c.state || inf.Status != 101 {
				t.Errorf("row has %s %d, want %s\n%s", inf.TerminalState, inf.Status, c.state, p.logs)
			}
		})
	}
}

// TestUpgradeIsNotTimedOut: an upgraded connection may be silent for as long as
// it likes.
func TestUpgradeIsNotTimedOut(t *testing.T) {
	t.Parallel()
	up := switched(t, func(u *upstreamtest.Conn) { _, _ = io.Copy(u, u) }) // until either end closes
	limit := 2 * time.Second
	p := start(t, up.URL(), func(_ *proxy.Config, u *proxy.Upstream) { u.Timeouts.Idle, u.Timeouts.FirstByte = limit, limit })
	c := upgraded(t, dial(t, p.addr))
	time.Sleep(2 * limit) // silence is what is tested
	c.send(t, "ping")
	c.hears(t, "ping")
}

// TestUpgradeEarlyBytes: what the client sends together with its request is not
// lost.
func TestUpgradeEarlyBytes(t *testing.T) {
	t.Parallel()
	up := switched(t, func(u *upstreamtest.Conn) { _, _ = io.Copy(u, u) }) // until either end closes
	p := start(t, up.URL(), nil)
	c := dial(t, p.addr)
	c.send(t, get("/v1/realtime", "Connection: Upgrade", "Upgrade: echo")+"early")
	if res := c.answer(t, "GET"); res.Status() != 101 {
		t.Fatalf("got %d", res.Status())
	}
	c.hears(t, "early")
	c.send(t, "late")
	c.hears(t, "late")
}

// TestUpgradesThatAreNone: a refusal passes as any answer, a switch that nobody
// asked for is an error, and one to HTTP/2 is not passed on.
func TestUpgradesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		fields       []string
		status       int
		upgrade      string // that the upstream sees
	}{
		{"refused", answer("403 Forbidden\r\nContent-Length: 2", "no"), []string{"Connection: Upgrade", "Upgrade: websocket"}, 403, "websocket"},
		{"ignored", plainAnswer, []string{"Connection: keep-alive, Upgrade", "Upgrade: websocket"}, 200, "websocket"},
		{"not asked", switching, nil, 502, ""},
		{"another one", switching, []string{"Connection: Upgrade", "Upgrade: websocket"}, 502, "websocket"},
		{"to HTTP/2", plainAnswer, []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"}, 200, ""},
		{"to HTTP/2 among others", plainAnswer, []string{"Connection: Upgrade", "Upgrade: websocket, H2C"}, 200, ""},
		{"not by Connection", plainAnswer, []string{"Upgrade: websocket"}, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(c.answer))
			p := start(t, up.URL(), nil)
			res := call(t, p.addr, get("/v1/x", c.fields...))
			if res.Status() != c.status {
				t.Errorf("got %d %s", res.Status(), res.Body)
			}
			if c.status == 502 {
				wantProblem(t, res, "upstream_unreachable")
			}
			r := up.Requests()[0]
			if got := strings.Join(r.Values("Upgrade"), "|"); got != c.upgrade || len(r.Values("HTTP2-Settings")) > 0 {
				t.Errorf("the upstream got %+v", r.Fields)
			}
		})
	}
	h := dial2(t, start(t, upstreamtest.Start(t, upstreamtest.AnswerAndClose(switching)).URL(), nil).addr)
	if res := response2(t, h, send2(t, h, get("/v1/x"))); res.Status() != 502 {
		t.Errorf("over HTTP/2: %d", res.Status())
	}
}

// closeWrite ends what the client sends.
func (c *client) closeWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("%T cannot be closed by halves", c.Conn)
}

// reset ends the connection with a TCP reset.
func (c *client) reset(t *testing.T) {
	t.Helper()
	if linger, ok := c.Conn.(interface{ SetLinger(int) error }); !ok || linger.SetLinger(0) != nil {
		t.Fatal("no reset is possible")
	}
	c.Close()
}
