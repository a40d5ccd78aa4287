package capture_test

import (
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/capture"
	"docket/internal/record"
)

func TestJSONExchange(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	c := jsonCall("/v1/chat/completions")
	c.begin.Header = http.Header{
		"Docket-Conversation-Id": {"conv-1"}, "Docket-User": {"u1"}, "Docket-Tags": {"a, b,a"}, "Docket-Prompt-Name": {"greet"},
		"Docket-Project": {"shop"}, "Docket-Environment": {"production"}, "Docket-Metadata-Team": {"blue"}, "Docket-Sources": {"[\"a fact\"]"},
		"Content-Type": {"application/json"}, "Authorization": {"Bearer fake-bearer-0001"},
	}
	x, got := play(t, r, c)
	if string(got) != chatAnswer {
		t.Errorf("client got %q", got)
	}
	if k := kinds(s); k != "Bbe" {
		t.Errorf("records %q, want Bbe", k)
	}
	drain(t, s, sink)
	inf, body := sink.only()
	input, output := uint64(3), uint64(2)
	total := uint64(5)
	want := record.Inference{
		ID: x.ID(), Project: "shop", Environment: "production", Instance: "proxy-1",
		TraceID: c.begin.TraceID, SpanID: c.begin.SpanID, UpstreamSpanID: c.begin.UpstreamSpanID, TraceFlags: 1,
		ConversationID: "conv-1", ConversationSource: "header", ResponseID: "chatcmpl-1", UserID: "u1", PromptName: "greet", Tags: []string{"a", "b"},
		Upstream: "test", Provider: "openai", API: "openai.chat", Operation: "chat", Method: "POST", Path: "/v1/chat/completions",
		RequestModel: "m-small", ResponseModel: "m-small-1", TerminalState: "complete", Status: 200, Complete: true, FinishReason: "stop",
		Usage:  record.Usage{Input: &input, Output: &output, Total: &total, Raw: `{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}`},
		Chunks: 1, RequestBytes: uint64(len(chatRequest)), ResponseBytes: uint64(len(chatAnswer)), UpstreamRequestID: "req-1",
		RequestCRC: checksum(chatRequest), ResponseCRC: checksum(chatAnswer), CaptureLevel: "full", Stratum: "ok",
		Attributes: map[string]string{"metadata.team": "blue", "docket.sources": `["a fact"]`},
	}
	inf.Time, inf.Duration, inf.TimeToFirstToken = time.Time{}, 0, nil
	if diff := cmp.Diff(want, inf); diff != "" {
		t.Errorf("inference (-want +got):\n%s", diff)
	}
	if string(body.Request) != chatRequest || string(body.Response) != chatAnswer {
		t.Errorf("bodies %q and %q", body.Request, body.Response)
	}
	if len(sink.spans) != 2 || sink.spans[1].ParentSpanID != sink.spans[0].SpanID || sink.spans[1].Name != "chat m-small" {
		t.Errorf("spans %+v", sink.spans)
	}
}

func checksum(s string) uint32 { return crc32.Checksum([]byte(s), crc32.MakeTable(crc32.Castagnoli)) }

// TestRecordBeforeLastBytes checks the order that promise 2 rests on: what
// completes an answer is released after its record is appended.
func TestRecordBeforeLastBytes(t *testing.T) {
	events := chatEvents("one", "two")
	whole := strings.Join(events, "")
	tests := map[string]struct {
		call  call
		final string // the read after which the client has all
		want  string // records that must be there by then
	}{
		"content length":        {jsonCall("/v1/chat/completions"), chatAnswer, "Bbe"},
		"end event":             {streamCall(events...), events[len(events)-1], "Bbd"},
		"all in one read":       {streamCall(whole), whole, "Bbd"},
		"opaque, by its length": {withPath(jsonCall("/v1/files"), "/v1/files"), chatAnswer, "Bbe"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newMemSpool()
			r := newRecorder(t, s, nil)
			seen := false
			tt.call.read = func(_ *capture.Exchange, _ int, p []byte) {
				if string(p) == tt.final {
					seen = true
					if k := kinds(s); k != tt.want {
						t.Errorf("records when the last bytes are released: %q, want %q", k, tt.want)
					}
				}
			}
			play(t, r, tt.call)
			if !seen {
				t.Error("the last bytes never came")
			}
		})
	}
}

