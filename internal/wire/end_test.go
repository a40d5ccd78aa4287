package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"docket/internal/wire"
)

// endings returns the offsets at which the scanner tells of an end, fed in
// pieces that end at the given offsets.
func endings(contentType string, body []byte, cuts []int) []int {
	s := wire.NewEndScanner(contentType)
	var ends []int
	from := 0
	for _, to := range append(cuts, len(body)) {
		if to < from || to > len(body) {
			continue
		}
		if s.Write(body[from:to]) {
			ends = append(ends, to)
		}
		from = to
	}
	return ends
}

func everyByte(n int) []int {
	cuts := make([]int, 0, n)
	for i := 1; i < n; i++ {
		cuts = append(cuts, i)
	}
	return cuts
}

func TestEndScanner(t *testing.T) {
	const sse, ndjson = "text/event-stream", "application/x-ndjson"
	tests := map[string]struct {
		contentType, body string
		want              string // the body up to the byte that ends it, "" for none
	}{
		"done":               {sse, "data: {}\n\ndata: [DONE]\n\n", "data: {}\n\ndata: [DONE]\n"},
		"done crlf":          {sse, "data: {}\r\n\r\ndata: [DONE]\r\n\r\n", "data: {}\r\n\r\ndata: [DONE]\r"},
		"done cr":            {sse, "data: {}\r\rdata:[DONE]\r\r", "data: {}\r\rdata:[DONE]\r"},
		"no newline":         {sse, "data: {}\n\ndata: [DONE]", ""},
		"other type":         {"text/plain", ": hi\n\ndata: [DONE]\n\n", ": hi\n\ndata: [DONE]\n"},
		"bom":                {sse, "\uFEFFdata: [DONE]\n", "\uFEFFdata: [DONE]\n"},
		"in a text":          {sse, `data: {"content":"data: [DONE]\n"}` + "\n\n", ""},
		"longer word":        {sse, "data: [DONE] " + strings.Repeat("x", 80) + "\n\n", ""},
		"anthropic":          {sse, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", "event: message_stop\ndata: {\"type\":\"message_stop\"}\n"},
		"anthropic unnamed":  {sse, "data: {\"type\": \"message_stop\"}\n\n", "data: {\"type\": \"message_stop\"}\n"},
		"named, type amid":   {sse, "event: message_stop\ndata: {\"a\":1,\"type\":\"message_stop\",\"b\":2}\n\nx", "event: message_stop\ndata: {\"a\":1,\"type\":\"message_stop\",\"b\":2}\n\n"},
		"named, no data":     {sse, "event: message_stop\n\n", ""},
		"not message delta":  {sse, "event: message_delta\ndata: {\"type\":\"message_delta\"}\n\n", ""},
		"responses":          {sse, "data: {\"type\":\"response.completed\",\"response\":{" + strings.Repeat(`"a":1,`, 100) + "\"b\":2}}\n", "data: {\"type\":\"response.completed\",\"response\":{" + strings.Repeat(`"a":1,`, 100) + "\"b\":2}}\n"},
		"responses type end": {sse, "data: {\"response\":{" + strings.Repeat(`"a":1,`, 100) + "\"b\":2},\"type\":\"response.failed\"}\n", "data: {\"response\":{" + strings.Repeat(`"a":1,`, 100) + "\"b\":2},\"type\":\"response.failed\"}\n"},
		"inner type":         {sse, "data: {\"response\":{" + strings.Repeat(`"a":1,`, 100) + "\"type\":\"response.failed\"}}\n\n", ""},
		"quoted type":        {sse, "data: {\"delta\":\"" + strings.Repeat("a", 100) + "\\\"type\\\":\\\"message_stop\"}\n\n", ""},
		"incomplete":         {sse, "data: {\"type\":\"response.incomplete\"}\n", "data: {\"type\":\"response.incomplete\"}\n"},
		"ollama":             {ndjson, "{\"done\":false}\n{\"done\":true,\"x\":{}}\n", "{\"done\":false}\n{\"done\":true,\"x\":{}}"},
		"ollama spaced":      {ndjson, "{\"done\" : true}\n", "{\"done\" : true}"},
		"ollama inner":       {ndjson, "{\"a\":{\"done\":true},\"done\":false}\n", ""},
		"ollama quoted":      {ndjson, `{"a":"\"done\":true","done":false}`, ""},
		"ollama key quoted":  {ndjson, `{"\"done":true,"done":false}`, ""},
		"plain json":         {"application/json", `{"done":true}`, ""},
		"html":               {"text/html", "<html>data: [DONE]\n</html>", ""},
		"empty":              {sse, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			body := []byte(tt.body)
			got := endings(tt.contentType, body, everyByte(len(body)))
			if tt.want == "" {
				if len(got) != 0 {
					t.Errorf("ended at %q", body[:got[0]])
				}
				return
			}
			if len(got) != 1 || string(body[:got[0]]) != tt.want {
				t.Errorf("ended at %v of %d, want %d", got, len(body), len(tt.want))
			}
			if got := endings(tt.contentType, body, nil); len(got) != 1 {
				t.Error("not seen in one write")
			}
		})
	}
}

