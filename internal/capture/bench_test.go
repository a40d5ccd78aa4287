package capture_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"docket/internal/capture"
	"docket/internal/record"
)

// nullSpool takes everything and keeps nothing.
type nullSpool struct{ capture.Spool }

func (nullSpool) Append(context.Context, byte, ...[]byte) (record.Position, error) {
	return record.Position{}, nil
}

func (nullSpool) AppendReserved(context.Context, byte, ...[]byte) (record.Position, error) {
	return record.Position{}, nil
}

// replay is a body that can be played again.
type replay struct {
	chunks [][]byte
	next   int
}

func (r *replay) Read(p []byte) (int, error) {
	if r.next == len(r.chunks) {
		return 0, io.EOF
	}
	n := copy(p, r.chunks[r.next])
	r.next++
	return n, nil
}

func (r *replay) Close() error { return nil }

func benchHeader() http.Header {
	return http.Header{
		"Authorization": {"Bearer fake-sk-0123456789abcdef0123456789abcdef"}, "Content-Type": {"application/json"},
		"Accept": {"application/json"}, "User-Agent": {"openai-python/1.0"}, "X-Stainless-Lang": {"python"}, "Accept-Encoding": {"gzip"},
	}
}

// BenchmarkExchange is what recording adds to a call, without the spool. "null"
// copies the same bodies past no recorder.
func BenchmarkExchange(b *testing.B) {
	request := []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("word ", 400) + `"}]}`)
	stream := &replay{}
	for i := range 99 {
		stream.chunks = append(stream.chunks, fmt.Appendf(nil, "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d\"}}]}\n\n", i))
	}
	stream.chunks = append(stream.chunks, []byte("data: [DONE]\n\n"))
	image := bytes.Repeat([]byte("QUJD"), 256<<10)
	loads := []struct {
		name    string
		request []byte
		answer  *replay
		kind    string
	}{
		{"json", request, &replay{chunks: [][]byte{bytes.Repeat([]byte("a"), 1024)}}, "application/json"},
		{"stream", request, stream, "text/event-stream"},
		{"image", image, &replay{chunks: [][]byte{bytes.Repeat([]byte("a"), 1024)}}, "application/json"},
	}
	for _, load := range loads {
		for _, name := range []string{"null", "docket"} {
			b.Run(load.name+"/"+name, func(b *testing.B) {
				var r *capture.Recorder
				if name == "docket" {
					r = capture.NewRecorder(capture.DefaultConfig(), capture.Options{Spool: nullSpool{}, MaxWait: time.Second})
				}
				p := make([]byte, 32<<10)
				b.ReportAllocs()
				for b.Loop() {
					benchCall(b, r, load.request, load.answer, load.kind, p)
				}
			})
		}
	}
}

func benchCall(b *testing.B, r *capture.Recorder, request []byte, answer *replay, kind string, p []byte) {
	header := benchHeader()
	var body io.ReadCloser = io.NopCloser(bytes.NewReader(request))
	answer.next = 0
	res := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, ContentLength: -1, Body: answer}
	var x *capture.Exchange
	if r != nil {
		x = r.Begin(capture.Begin{
			Upstream: "test", API: "openai", Method: "POST", Path: "/v1/chat/completions", Header: header, ContentLength: int64(len(request)),
			TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SpanID: "00f067aa0ba902b7", UpstreamSpanID: "00f067aa0ba902b8",
		})
		body = x.RequestBody(body)
		if err := x.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	copyAll(body, p)
	if x != nil {
		x.Response(res)
	}
	copyAll(res.Body, p)
	if x != nil {
		x.End("")
	}
}

func copyAll(r io.Reader, p []byte) {
	for {
		if _, err := r.Read(p); err != nil {
			return
		}
	}
}

// nullSink takes everything.
type nullSink struct{}

func (nullSink) Write(context.Context, record.Batch) error { return nil }

// BenchmarkDrain is what it costs to turn the records of one exchange into rows.
func BenchmarkDrain(b *testing.B) {
	const calls = 1000
	s := newMemSpool()
	r := capture.NewRecorder(capture.DefaultConfig(), capture.Options{Spool: s, MaxWait: time.Second})
	request := []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("word ", 400) + `"}]}`)
	answer := &replay{chunks: [][]byte{[]byte(strings.Replace(chatAnswer, "hello", strings.Repeat("word ", 160), 1))}}
	p := make([]byte, 32<<10)
	for range calls {
		benchCall(b, r, request, answer, "application/json", p)
	}
	recs := slices.Clone(s.recs)
	b.ReportAllocs()
	for b.Loop() {
		s.recs, s.acked, s.keep = slices.Clone(recs), record.Position{}, record.Position{}
		if err := newDrainer(s, nullSink{}, nil).Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/exchange")
}
