package wire_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"docket/internal/wire"
)

// FuzzDecode: no bytes make Decode panic, and what it returns is sound.
func FuzzDecode(f *testing.F) {
	for _, c := range readCases(f) {
		if x := c.exchange(); len(x.Request)+len(x.Response) < 4096 {
			f.Add(x.Path, c.header["content-type"], c.header["content-encoding"], x.Request, x.Response, uint16(x.Status), x.RequestCut)
		}
	}
	f.Fuzz(func(t *testing.T, path, contentType, encoding string, request, response []byte, status uint16, cut bool) {
		checkSound(t, wire.DecodeUnfenced(wire.Exchange{
			Method: "POST", Path: path, Request: request, Response: response, Status: int(status), RequestCut: cut, ResponseCut: cut,
			ResponseHeader: map[string]string{"content-type": contentType, "content-encoding": encoding},
		}))
	})
}

func stream(chunks int) []byte {
	var b bytes.Buffer
	const head = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764500000,"model":"m-small","system_fingerprint":"fp_1","choices":[`
	fmt.Fprintf(&b, "%s{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", head)
	for i := range chunks {
		fmt.Fprintf(&b, "%s{\"index\":0,\"delta\":{\"content\":\"word%d \"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", head, i)
	}
	fmt.Fprintf(&b, "%s{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\n", head)
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

func BenchmarkDecodeStream(b *testing.B) {
	x := wire.Exchange{
		Method: "POST", Path: "/v1/chat/completions", Status: 200, BodyEnded: true, Response: stream(100),
		Request: []byte(`{"model":"m-small","stream":true,"messages":[{"role":"user","content":"hi"}]}`),
	}
	if d := wire.Decode(x); !d.Complete || len(d.Output) != 1 {
		b.Fatalf("%+v", d)
	}
	b.SetBytes(int64(len(x.Response)))
	b.ReportAllocs()
	for b.Loop() {
		wire.Decode(x)
	}
}

func BenchmarkDecodeJSON(b *testing.B) {
	x := wire.Exchange{
		Method: "POST", Path: "/v1/chat/completions", Status: 200, BodyEnded: true,
		Request:  []byte(`{"model":"m-small","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"` + strings.Repeat("words and ", 190) + `"}]}`),
		Response: []byte(`{"id":"c-1","object":"chat.completion","created":1764500000,"model":"m-small","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("words and ", 75) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":300,"completion_tokens":120,"total_tokens":420}}`),
	}
	b.SetBytes(int64(len(x.Request) + len(x.Response)))
	b.ReportAllocs()
	for b.Loop() {
		wire.Decode(x)
	}
}

func BenchmarkDecodeImage(b *testing.B) {
	x := wire.Exchange{
		Method: "POST", Path: "/v1/chat/completions", Status: 200, BodyEnded: true,
		Request: []byte(`{"model":"m-vision","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("ABCD", 1<<18) + `"}},{"type":"text","text":"What is it?"}]}]}`),
	}
	b.SetBytes(int64(len(x.Request)))
	b.ReportAllocs()
	for b.Loop() {
		wire.Decode(x)
	}
}

// TestBomb: a body that grows without measure when decoded is cut at the bound.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	chunk := bytes.Repeat([]byte("data: {}\n\n"), 1<<16)
	for range 40 {
		if _, err := z.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	d := wire.Decode(wire.Exchange{Method: "POST", Path: "/v1/chat/completions", Status: 200, Response: b.Bytes(), ResponseHeader: map[string]string{"content-encoding": "gzip"}})
	if len(d.Response) != wire.MaxDecoded || !d.ResponseCut || d.Complete {
		t.Errorf("%d bytes, cut %v, complete %v", len(d.Response), d.ResponseCut, d.Complete)
	}
}

// TestDeepNesting: neither stack nor time runs out.
func TestDeepNesting(t *testing.T) {
	deep := strings.Repeat("[", 4<<20)
	for _, body := range []string{deep, `{"messages":` + deep, `{"messages":[{"role":"user","content":` + strings.Repeat(`{"a":`, 1<<20)} {
		d := wire.Decode(wire.Exchange{Method: "POST", Path: "/v1/chat/completions", Status: 200, Request: []byte(body), Response: []byte(body)})
		if !d.Undecodable {
			t.Error("taken for understood")
		}
	}
}