func withPath(c call, path string) call {
	c.begin.Path, c.begin.UpstreamPath = path, path
	return c
}

// TestEndEventAtEverySplit cuts a stream in two at every byte.
func TestEndEventAtEverySplit(t *testing.T) {
	whole := strings.Join(chatEvents("one", "zwölf"), "")
	for at := 1; at < len(whole); at++ {
		s, sink := newMemSpool(), newMemSink(t)
		r := newRecorder(t, s, nil)
		c := streamCall(whole[:at], whole[at:])
		c.takes = 2
		c.state = record.StateClientCancelled // it leaves once it has all
		play(t, r, c)
		drain(t, s, sink)
		inf, body := sink.only()
		if inf.TerminalState != record.StateComplete || !inf.Complete || string(body.Response) != whole {
			t.Fatalf("split at %d: state %s, complete %v, %d of %d bytes", at, inf.TerminalState, inf.Complete, len(body.Response), len(whole))
		}
	}
}

func TestTerminalStates(t *testing.T) {
	events := chatEvents("one", "two")
	broken := streamCall(events[:2]...)
	broken.answered = errReset
	left := streamCall(events...)
	left.takes = 1
	idle := left
	idle.state = record.StateTimeoutIdle
	tests := map[string]struct {
		call     call
		want     string
		complete bool
		stratum  string
	}{
		"whole stream":  {streamCall(events...), record.StateComplete, true, record.StratumOK},
		"cut upstream":  {broken, record.StateUpstreamTruncated, false, record.StratumError},
		"client left":   {left, record.StateClientCancelled, false, record.StratumOK},
		"idle too long": {idle, record.StateTimeoutIdle, false, record.StratumError},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, sink := newMemSpool(), newMemSink(t)
			play(t, newRecorder(t, s, nil), tt.call)
			drain(t, s, sink)
			inf, _ := sink.only()
			if inf.TerminalState != tt.want || inf.Complete != tt.complete || inf.Stratum != tt.stratum {
				t.Errorf("state %s, complete %v, stratum %s", inf.TerminalState, inf.Complete, inf.Stratum)
			}
		})
	}
}

func TestAnswersWithoutBody(t *testing.T) {
	head := jsonCall("/v1/models")
	head.begin.Method = "HEAD"
	empty := jsonCall("/v1/x")
	empty.status, empty.length, empty.chunks = 204, 0, nil
	for name, c := range map[string]call{"HEAD": head, "204": empty} {
		t.Run(name, func(t *testing.T) {
			s := newMemSpool()
			c.takes = -1 // nothing is read: the head completes the answer
			play(t, newRecorder(t, s, nil), c)
			if k := kinds(s); k != "Bbe" {
				t.Errorf("records %q, want Bbe", k)
			}
		})
	}
}

func TestFail(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	b := jsonCall("/v1/chat/completions").begin
	b.RawQuery = "key=fake-AIzaKEY-0009&alt=sse"
	x := r.Begin(b)
	body := x.RequestBody(io.NopCloser(strings.NewReader(chatRequest)))
	if err := x.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.Fail(record.StateUpstreamError, 502, errorString(`dial "https://api.test/v1?key=fake-AIzaKEY-0009": refused`))
	x.End("")
	body.Close()
	drain(t, s, sink)
	inf, _ := sink.only()
	if inf.TerminalState != record.StateUpstreamError || inf.Status != 502 || inf.ErrorType != record.StateUpstreamError {
		t.Errorf("got %+v", inf)
	}
	if all := sink.everything() + string(s.raw()); strings.Contains(all, "AIzaKEY") {
		t.Error("the key is in the records")
	}
	if inf.Attributes["url.query"] != "key=***&alt=sse" {
		t.Errorf("query %q", inf.Attributes["url.query"])
	}
}

