// Package micro measures single steps that recording an exchange may need.
//
//	go test -bench . -benchmem ./micro
package micro

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/bytedance/sonic"
	"github.com/bytedance/sonic/ast"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/tidwall/gjson"

	"docket/bench/internal/payload"
)

type request struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

type event struct {
	ID      string `json:"id"`
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     uint32 `json:"prompt_tokens"`
		CompletionTokens uint32 `json:"completion_tokens"`
	} `json:"usage"`
}

var (
	small  = payload.ChatRequest("mock-model", true, 2<<10)
	large  = payload.ImageRequest("mock-model", true, 1<<20)
	stream = bytes.Join(payload.ChatChunks(100, 16), nil)
	sink   int
)

func sizes(b *testing.B, f func(b *testing.B, p []byte)) {
	for _, c := range []struct {
		name string
		p    []byte
	}{{"2KB", small}, {"1MB", large}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.p)))
			b.ReportAllocs()
			f(b, c.p)
		})
	}
}

func BenchmarkRequestStdlib(b *testing.B) {
	sizes(b, func(b *testing.B, p []byte) {
		for b.Loop() {
			var r request
			if err := json.Unmarshal(p, &r); err != nil {
				b.Fatal(err)
			}
			sink += len(r.Messages)
		}
	})
}

func BenchmarkRequestSonic(b *testing.B) {
	sizes(b, func(b *testing.B, p []byte) {
		for b.Loop() {
			var r request
			if err := sonic.Unmarshal(p, &r); err != nil {
				b.Fatal(err)
			}
			sink += len(r.Messages)
		}
	})
}

// Only the fields that routing and sampling need, without checking the rest.
func BenchmarkRequestTwoFieldsGJSON(b *testing.B) {
	sizes(b, func(b *testing.B, p []byte) {
		for b.Loop() {
			v := gjson.GetManyBytes(p, "model", "stream")
			sink += len(v[0].Str)
		}
	})
}

func BenchmarkRequestTwoFieldsSonic(b *testing.B) {
	sizes(b, func(b *testing.B, p []byte) {
		for b.Loop() {
			n, err := sonic.Get(p, "model")
			if err != nil {
				b.Fatal(err)
			}
			s, _ := n.String()
			m, err := sonic.GetWithOptions(p, ast.SearchOptions{}, "stream")
			if err != nil {
				b.Fatal(err)
			}
			t, _ := m.Bool()
			if t {
				sink += len(s)
			}
		}
	})
}

func BenchmarkRequestValid(b *testing.B) {
	sizes(b, func(b *testing.B, p []byte) {
		for b.Loop() {
			if !json.Valid(p) {
				b.Fatal("invalid")
			}
		}
	})
}

func BenchmarkSHA256(b *testing.B) {
	sizes(b, func(b *testing.B, p []byte) {
		for b.Loop() {
			s := sha256.Sum256(p)
			sink += int(s[0])
		}
	})
}

func BenchmarkCRC32C(b *testing.B) {
	sizes(b, func(b *testing.B, p []byte) {
		for b.Loop() {
			sink += int(crc32.Checksum(p, payload.Table))
		}
	})
}

// Copying a body in reads of 32 KB into a buffer that starts empty.
func BenchmarkTeeNew(b *testing.B) {
	sizes(b, func(b *testing.B, p []byte) {
		for b.Loop() {
			var buf bytes.Buffer
			tee(&buf, p)
			sink += buf.Len()
		}
	})
}

// The same into a pooled one.
func BenchmarkTeePooled(b *testing.B) {
	pool := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	sizes(b, func(b *testing.B, p []byte) {
		for b.Loop() {
			buf := pool.Get().(*bytes.Buffer)
			buf.Reset()
			tee(buf, p)
			sink += buf.Len()
			pool.Put(buf)
		}
	})
}

func tee(w io.Writer, p []byte) {
	for len(p) > 0 {
		n := min(len(p), 32<<10)
		_, _ = w.Write(p[:n])
		p = p[n:]
	}
}

func events(f func(data []byte)) {
	for b := stream; len(b) > 0; {
		e, rest, _ := bytes.Cut(b, []byte("\n\n"))
		b = rest
		data, ok := bytes.CutPrefix(e, []byte("data: "))
		if ok && !bytes.Equal(data, []byte("[DONE]")) {
			f(data)
		}
	}
}

func assemble(b *testing.B, decode func([]byte, any) error) {
	b.ReportAllocs()
	for b.Loop() {
		var text []byte
		var ev event
		events(func(data []byte) {
			ev.Choices = ev.Choices[:0]
			if err := decode(data, &ev); err != nil {
				b.Fatal(err)
			}
			if len(ev.Choices) > 0 {
				text = append(text, ev.Choices[0].Delta.Content...)
			}
		})
		if !strings.HasPrefix(string(text), "the ") {
			b.Fatalf("%q", text)
		}
	}
}

// All 100 chunks of a stream, joined to the text of the answer.
func BenchmarkStreamStdlib(b *testing.B) { assemble(b, json.Unmarshal) }
func BenchmarkStreamSonic(b *testing.B)  { assemble(b, sonic.Unmarshal) }

func BenchmarkStreamGJSON(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var text []byte
		events(func(data []byte) {
			text = append(text, gjson.GetBytes(data, "choices.0.delta.content").Str...)
		})
		sink += len(text)
	}
}

// Only the split into events, which any of the above must do.
func BenchmarkStreamSplit(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		events(func(data []byte) { sink += len(data) })
	}
}

// Handing each chunk to another goroutine, against handing over the whole.
func BenchmarkHandoffChunks(b *testing.B) { handoff(b, 100) }
func BenchmarkHandoffWhole(b *testing.B)  { handoff(b, 1) }

func handoff(b *testing.B, parts int) {
	ch := make(chan []byte, 1024)
	done := make(chan int)
	go func() {
		n := 0
		for p := range ch {
			n += len(p)
		}
		done <- n
	}()
	b.ReportAllocs()
	size := len(stream) / parts
	for b.Loop() {
		for i := range parts {
			p := make([]byte, size)
			copy(p, stream[i*size:])
			ch <- p
		}
	}
	close(ch)
	sink += <-done
}

func BenchmarkCompress(b *testing.B) {
	// A block as an insert would send it: many exchanges one after another.
	block := bytes.Repeat(append(append([]byte{}, small...), stream...), 32)
	text := bytes.Repeat(small, 512)
	for _, in := range []struct {
		name string
		p    []byte
	}{{"streams", block}, {"prompts", text}, {"image", large}} {
		for _, l := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault} {
			b.Run(in.name+"/zstd-"+l.String(), func(b *testing.B) {
				enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(l), zstd.WithEncoderConcurrency(1))
				if err != nil {
					b.Fatal(err)
				}
				var dst []byte
				b.SetBytes(int64(len(in.p)))
				for b.Loop() {
					dst = enc.EncodeAll(in.p, dst[:0])
				}
				b.ReportMetric(float64(len(in.p))/float64(len(dst)), "ratio")
			})
		}
		b.Run(in.name+"/lz4", func(b *testing.B) {
			var c lz4.Compressor
			dst := make([]byte, lz4.CompressBlockBound(len(in.p)))
			var n int
			b.SetBytes(int64(len(in.p)))
			for b.Loop() {
				n, _ = c.CompressBlock(in.p, dst)
			}
			if n > 0 {
				b.ReportMetric(float64(len(in.p))/float64(n), "ratio")
			}
		})
	}
}
