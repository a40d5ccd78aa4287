package proxy_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

// TestManyStreamsOfOneConnection: streams that share a connection on both sides
// do not get in each other's way: none is cut, no byte differs.
func TestManyStreamsOfOneConnection(t *testing.T) {
	t.Parallel()
	both := new(http.Protocols)
	both.SetUnencryptedHTTP2(true)
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it
		buf := make([]byte, 1000)
		for { // an answer that goes on while the request comes
			n, err := r.Body.Read(buf)
			if _, werr := w.Write(buf[:n]); werr != nil || err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush() // the client compares
		}
	}))
	up.Config.Protocols = both
	up.Start()
	defer up.Close()
	p := start(t, up.URL, by2)
	transport := &http.Transport{Protocols: both}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			for j := range 8 {
				body := bytes.Repeat(fmt.Appendf(nil, "%d/%d ", i, j), 1+3000*j)
				res, err := client.Post("http://"+p.addr+"/v1/x", "text/plain", struct{ io.Reader }{bytes.NewReader(body)})
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || crc32.ChecksumIEEE(got) != crc32.ChecksumIEEE(body) {
					t.Errorf("%d of %d bytes, %v\n%s", len(got), len(body), err, p.logs)
					return
				}
			}
		})
	}
	calls.Wait()
	transport.CloseIdleConnections()
	p.stop()
}

// TestExpectTo2: the wish to be told to continue passes to an HTTP/2 upstream,
// and its answer back.
func TestExpectTo2(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 401} {
		t.Run(itoa(status), func(t *testing.T) {
			t.Parallel()
			heads := make(chan upstreamtest.Request, 1)
			up := upstreamtest.Start(t, upstreamtest.Over2(nil, func(h *upstreamtest.H2) {
				r, id, err := h.NextHead()
				if err != nil {
					return
				}
				heads <- r
				if status == 200 {
					if h.Headers(id, false, upstreamtest.Field{Name: ":status", Value: "100"}) != nil || h.Received(id, 4) != nil {
						return
					}
				}
				_ = h.Answer(id, answered(t, answer(itoa(status)+" x\r\nContent-Length: 2", "{}")), "POST")
				for h.Pump() == nil {
				}
			}))
			p := start(t, up.URL(), by2)
			c := dial(t, p.addr)
			c.send(t, expecting)
			if status == 200 {
				if got := c.interim(t); got != "HTTP/1.1 100 Continue\r\n" {
					t.Fatalf("got %q", got)
				}
				c.send(t, "body")
			}
			if res := c.answer(t, "POST"); res.Status() != status || string(res.Body) != "{}" || len(res.Interim) != 0 {
				t.Errorf("got %+v", res)
			}
			if r := <-heads; strings.Join(r.Values("Expect"), "") != "100-continue" {
				t.Errorf("the upstream got %+v", r)
			}
		})
	}
}

// TestTimersOver2: a limit that passes resets the stream upstream, and is what
// the client hears of.
func TestTimersOver2(t *testing.T) {
	t.Parallel()
	short := 2 * time.Second
	for _, c := range []struct {
		name     string
		head     bool
		timeouts proxy.Timeouts
		state    string
	}{
		{"header", false, proxy.Timeouts{Header: short}, "timeout_header"},
		{"first byte", true, proxy.Timeouts{FirstByte: short}, "timeout_first_byte"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reset := make(chan http2.ErrCode, 1)
			up := upstreamtest.Start(t, upstreamtest.Over2(nil, func(h *upstreamtest.H2) {
				_, id, err := h.NextRequest()
				if err == nil && c.head {
					err = h.Headers(id, false, upstreamtest.Field{Name: ":status", Value: "200"})
				}
				if err != nil {
					return
				}
				if code, err := h.Reset(id); err == nil {
					reset <- code
				}
				for h.Pump() == nil {
				}
			}))
			p := start(t, up.URL(), func(pc *proxy.Config, u *proxy.Upstream) { by2(pc, u); u.Timeouts = c.timeouts })
			res := call(t, p.addr, post("{}"))
			if want := map[bool]int{false: 504, true: 200}[c.head]; res.Status() != want || res.Cut != c.head {
				t.Errorf("got %+v, want %d", res, want)
			}
			select {
			case code := <-reset:
				if code != http2.ErrCodeCancel {
					t.Errorf("reset with %v", code)
				}
			case <-time.After(patience):
				t.Fatal("the upstream is still asked")
			}
			eventually(t, "state in the log", func() bool { return strings.Contains(p.logs.String(), "state="+c.state) })
		})
	}
}

// TestEarlyAnswerTo2: an answer is whole at the client although the request is
// not, and whatever its status says.
func TestEarlyAnswerTo2(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 401} {
		t.Run(itoa(status), func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, upstreamtest.Over2(nil, func(h *upstreamtest.H2) {
				_, id, err := h.NextHead()
				if err != nil {
					return
				}
				_ = h.Answer(id, answered(t, answer(itoa(status)+" x\r\nContent-Length: 2", "{}")), "POST")
				for h.Pump() == nil {
				}
			}))
			p := start(t, up.URL(), by2)
			c := dial(t, p.addr)
			c.send(t, line("POST", "/v1/x", "Content-Length: 100000")+"begun")
			if res := c.answer(t, "POST"); res.Status() != status || string(res.Body) != "{}" || res.Cut {
				t.Errorf("got %+v", res)
			}
			eventually(t, "the call ends", func() bool { return p.counted("docket_proxy_calls_total", "complete") })
		})
	}
}