// TestEndScannerFieldCases feeds each stream in four ways: whole, at its cuts,
// byte by byte, event by event. The end must be seen in all or in none of them,
// and only where the provider ended it.
func TestEndScannerFieldCases(t *testing.T) {
	for _, c := range readCases(t) {
		if c.want.Record == nil || c.header["content-encoding"] != "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			x := c.exchange()
			contentType := c.header["content-type"]
			whole := len(endings(contentType, x.Response, nil)) > 0
			feeds := map[string][]int{"cuts": c.want.Feed.Splits, "bytes": everyByte(len(x.Response)), "events": eventEnds(x.Response)}
			for name, cuts := range feeds {
				if got := len(endings(contentType, x.Response, cuts)) > 0; got != whole {
					t.Errorf("%s: end seen %v, whole: %v", name, got, whole)
				}
			}
			marked := bytes.Contains(x.Response, []byte("[DONE]")) || bytes.Contains(x.Response, []byte("event: message_stop")) ||
				bytes.Contains(x.Response, []byte("event: response.completed")) || bytes.Contains(x.Response, []byte("event: response.failed")) ||
				bytes.Contains(x.Response, []byte("event: response.incomplete")) || bytes.Contains(x.Response, []byte(`"done":true`)) && strings.Contains(contentType, "ndjson")
			if whole != marked {
				t.Errorf("end seen: %v, want %v", whole, marked)
			}
		})
	}
}

func eventEnds(body []byte) []int {
	var cuts []int
	for i := 2; i < len(body); i++ {
		if body[i-1] == '\n' && (body[i-2] == '\n' || i > 2 && body[i-3] == '\n') {
			cuts = append(cuts, i)
		}
	}
	return cuts
}

func TestEndScannerAllocates(t *testing.T) {
	chunk := []byte("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n")
	s := wire.NewEndScanner("text/event-stream")
	if n := testing.AllocsPerRun(100, func() { s.Write(chunk) }); n != 0 {
		t.Errorf("%v allocations a write", n)
	}
}

// FuzzEndScanner: the end is seen or not, wherever the bytes are cut.
func FuzzEndScanner(f *testing.F) {
	for _, c := range readCases(f) {
		if len(c.body) < 4096 {
			f.Add(c.header["content-type"], c.body, uint16(7))
		}
	}
	f.Add("text/event-stream", []byte("data: {\"response\":{},\"type\":\"response.failed\"}\r\n\r\n"), uint16(3))
	f.Fuzz(func(t *testing.T, contentType string, body []byte, step uint16) {
		whole := len(endings(contentType, body, nil)) > 0
		if got := len(endings(contentType, body, everyByte(len(body)))) > 0; got != whole {
			t.Errorf("byte by byte %v, whole %v", got, whole)
		}
		var cuts []int
		for at := int(step) + 1; at < len(body); at += int(step) + 1 {
			cuts = append(cuts, at)
		}
		if got := len(endings(contentType, body, cuts)) > 0; got != whole {
			t.Errorf("in steps %v, whole %v", got, whole)
		}
	})
}

func BenchmarkEndScanner(b *testing.B) {
	chunk := []byte("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1764500000,\"model\":\"m-small\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}]}\n\n")
	s := wire.NewEndScanner("text/event-stream")
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		s.Write(chunk)
	}
}
