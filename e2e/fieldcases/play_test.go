package fieldcases

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"docket/internal/upstreamtest"
)

// play is one run of a case.
type play struct {
	c        fieldCase
	feed     feed
	proxy    *program
	traceID  string                // the caller's, "" when the case brings its own
	request  upstreamtest.Request  // as the upstream got it
	response upstreamtest.Response // as the client got it
	row      tree                  // in the list of inferences
}

// patience is how long one step may take on a busy machine.
const patience = 5 * time.Minute

const callerSpan = "00f067aa0ba902b7"

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// play sends the case's call through the proxy.
func (s *suite) play(t *testing.T, c fieldCase, f feed) *play {
	t.Helper()
	p := &play{c: c, feed: f, proxy: s.proxyFor(t, c)}
	name, raw := c.name+"/"+f.name, string(c.input)
	if c.format() == "http-request" {
		name = ""
	} else {
		p.traceID = hash([]byte(name))[:32]
		body := `{"model":"m-small","stream":true,"messages":[{"role":"user","content":"hi"}]}`
		if c.isRequest() {
			body = string(c.input)
		}
		raw = post(c.path(), body, caseHeader+": "+name, "traceparent: 00-"+p.traceID+"-"+callerSpan+"-01")
	}
	a := s.script.add(name, f.answer)
	client := dial(t, p.proxy.addr)
	defer client.Close()
	client.send(t, raw)
	if n := c.number("client_closes_after"); n > 0 {
		client.readSome(t, n)
		_ = client.Close() // that is the case
		awaitClosed(t, a.ended, "the upstream to be left")
	} else {
		p.response = client.answer(t)
		awaitClosed(t, a.ended, "the upstream to be called")
	}
	requests := a.seen()
	if len(requests) != 1 {
		t.Fatalf("%s: the upstream got %d requests", name, len(requests))
	}
	p.request = requests[0]
	return p
}

func awaitClosed(t *testing.T, ch chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("still not: %s", what)
	}
}

// post builds a call.
func post(path, body string, fields ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: proxy.test\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, len(body))
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	return b.String() + "\r\n" + body
}

// client is one connection to the proxy.
type client struct {
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{c, bufio.NewReader(c)}
}

func (c *client) send(t *testing.T, raw string) {
	t.Helper()
	if _, err := io.WriteString(c.Conn, raw); err != nil {
		t.Fatal(err)
	}
}

func (c *client) answer(t *testing.T) upstreamtest.Response {
	t.Helper()
	res, err := upstreamtest.ReadResponse(c.r, "POST")
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return res
}

// body reads the head of an answer and returns what reads its body.
func (c *client) body(t *testing.T) io.Reader {
	t.Helper()
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = c.r.ReadString('\n'); err != nil {
			t.Fatalf("no head: %v", err)
		}
	}
	return httputil.NewChunkedReader(c.r)
}

// readSome reads so many bytes of an answer's body.
func (c *client) readSome(t *testing.T, n int) {
	t.Helper()
	if _, err := io.ReadFull(c.body(t), make([]byte, n)); err != nil {
		t.Fatal(err)
	}
}

// collect waits until the rows of all runs are there.
func (s *suite) collect(t *testing.T, plays []*play) {
	t.Helper()
	var missing string
	limit := time.Now().Add(patience)
	for {
		rows := map[string]tree{}
		for _, r := range s.list(t, url.Values{"project": {"cases"}}) {
			span, _ := r["upstream_span_id"].(string)
			if rows[span] != nil {
				t.Fatalf("two rows with span %s", span)
			}
			rows[span] = r
		}
		missing = ""
		for _, p := range plays {
			if p.row = rows[p.sentSpan()]; p.row == nil {
				missing += " " + p.c.name + "/" + p.feed.name
			}
		}
		switch {
		case missing == "":
			return
		case time.Now().After(limit):
			t.Fatalf("no rows of:%s", missing)
		}
		<-time.After(200 * time.Millisecond)
	}
}

// sentSpan is the span id that the upstream was given.
func (p *play) sentSpan() string {
	parts := strings.Split(strings.Join(p.request.Values("traceparent"), "")+"---", "-")
	return parts[2]
}
