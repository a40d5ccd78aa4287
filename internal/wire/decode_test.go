package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/wire"
)

// FuzzDecode: no bytes make Decode panic, and what it returns is sound.
func FuzzDecode(f *testing.F) {
	for _, c := range readCases(f) {
		if x := c.exchange(); len(x.Request)+len(x.Response) < 4096 {
			f.Add(x.Path, c.header["content-type"], c.header["content-encoding"], x.Request, x.Response, uint16(x.Status), x.RequestCut)
		}
	}
	for _, file := range goldenFiles(f) {
		x := readGolden(f, file).exchange
		f.Add(x.Path, x.ResponseHeader["content-type"], "", x.Request, x.Response, uint16(x.Status), x.RequestCut)
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

// TestManyItems: a few bytes of JSON for each item cannot fill the memory.
func TestManyItems(t *testing.T) {
	many := strings.Repeat("1,", 1<<17) + "1"
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"messages":[` + many + `],"choices":[` + many + `]}`,
		"/v1/responses":        `{"input":[` + many + `],"status":"completed","output":[` + many + `]}`,
		"/v1/messages":         `{"messages":[{"role":"user","content":[` + many + `]}],"content":[{"type":"tool_result","content":[` + many + `]}]}`,
	} {
		d := wire.Decode(wire.Exchange{Method: "POST", Path: path, Status: 200, Request: []byte(body), Response: []byte(body)})
		parts := len(d.Input)
		for _, m := range append(d.Input, d.Output...) {
			parts += len(m.Parts)
		}
		if !d.Undecodable || parts > 500_000 {
			t.Errorf("%s: %d messages and parts, undecodable %v", path, parts, d.Undecodable)
		}
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

// TestDecodeKeepsNothing: what is decoded does not change with the buffers that
// the bytes came in.
func TestDecodeKeepsNothing(t *testing.T) {
	for _, file := range goldenFiles(t) {
		g := readGolden(t, file)
		d := wire.DecodeUnfenced(g.exchange)
		for _, b := range [][]byte{g.exchange.Request, g.exchange.Response} {
			for i := range b {
				b[i] = '#'
			}
		}
		if got := printed(t, d); got != g.want {
			t.Errorf("%s changed", file)
		}
	}
}

// TestDetach: of a large body only the texts stay in memory, and they stay the
// same.
func TestDetach(t *testing.T) {
	x := wire.Exchange{Method: "POST", Path: "/v1/chat/completions", Request: []byte(`{"model":"m-1","user":"u","metadata":{"a":"b"},"messages":[{"role":"user","content":"hi"}],"pad":"` + strings.Repeat("x", 40<<10) + `"}`)}
	small := x
	small.Request = []byte(`{"model":"m-1","user":"u","metadata":{"a":"b"},"messages":[{"role":"user","content":"hi"}]}`)
	if diff := cmp.Diff(wire.Decode(small), wire.Decode(x)); diff != "" {
		t.Error(diff)
	}
}

// TestEndBeyondCopy: an end that only the proxy saw completes a cut copy.
func TestEndBeyondCopy(t *testing.T) {
	body := stream(3)
	x := wire.Exchange{Method: "POST", Path: "/v1/chat/completions", Status: 200, Response: body[:len(body)/2], ResponseCut: true}
	if d := wire.Decode(x); d.Complete {
		t.Error("complete without an end")
	}
	x.EndSeen = true
	if d := wire.Decode(x); !d.Complete {
		t.Error("not complete although the end was seen")
	}
}
