package proxy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"docket/internal/capture"
	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

// fieldCase is what testdata/fieldcases says must come of an input, as far as
// it is about what passes the proxy.
type fieldCase struct {
	ID    string
	Input struct {
		File, Format string
	}
	Feed struct {
		Splits []int
	}
	ClientClosesAfter int `json:"client_closes_after"`
	CaptureLimit      int `json:"capture_limit"`
	Client            *struct {
		Status     int
		BodySHA256 string `json:"body_sha256"`
		BodyBytes  *int   `json:"body_bytes"`
	}
	Upstream *struct {
		BodySHA256 string `json:"body_sha256"`
		BodyBytes  int    `json:"body_bytes"`
	}
	ClientHeaders   map[string]string `json:"client_headers"`
	UpstreamHeaders map[string]string `json:"upstream_headers"`
	Secrets         []string
	Transport       struct{ Truncated bool }
	Trace           *struct {
		Adopted bool
		TraceID *string `json:"trace_id"`
		Parent  *string `json:"parent_span_id"`
		Sampled *bool
		State   string `json:"tracestate"`
	}
	Record *struct {
		Status   *int
		Complete bool
	}
	input []byte
}

func fieldCases(t *testing.T) []fieldCase {
	t.Helper()
	dir := filepath.Join("..", "..", "testdata", "fieldcases", "cases")
	files, err := filepath.Glob(filepath.Join(dir, "[A-D]*.expect.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no field cases: %v", err)
	}
	var out []fieldCase
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c fieldCase
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if c.input, err = os.ReadFile(filepath.Join(dir, c.Input.File)); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// TestFieldCases sends every case that is an answer or a request through the
// proxy, in each way the bytes can be cut, and compares both ends and the row.
func TestFieldCases(t *testing.T) {
	t.Parallel()
	for _, c := range fieldCases(t) {
		for name, parts := range c.feeds() {
			t.Run(c.ID+" "+name, func(t *testing.T) {
				t.Parallel()
				c.run(t, parts)
			})
		}
	}
}

// feeds cuts the upstream's bytes in four ways; a request case has one.
func (c fieldCase) feeds() map[string][][]byte {
	var raw, body []byte
	switch c.Input.Format {
	case "openai-chat-request", "http-request":
		return map[string][][]byte{"request": {[]byte(plainAnswer)}}
	case "scenario":
		return nil // tests of their own
	}
	switch ext := filepath.Ext(c.Input.File); ext {
	case ".http":
		raw, body = c.input, nil
	case ".sse", ".ndjson", ".json":
		kind := map[string]string{".sse": "text/event-stream", ".ndjson": "application/x-ndjson", ".json": "application/json"}[ext]
		raw, body = []byte("HTTP/1.1 200 OK\r\nContent-Type: "+kind+"\r\nConnection: close\r\n\r\n"), c.input
	}
	if body == nil {
		return map[string][][]byte{"whole": {raw}}
	}
	feeds := map[string][][]byte{"whole": {raw, body}}
	feeds["splits"] = append([][]byte{raw}, cutAt(body, c.Feed.Splits)...)
	feeds["events"] = append([][]byte{raw}, bytes.SplitAfter(body, []byte("\n\n"))...)
	if len(body) < 20_000 {
		feeds["bytes"] = append([][]byte{raw}, bytes.SplitAfter(body, nil)...)
	}
	return feeds
}

// cutParts keeps the first n bytes of the parts, after head.
func cutParts(parts [][]byte, n int, head []byte) [][]byte {
	kept := [][]byte{head}
	for _, p := range parts {
		p = p[:min(n, len(p))]
		kept, n = append(kept, p), n-len(p)
	}
	return kept
}

// readChunked reads a head and n bytes of a chunked body.
func (c *client) readChunked(t *testing.T, n int) {
	t.Helper()
	for text := ""; text != "\r\n"; {
		var err error
		if text, err = c.r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.ReadFull(httputil.NewChunkedReader(c.r), make([]byte, n)); err != nil {
		t.Fatal(err)
	}
}

func cutAt(b []byte, at []int) [][]byte {
	var out [][]byte
	begin := 0
	for _, i := range at {
		out = append(out, b[begin:i])
		begin = i
	}
	return append(out, b[begin:])
}

func (c fieldCase) request() string {
	switch c.Input.Format {
	case "openai-chat-request":
		return post(string(c.input))
	case "http-request":
		return string(c.input)
	}
	return post(`{"model":"m-small","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
}

func (c fieldCase) run(t *testing.T, parts [][]byte) {
	hangup := make(chan struct{})
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		if _, err := u.ReadRequest(); err != nil {
			return
		}
		if stop := c.ClientClosesAfter; stop > 0 {
			parts = cutParts(parts[1:], stop, parts[0])
		}
		for _, p := range parts {
			if u.Send(string(p)) != nil {
				return
			}
		}
		if c.ClientClosesAfter > 0 {
			<-hangup
			u.AwaitClose()
		}
	})
	p := startRecorded(t, config(up.URL(), nil))
	conn := dial(t, p.addr)
	conn.send(t, c.request())
	if c.ClientClosesAfter > 0 {
		conn.readChunked(t, c.ClientClosesAfter)
		conn.Close()
		close(hangup)
	} else {
		c.checkClient(t, conn.answer(t, "POST"))
	}
	batch := p.rows(t, 1)
	c.checkUpstream(t, up.Requests()[0], batch)
	c.checkRow(t, batch.Inferences[0])
	c.checkSecrets(t, p, batch)
}

func (c fieldCase) checkClient(t *testing.T, res upstreamtest.Response) {
	t.Helper()
	if want := c.Client; want != nil && want.Status != 0 {
		sum := sha256.Sum256(res.Body)
		if res.Status() != want.Status || want.BodySHA256 != "" && hex.EncodeToString(sum[:]) != want.BodySHA256 {
			t.Errorf("client got status %d and %d bytes with another hash, want %d", res.Status(), len(res.Body), want.Status)
		}
	}
	if res.Cut != c.Transport.Truncated {
		t.Errorf("cut %v, want %v", res.Cut, c.Transport.Truncated)
	}
	for name, want := range c.ClientHeaders {
		if got := strings.Join(res.Values(name), "|"); got != want {
			t.Errorf("client got %s: %q, want %q", name, got, want)
		}
	}
}

func (c fieldCase) checkUpstream(t *testing.T, r upstreamtest.Request, batch record.Batch) {
	t.Helper()
	if c.Upstream != nil {
		sum := sha256.Sum256(r.Body)
		if hex.EncodeToString(sum[:]) != c.Upstream.BodySHA256 {
			t.Errorf("the upstream got %d bytes with another hash, want %d", len(r.Body), c.Upstream.BodyBytes)
		}
	}
	for name, want := range c.UpstreamHeaders {
		if got := strings.Join(r.Values(name), "|"); got != want {
			t.Errorf("the upstream got %s: %q, want %q", name, got, want)
		}
	}
	if c.Trace == nil {
		return
	}
	inf := batch.Inferences[0]
	parents := r.Values("traceparent")
	if want := "00-" + inf.TraceID + "-" + inf.UpstreamSpanID; len(parents) != 1 || !strings.HasPrefix(parents[0], want) {
		t.Errorf("traceparent %q, want %s-..", parents, want)
	}
	if got := strings.Join(r.Values("tracestate"), ","); got != c.Trace.State {
		t.Errorf("tracestate %q, want %q", got, c.Trace.State)
	}
	if id := c.Trace.TraceID; id != nil && inf.TraceID != *id {
		t.Errorf("trace id %s, want %s", inf.TraceID, *id)
	}
	if id := c.Trace.Parent; id != nil && inf.ParentSpanID != *id || id == nil && inf.ParentSpanID != "" {
		t.Errorf("parent span %q, want %v", inf.ParentSpanID, id)
	}
	if s := c.Trace.Sampled; s != nil && (inf.TraceFlags&1 == 1) != *s {
		t.Errorf("flags %d, sampled should be %v", inf.TraceFlags, *s)
	}
	if strings.Trim(inf.TraceID, "0") == "" || len(inf.TraceID) != 32 {
		t.Errorf("trace id %q", inf.TraceID)
	}
}

func (c fieldCase) checkRow(t *testing.T, inf record.Inference) {
	t.Helper()
	if c.Record == nil {
		return
	}
	if want := c.Record.Status; want != nil && int(inf.Status) != *want {
		t.Errorf("row has status %d, want %d", inf.Status, *want)
	}
	if inf.Complete != c.Record.Complete {
		t.Errorf("row has complete %v (%s), want %v", inf.Complete, inf.TerminalState, c.Record.Complete)
	}
	if c.ClientClosesAfter > 0 && inf.TerminalState != record.StateClientCancelled {
		t.Errorf("row has state %s", inf.TerminalState)
	}
	if c.Transport.Truncated && inf.TerminalState != record.StateUpstreamTruncated {
		t.Errorf("row has state %s", inf.TerminalState)
	}
}

// checkSecrets looks for the canaries everywhere but upstream.
func (c fieldCase) checkSecrets(t *testing.T, p *recorded, batch record.Batch) {
	t.Helper()
	rows, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	var bodies []byte
	for _, b := range batch.Bodies {
		bodies = append(append(bodies, b.Request...), b.Response...)
	}
	families, err := p.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var metrics strings.Builder
	for _, f := range families {
		metrics.WriteString(f.String())
	}
	var spool []byte
	for _, r := range p.spool.records {
		spool = append(spool, r.Data...)
	}
	for _, secret := range c.Secrets {
		for place, text := range map[string]string{"rows": string(rows), "bodies": string(bodies), "logs": p.logs.String(), "metrics": metrics.String(), "spool": string(spool)} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in the %s", secret, place)
			}
		}
	}
}

// TestEchoedKey: an upstream that repeats a key: the client gets it unchanged,
// the record and the log do not have it, also when the answer is cut.
func TestEchoedKey(t *testing.T) {
	t.Parallel()
	const key = "sk-fake-echo-1234567890"
	body := `{"error":{"message":"Incorrect API key provided: ` + key + `"}}`
	for name, length := range map[string]int{"whole": len(body), "cut": len(body) + 9} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(answer("401 Unauthorized\r\nX-Echo: "+key+"\r\nContent-Length: "+itoa(length), body)))
			p := startRecorded(t, config(up.URL(), nil))
			res := call(t, p.addr, post("{}", "Authorization: Bearer "+key, "Docket-Conversation-Id: c-1"))
			if string(res.Body) != body || strings.Join(res.Values("X-Echo"), "") != key {
				t.Errorf("client got %s", res.Body)
			}
			batch := p.rows(t, 1)
			fieldCase{Secrets: []string{key}}.checkSecrets(t, p, batch)
			if got := batch.Inferences[0]; got.Status != http.StatusUnauthorized || got.ConversationID != "c-1" {
				t.Errorf("row %+v", got)
			}
		})
	}
}

// TestEchoedRouteKey: the same for keys that the settings add.
func TestEchoedRouteKey(t *testing.T) {
	t.Parallel()
	keys := []string{"fake-route-key-0001", "fake-other-key-0002", "fake-query-key-0003"}
	body := strings.Join(keys, " and ")
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(answer("401 Unauthorized\r\nContent-Length: "+itoa(len(body)), body)))
	p := startRecorded(t, config(up.URL()+"/v1?key="+keys[2], func(_ *proxy.Config, u *proxy.Upstream) {
		u.SetHeaders = map[string]record.Secret{"Authorization": record.NewSecret("Bearer " + keys[0]), "X-Odd": record.NewSecret(keys[1])}
	}))
	if res := call(t, p.addr, post("{}")); string(res.Body) != body {
		t.Errorf("client got %s", res.Body)
	}
	fieldCase{Secrets: keys}.checkSecrets(t, p, p.rows(t, 1))
}

// TestDialErrorIsScrubbed is field case C03: no URL and no key in the answer,
// the log or the row of a call that reached nobody.
func TestDialErrorIsScrubbed(t *testing.T) {
	t.Parallel()
	const key = "fake-AIzaKEY-0009"
	c := config("http://"+refusedAddress(), nil)
	u := c.Upstreams["test"]
	u.Prefix = "/v1beta"
	c.Upstreams["test"] = u
	p := startRecorded(t, c)
	res := call(t, p.addr, line("POST", "/v1beta/models/g:generateContent?key="+key, "Content-Length: 2")+"{}")
	if res.Status() != 502 || strings.Contains(string(res.Body), key) {
		t.Errorf("got %d %s", res.Status(), res.Body)
	}
	batch := p.rows(t, 1)
	fieldCase{Secrets: []string{key}}.checkSecrets(t, p, batch)
	if got := batch.Inferences[0]; got.Status != 502 || got.TerminalState != record.StateUpstreamError || got.Complete {
		t.Errorf("row has %d %s", got.Status, got.TerminalState)
	}
}

// TestInferenceIDHeader: the id is sent when the settings say so.
func TestInferenceIDHeader(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
		c := config(up.URL(), nil)
		c.InferenceIDHeader = on
		p := startRecorded(t, c)
		got := strings.Join(call(t, p.addr, post("{}")).Values(capture.HeaderInferenceID), "|")
		want := ""
		if id := p.rows(t, 1).Inferences[0].ID; on {
			want = id
		}
		if got != want {
			t.Errorf("on %v: header %q, want %q", on, got, want)
		}
	}
}
