package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/ClickHouse/ch-go/proto"
)

// exchange is one request with its answer, as copied on the way through.
type exchange struct {
	start    time.Time
	req, res bytes.Buffer
	status   int
	path     string
	stream   bool
}

type exchangeKey struct{}

// recorder takes finished exchanges off the hot path through a queue bounded in
// bytes (a bound on their number alone lets large bodies fill the memory); when
// it is full an exchange is dropped, and the traffic is not held up.
type recorder struct {
	level  int
	queue  chan *exchange
	queued atomic.Int64
	pool   sync.Pool
	rows   *rows
}

var levels = map[string]int{"tee": 1, "hash": 2, "parse": 3, "rows": 4}

const (
	maxKept   = 4 << 20  // largest buffer that goes back to the pool
	maxQueued = 64 << 20 // bytes of bodies waiting in the queue
	blockRows = 2000
	blockAge  = time.Second
)

func newRecorder(level, codec string) (*recorder, error) {
	l, ok := levels[level]
	if !ok {
		return nil, fmt.Errorf("no capture level %q", level)
	}
	r := &recorder{level: l, queue: make(chan *exchange, 4096)}
	r.pool.New = func() any { return new(exchange) }
	if l >= levels["rows"] {
		method := map[string]compress.Method{"none": compress.None, "lz4": compress.LZ4, "zstd": compress.ZSTD}
		m, ok := method[codec]
		if !ok {
			return nil, fmt.Errorf("no codec %q", codec)
		}
		r.rows = newRows(m)
	}
	return r, nil
}

type teeBody struct {
	io.ReadCloser
	buf *bytes.Buffer
	end func()
}

func (t *teeBody) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.buf.Write(p[:n])
	return n, err
}

func (t *teeBody) Close() error {
	if t.end != nil {
		t.end()
		t.end = nil
	}
	return t.ReadCloser.Close()
}

func (r *recorder) request(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		x := r.pool.Get().(*exchange)
		x.start, x.path = time.Now(), req.URL.Path
		if n := req.ContentLength; n > 0 && n <= maxKept {
			x.req.Grow(int(n))
		}
		req = req.WithContext(context.WithValue(req.Context(), exchangeKey{}, x))
		req.Body = &teeBody{ReadCloser: req.Body, buf: &x.req}
		next.ServeHTTP(w, req)
	})
}

func (r *recorder) response(res *http.Response) error {
	x, ok := res.Request.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil
	}
	x.status = res.StatusCode
	x.stream = res.Header.Get("Content-Type") == "text/event-stream"
	res.Body = &teeBody{ReadCloser: res.Body, buf: &x.res, end: func() {
		n := int64(x.req.Len() + x.res.Len())
		if r.queued.Add(n) <= maxQueued {
			select {
			case r.queue <- x:
				return
			default:
			}
		}
		r.queued.Add(-n)
		r.free(x)
	}}
	return nil
}

func (r *recorder) free(x *exchange) {
	if x.req.Cap() > maxKept || x.res.Cap() > maxKept {
		return
	}
	x.req.Reset()
	x.res.Reset()
	r.pool.Put(x)
}

func (r *recorder) run() {
	tick := time.NewTicker(blockAge)
	for {
		select {
		case x := <-r.queue:
			r.one(x)
			r.queued.Add(-int64(x.req.Len() + x.res.Len()))
			r.free(x)
		case <-tick.C:
			if r.rows != nil {
				r.rows.flush()
			}
		}
	}
}

type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

type chatAnswer struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Message, Delta struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     uint32 `json:"prompt_tokens"`
		CompletionTokens uint32 `json:"completion_tokens"`
	} `json:"usage"`
}

func (r *recorder) one(x *exchange) {
	var digest string
	if r.level >= levels["hash"] {
		a, b := sha256.Sum256(x.req.Bytes()), sha256.Sum256(x.res.Bytes())
		digest = hex.EncodeToString(a[:]) + hex.EncodeToString(b[:])
	}
	if r.level < levels["parse"] {
		return
	}
	var q chatRequest
	_ = json.Unmarshal(x.req.Bytes(), &q)
	text, last := assemble(x)
	if r.rows != nil {
		r.rows.add(x, digest, &q, text, last)
	}
}

// assemble puts the answer's text together, from its events if it was streamed.
func assemble(x *exchange) (string, *chatAnswer) {
	a := new(chatAnswer)
	if !x.stream {
		_ = json.Unmarshal(x.res.Bytes(), a)
		if len(a.Choices) > 0 {
			return a.Choices[0].Message.Content, a
		}
		return "", a
	}
	var text []byte
	for b := x.res.Bytes(); len(b) > 0; {
		e, rest, _ := bytes.Cut(b, []byte("\n\n"))
		b = rest
		data, ok := bytes.CutPrefix(e, []byte("data: "))
		if !ok || bytes.Equal(data, []byte("[DONE]")) {
			continue
		}
		a.Choices = a.Choices[:0]
		_ = json.Unmarshal(data, a)
		if len(a.Choices) > 0 {
			text = append(text, a.Choices[0].Delta.Content...)
		}
	}
	return string(text), a
}

// rows gathers columns and encodes them as a native block.
type rows struct {
	method                                       compress.Method
	start                                        *proto.ColDateTime64
	path, model, id, req, res, text, reason, id2 proto.ColStr
	status                                       proto.ColUInt16
	took, in, out                                proto.ColUInt32
	n                                            int
	buf                                          proto.Buffer
	comp                                         *compress.Writer
}

func newRows(m compress.Method) *rows {
	r := &rows{method: m, start: new(proto.ColDateTime64).WithPrecision(proto.PrecisionMicro)}
	r.comp = compress.NewWriter(compress.LevelZero, m)
	return r
}

func (r *rows) add(x *exchange, digest string, q *chatRequest, text string, a *chatAnswer) {
	r.start.Append(x.start)
	r.took.Append(uint32(time.Since(x.start).Microseconds()))
	r.status.Append(uint16(x.status))
	r.path.Append(x.path)
	r.model.Append(q.Model)
	r.id.Append(a.ID)
	r.id2.Append(digest)
	r.req.AppendBytes(x.req.Bytes())
	r.res.AppendBytes(x.res.Bytes())
	r.text.Append(text)
	r.in.Append(a.Usage.PromptTokens)
	r.out.Append(a.Usage.CompletionTokens)
	r.n++
	if r.n >= blockRows || len(r.req.Buf) > 8<<20 || len(r.res.Buf) > 8<<20 {
		r.flush()
	}
}

func (r *rows) flush() {
	if r.n == 0 {
		return
	}
	in := proto.Input{
		{Name: "start", Data: r.start},
		{Name: "took", Data: &r.took},
		{Name: "status", Data: &r.status},
		{Name: "path", Data: &r.path},
		{Name: "model", Data: &r.model},
		{Name: "id", Data: &r.id},
		{Name: "digest", Data: &r.id2},
		{Name: "req", Data: &r.req},
		{Name: "res", Data: &r.res},
		{Name: "text", Data: &r.text},
		{Name: "in", Data: &r.in},
		{Name: "out", Data: &r.out},
	}
	r.buf.Reset()
	block := proto.Block{Columns: len(in), Rows: r.n}
	_ = block.EncodeBlock(&r.buf, proto.Version, in)
	if r.method != compress.None {
		_ = r.comp.Compress(r.buf.Buf)
	}
	in.Reset()
	r.n = 0
}
