package capture_test

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"docket/internal/capture"
	"docket/internal/record"
)

// imageRequest is a chat with an inline image of about size bytes between texts.
func imageRequest(size int) string {
	return `{"model":"m-vision","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,` +
		strings.Repeat("QUJD", size/3) + `"}},{"type":"text","text":"What is it?"}]}]}`
}

// lastText is the text at the end of the recorded request.
func lastText(b record.Body) string {
	if len(b.Input) == 0 {
		return ""
	}
	text, _ := b.Input[len(b.Input)-1].Text()
	return text
}

// TestBodyOutgrowsLimit: what lies behind an inline image is kept when the image
// alone is larger than the copy may be; what has no such values is cut.
func TestBodyOutgrowsLimit(t *testing.T) {
	long := strings.Repeat("some words ", 3000)
	tests := map[string]struct {
		body, text string
		maxValue   record.ByteSize
		blob       int64
	}{
		"one image":             {imageRequest(45_000), "What is it?", 64 * record.KiB, 45_000},
		"image above max_value": {imageRequest(300_000), "What is it?", 64 * record.KiB, 300_000},
		"low max_value":         {imageRequest(45_000), "What is it?", record.KiB, 45_000},
		"long text":             {`{"model":"m-small","messages":[{"role":"user","content":"` + long + `"}]}`, "", 64 * record.KiB, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, sink := newMemSpool(), newMemSink(t)
			c := jsonCall("/v1/chat/completions")
			c.begin.ContentLength = int64(len(tt.body))
			c.request = io.NopCloser(iotest.HalfReader(strings.NewReader(tt.body)))
			play(t, newRecorder(t, s, func(cfg *capture.Config, _ *capture.Options) {
				cfg.MaxBody, cfg.MaxValue = 16*record.KiB, tt.maxValue
			}), c)
			drain(t, s, sink)
			inf, body := sink.only()
			if !inf.RequestCut || inf.RequestBytes != uint64(len(tt.body)) || inf.RequestCRC != checksum(tt.body) || len(body.Request) > 16<<10 {
				t.Errorf("cut %v, %d of %d bytes, copy of %d", inf.RequestCut, inf.RequestBytes, len(tt.body), len(body.Request))
			}
			if inf.RequestModel == "" || !strings.HasPrefix(lastText(body), "some words") && lastText(body) != tt.text {
				t.Errorf("model %q, text %.40q", inf.RequestModel, lastText(body))
			}
			if tt.blob > 0 && body.Input[0].Parts[0].Bytes != tt.blob {
				t.Errorf("image of %d bytes, want %d", body.Input[0].Parts[0].Bytes, tt.blob)
			}
		})
	}
}

// TestAnswerOutgrowsLimit: the same for an event stream, however it is cut into
// reads.
func TestAnswerOutgrowsLimit(t *testing.T) {
	events := chatEvents("Hel", "lo")
	answer := events[0] + `data: {"image":"` + strings.Repeat("QUJD", 20_000) + `=="}` + "\n\n" + strings.Join(events[1:], "")
	var want string
	for round := range 20 {
		s, sink := newMemSpool(), newMemSink(t)
		chunks := []string{answer}
		if round > 0 {
			chunks = randomCuts(answer)
		}
		play(t, newRecorder(t, s, func(cfg *capture.Config, _ *capture.Options) { cfg.MaxBody = 8 * record.KiB }), streamCall(chunks...))
		drain(t, s, sink)
		inf, body := sink.only()
		if text, _ := body.Output[0].Text(); text != "Hello" || !inf.Complete || !inf.ResponseCut || inf.ResponseBytes != uint64(len(answer)) {
			t.Fatalf("text %q, complete %v, cut %v", text, inf.Complete, inf.ResponseCut)
		}
		if want == "" {
			want = string(body.Response)
		}
		if string(body.Response) != want {
			t.Fatalf("in other reads another copy:\n%s\n%s", body.Response, want)
		}
	}
}

func randomCuts(s string) []string {
	var out []string
	for s != "" {
		n := min(1+rand.IntN(4000), len(s))
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}