type errorString string

func (e errorString) Error() string { return string(e) }

func TestCaptureLevels(t *testing.T) {
	tests := map[string]struct {
		config, route, header string
		want                  string // level of the row, "" for none
	}{
		"default":                    {"full", "", "", "full"},
		"header lowers":              {"full", "", "metadata", "metadata"},
		"header off":                 {"full", "", "OFF", ""},
		"header cannot raise":        {"full", "metadata", "full", "metadata"},
		"route over settings":        {"metadata", "full", "", "full"},
		"unknown header is no level": {"full", "", "everything", "full"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, sink := newMemSpool(), newMemSink(t)
			r := newRecorder(t, s, func(c *capture.Config, _ *capture.Options) { c.Level = tt.config })
			c := jsonCall("/v1/chat/completions")
			c.begin.Level = tt.route
			c.begin.Header.Set("Docket-Capture", tt.header)
			x, got := play(t, r, c)
			if string(got) != chatAnswer {
				t.Errorf("client got %q", got)
			}
			r.Flush()
			drain(t, s, sink)
			if tt.want == "" {
				if x.ID() != "" || len(sink.rows) != 0 || sink.gapCounts()[record.GapCaptureOff] != 1 {
					t.Errorf("id %q, %d rows, gaps %v", x.ID(), len(sink.rows), sink.gapCounts())
				}
				return
			}
			inf, body := sink.only()
			if inf.CaptureLevel != tt.want || (len(body.Request) > 0) != full(inf) || (len(body.Response) > 0) != full(inf) {
				t.Errorf("level %s, bodies of %d and %d bytes", inf.CaptureLevel, len(body.Request), len(body.Response))
			}
			if inf.RequestBytes != uint64(len(chatRequest)) || inf.ResponseBytes != uint64(len(chatAnswer)) || !inf.Complete || inf.RequestCut {
				t.Errorf("sizes %d and %d, complete %v, cut %v", inf.RequestBytes, inf.ResponseBytes, inf.Complete, inf.RequestCut)
			}
		})
	}
}

// TestSessionHeaderIsNoSecret: the headers that the settings take for the
// conversation and the user are kept, though their names sound like those of
// credentials.
func TestSessionHeaderIsNoSecret(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	c := jsonCall("/v1/chat/completions")
	c.begin.Header.Set("X-Session-Id", "session-4711")
	c.begin.Header.Set("Authorization", "Bearer sk-fake-0001")
	c.chunks = []string{strings.Replace(chatAnswer, "hello", "session-4711, sk-fake-0001", 1)}
	c.length = -1
	play(t, r, c)
	drain(t, s, sink)
	inf, body := sink.only()
	if inf.ConversationID != "session-4711" || !strings.Contains(string(body.Response), `"session-4711, ***"`) {
		t.Errorf("conversation %q, answer %s", inf.ConversationID, body.Response)
	}
}

// TestPrefetchedIsRecorded: a body that came too late for the begin record is not
// handed out: who takes it would not cause the record of it.
func TestPrefetchedIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, newMemSpool(), func(_ *capture.Config, o *capture.Options) { o.MaxWait = 20 * time.Millisecond })
		for came, want := range map[time.Duration]string{0: "{}", time.Second: ""} {
			b := jsonCall("/v1/chat/completions").begin
			b.ContentLength = 2
			x := r.Begin(b)
			in, out := io.Pipe()
			go func() {
				time.Sleep(came)
				_, _ = out.Write([]byte("{}")) // taken as a whole
			}()
			x.RequestBody(in)
			if err := x.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if got := string(x.Prefetched()); got != want {
				t.Errorf("after %v: %q, want %q", came, got, want)
			}
			x.End("")
		}
	})
}
