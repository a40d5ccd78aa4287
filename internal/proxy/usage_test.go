package proxy_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

const (
	streamRequest = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	askedRequest  = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`
	plainStream   = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\n"
	usageEvent    = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n"
	doneEvent     = "data: [DONE]\n\n"
)

// startInjecting runs a proxy that injects, and waits for request bodies.
func startInjecting(t *testing.T, base string) *recorded {
	t.Helper()
	spool := newMemorySpool()
	c := config(base, func(_ *proxy.Config, u *proxy.Upstream) { u.InjectUsage = true })
	return &recorded{proxied: startWaiting(t, c, spool, patience), spool: spool}
}

// answerUsage sends usage to who asks for it.
func answerUsage(head string) func(*upstreamtest.Conn) {
	return func(c *upstreamtest.Conn) {
		for {
			r, err := c.ReadRequest()
			if err != nil {
				return
			}
			body := plainStream + doneEvent
			if strings.Contains(string(r.Body), "include_usage") {
				body = plainStream + usageEvent + doneEvent
			}
			if c.Send(head+"Content-Length: "+itoa(len(body))+"\r\n\r\n"+body) != nil {
				return
			}
		}
	}
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"

// TestInjectUsage: the upstream is asked, the record has the usage, and the
// client gets what it would have got.
func TestInjectUsage(t *testing.T) {
	up := upstreamtest.Start(t, answerUsage(streamHead))
	p := startInjecting(t, up.URL())
	res := call(t, p.addr, post(streamRequest, "Accept-Encoding: gzip, deflate"))
	if diff := cmp.Diff(plainStream+doneEvent, string(res.Body)); diff != "" || res.Status() != 200 || res.Cut {
		t.Errorf("status %d, cut %v: %s", res.Status(), res.Cut, diff)
	}
	sent := up.Requests()[0]
	if diff := cmp.Diff(askedRequest, string(sent.Body)); diff != "" {
		t.Error(diff)
	}
	if got := sent.Values("Accept-Encoding"); len(got) != 1 || got[0] != "identity" {
		t.Errorf("Accept-Encoding %q", got)
	}
	b := p.rows(t, 1)
	row, body := b.Inferences[0], b.Bodies[0]
	if row.Usage.Total == nil || *row.Usage.Total != 5 || row.Attributes["docket.usage_injected"] != "true" || !row.Complete {
		t.Errorf("usage %+v, attributes %v", row.Usage, row.Attributes)
	}
	if string(body.Request) != streamRequest || string(body.Response) != plainStream+usageEvent+doneEvent {
		t.Errorf("recorded %s and %s", body.Request, body.Response)
	}
}

// TestInjectUsageLeavesAlone: what must not or need not be changed is not.
func TestInjectUsageLeavesAlone(t *testing.T) {
	up := upstreamtest.Start(t, answerUsage(streamHead))
	p := startInjecting(t, up.URL())
	large := strings.Replace(streamRequest, "hi", strings.Repeat("hi", 40<<10), 1)
	requests := []string{
		post(askedRequest), post(strings.Replace(streamRequest, "true", "false", 1)), post(large), post("{" + streamRequest),
		post(streamRequest, "Content-Encoding: identity"), post(streamRequest, "Content-Digest: sha-256=:x:"), post(streamRequest, "Docket-Capture: metadata"),
		strings.Replace(post(streamRequest), "/chat/completions", "/responses", 1),
		"POST /v1/chat/completions HTTP/1.1\r\nHost: proxy.test\r\nTransfer-Encoding: chunked\r\n\r\n" + strconv.FormatInt(int64(len(streamRequest)), 16) + "\r\n" + streamRequest + "\r\n0\r\n\r\n",
	}
	for i, raw := range requests {
		res := call(t, p.addr, raw)
		_, body, _ := strings.Cut(raw, "\r\n\r\n")
		got := up.Requests()[i]
		if strings.Contains(raw, "chunked") {
			body = streamRequest
		}
		want := plainStream + doneEvent
		if strings.Contains(body, "include_usage") {
			want = plainStream + usageEvent + doneEvent
		}
		if string(got.Body) != body || string(res.Body) != want {
			t.Errorf("request %d: the upstream got %.200s, the client %s", i, got.Body, res.Body)
		}
		if len(got.Values("Accept-Encoding")) > 0 {
			t.Errorf("request %d: Accept-Encoding %q", i, got.Values("Accept-Encoding"))
		}
	}
}

// TestInjectUsageEncoded: an answer that is encoded all the same passes as it is.
func TestInjectUsageEncoded(t *testing.T) {
	up := upstreamtest.Start(t, answerUsage(streamHead+"Content-Encoding: br\r\n"))
	p := startInjecting(t, up.URL())
	res := call(t, p.addr, post(streamRequest))
	if string(res.Body) != plainStream+usageEvent+doneEvent || len(res.Values("Content-Length")) != 1 {
		t.Errorf("got %s, fields %v", res.Body, res.Fields)
	}
}

// TestInjectUsageCut: a stream that breaks off is cut for the client, too.
func TestInjectUsageCut(t *testing.T) {
	up := upstreamtest.Start(t, func(c *upstreamtest.Conn) {
		if _, err := c.ReadRequest(); err == nil {
			_ = c.Send(streamHead + "Transfer-Encoding: chunked\r\n\r\n" + strconv.FormatInt(int64(len(plainStream)), 16) + "\r\n" + plainStream + "\r\n") // the client sees
		}
	})
	p := startInjecting(t, up.URL())
	if res := call(t, p.addr, post(streamRequest)); string(res.Body) != plainStream || !res.Cut {
		t.Errorf("cut %v: %s", res.Cut, res.Body)
	}
}

// TestInjectUsageRefused: an upstream that does not know the option is not asked
// again. The client gets its answer.
func TestInjectUsageRefused(t *testing.T) {
	const refusal = `{"error":{"message":"Unknown field: stream_options","type":"invalid_request_error"}}`
	up := upstreamtest.Start(t, func(c *upstreamtest.Conn) {
		for {
			r, err := c.ReadRequest()
			if err != nil {
				return
			}
			raw := streamHead + "Content-Length: " + itoa(len(plainStream)) + "\r\n\r\n" + plainStream
			if strings.Contains(string(r.Body), "stream_options") {
				raw = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: " + itoa(len(refusal)) + "\r\n\r\n" + refusal
			}
			if c.Send(raw) != nil {
				return
			}
		}
	})
	p := startInjecting(t, up.URL())
	if res := call(t, p.addr, post(streamRequest)); res.Status() != 400 || string(res.Body) != refusal {
		t.Errorf("status %d: %s", res.Status(), res.Body)
	}
	if res := call(t, p.addr, post(streamRequest)); res.Status() != 200 || string(res.Body) != plainStream {
		t.Errorf("status %d: %s", res.Status(), res.Body)
	}
}

// TestInjectUsageOfSDK: a client of net/http sees a stream of unknown length.
func TestInjectUsageOfSDK(t *testing.T) {
	up := upstreamtest.Start(t, answerUsage(streamHead))
	p := startInjecting(t, up.URL())
	res, err := http.Post("http://"+p.addr+"/v1/chat/completions", "application/json", strings.NewReader(streamRequest))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || string(got) != plainStream+doneEvent || res.ContentLength != -1 {
		t.Errorf("%v, length %d: %s", err, res.ContentLength, got)
	}
}
