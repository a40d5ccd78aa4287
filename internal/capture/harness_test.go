package capture_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"docket/internal/capture"
	"docket/internal/record"
)

const chatRequest = `{"model":"m-small","messages":[{"role":"user","content":"hi"}]}`

const chatAnswer = `{"id":"chatcmpl-1","object":"chat.completion","model":"m-small-1","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`

// call is one exchange as a test plays it.
type call struct {
	begin    capture.Begin
	request  io.ReadCloser // nil: chatRequest
	status   int
	header   http.Header
	length   int64    // of the answer, -1 if not announced
	chunks   []string // of the answer
	answered error    // after the chunks; nil: io.EOF
	takes    int      // how many reads the client waits for; 0: all
	die      bool     // the process dies instead of End
	state    string   // for End
	read     func(x *capture.Exchange, i int, p []byte)
}

func jsonCall(path string) call {
	return call{
		begin: capture.Begin{
			Upstream: "test", API: "openai", Method: "POST", Path: path, UpstreamPath: path, Header: http.Header{},
			ContentLength: int64(len(chatRequest)), TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SpanID: "00f067aa0ba902b7",
			UpstreamSpanID: "00f067aa0ba902b8", TraceFlags: 1, ServerAddress: "api.test", ServerPort: 443,
		},
		status: 200, header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"req-1"}},
		length: int64(len(chatAnswer)), chunks: []string{chatAnswer},
	}
}

func streamCall(events ...string) call {
	c := jsonCall("/v1/chat/completions")
	c.header = http.Header{"Content-Type": {"text/event-stream"}}
	c.length = -1
	c.chunks = events
	return c
}

func chatEvents(words ...string) []string {
	var out []string
	for _, w := range words {
		out = append(out, fmt.Sprintf("data: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"model\":\"m-small-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", w))
	}
	return append(out,
		"data: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"model\":\"m-small-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
		"data: [DONE]\n\n")
}

// chunkBody brings one chunk per read.
type chunkBody struct {
	chunks []string
	err    error
}

func (b *chunkBody) Read(p []byte) (int, error) {
	if len(b.chunks) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		return 0, io.EOF
	}
	n := copy(p, b.chunks[0])
	if b.chunks[0] = b.chunks[0][n:]; b.chunks[0] == "" {
		b.chunks = b.chunks[1:]
	}
	return n, nil
}

func (b *chunkBody) Close() error { return nil }

// play sends the call through a recorder as the proxy does. It returns the
// exchange and what the client got.
func play(t *testing.T, r *capture.Recorder, c call) (*capture.Exchange, []byte) {
	t.Helper()
	x := r.Begin(c.begin)
	if c.request == nil {
		c.request = io.NopCloser(strings.NewReader(chatRequest))
	}
	body := x.RequestBody(c.request)
	if err := x.Start(t.Context()); err != nil {
		t.Fatalf("start: %v", err)
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Fatalf("read the request: %v", err)
	}
	res := &http.Response{
		StatusCode: c.status, Header: c.header, ContentLength: c.length,
		Body: &chunkBody{chunks: append([]string(nil), c.chunks...), err: c.answered},
	}
	x.Response(res)
	var got []byte
	p := make([]byte, 4096)
	for i := 0; c.takes == 0 || i < c.takes; i++ {
		n, err := res.Body.Read(p)
		got = append(got, p[:n]...)
		if c.read != nil {
			c.read(x, i, p[:n])
		}
		if err != nil {
			break
		}
	}
	if !c.die {
		x.End(c.state)
	}
	return x, got
}

func newRecorder(t *testing.T, s capture.Spool, change func(*capture.Config, *capture.Options)) *capture.Recorder {
	t.Helper()
	cfg := capture.DefaultConfig()
	opts := capture.Options{Spool: s, Instance: "proxy-1", MaxWait: time.Minute}
	if change != nil {
		change(&cfg, &opts)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	return capture.NewRecorder(cfg, opts)
}

func newDrainer(s capture.Spool, sink capture.Sink, change func(*capture.Config, *capture.DrainerOptions)) *capture.Drainer {
	cfg := capture.DefaultConfig()
	opts := capture.DrainerOptions{Spool: s, Sink: sink}
	if change != nil {
		change(&cfg, &opts)
	}
	return capture.NewDrainer(cfg, opts)
}

// drain delivers all that is in the spool.
func drain(t *testing.T, s capture.Spool, sink capture.Sink) {
	t.Helper()
	if err := newDrainer(s, sink, nil).Flush(t.Context()); err != nil {
		t.Fatalf("flush: %v", err)
	}
}

func kinds(s *memSpool) string {
	var b bytes.Buffer
	for _, k := range s.kinds() {
		b.WriteByte(map[byte]byte{
			capture.KindBoot: 'B', capture.KindBegin: 'b', capture.KindRequest: 'r', capture.KindDone: 'd',
			capture.KindEnd: 'e', capture.KindGap: 'g',
		}[k])
	}
	return b.String()
}

func full(x record.Inference) bool { return x.CaptureLevel == record.CaptureFull }

var errReset = errors.New("connection reset by peer")
