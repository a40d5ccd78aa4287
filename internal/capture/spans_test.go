package capture_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/capture"
	"docket/internal/record"
)

func TestSpans(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r := newRecorder(t, s, func(c *capture.Config, o *capture.Options) {
		c.Environment = "production"
		o.SampleValue = func(string, string, byte) uint64 { return 0xabc }
		o.Clock = func() time.Time { at = at.Add(time.Second); return at }
	})
	c := jsonCall("/v1/chat/completions")
	c.begin.ParentSpanID, c.begin.TraceState = "00f067aa0ba902b6", "a=b"
	c.begin.Header.Set("Docket-Conversation-Id", "conv-1")
	c.begin.Start = at
	x, _ := play(t, r, c)
	d := newDrainer(s, sink, func(_ *capture.Config, o *capture.DrainerOptions) { o.Version = "1.0" })
	if err := d.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	common := record.Span{
		Time: c.begin.Start, TraceID: c.begin.TraceID, TraceState: "a=b", Flags: 1, ServiceName: "docket-proxy",
		ResourceAttributes: map[string]string{"service.name": "docket-proxy", "service.instance.id": "proxy-1", "deployment.environment.name": "production"},
		ScopeName:          "docket/internal/capture", ScopeVersion: "1.0", StatusCode: "Unset", Duration: sink.rows[0].Duration,
	}
	server, client := common, common
	server.SpanID, server.ParentSpanID, server.Kind, server.Name = c.begin.SpanID, c.begin.ParentSpanID, "Server", "POST /v1/chat/completions"
	server.Attributes = map[string]string{
		"http.request.method": "POST", "url.path": "/v1/chat/completions", "http.response.status_code": "200",
		"docket.inference.id": x.ID(), "docket.terminal_state": "complete", "docket.upstream": "test", "docket.project": "default",
	}
	client.SpanID, client.ParentSpanID, client.Kind, client.Name = c.begin.UpstreamSpanID, c.begin.SpanID, "Client", "chat m-small"
	client.Attributes = map[string]string{
		"http.request.method": "POST", "url.path": "/v1/chat/completions", "http.response.status_code": "200",
		"docket.inference.id": x.ID(), "docket.terminal_state": "complete", "docket.upstream": "test", "docket.project": "default",
		"docket.capture.complete": "true", "docket.sample.rv": "abc", "server.address": "api.test", "server.port": "443",
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m-small",
		"gen_ai.response.model": "m-small-1", "gen_ai.response.id": "chatcmpl-1", "gen_ai.conversation.id": "conv-1",
		"gen_ai.request.stream": "false", "gen_ai.response.finish_reasons": `["stop"]`,
		"gen_ai.usage.input_tokens": "3", "gen_ai.usage.output_tokens": "2",
	}
	if diff := cmp.Diff([]record.Span{server, client}, sink.spans); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestContentOnSpansIsAChoice(t *testing.T) {
	for _, on := range []bool{false, true} {
		s, sink := newMemSpool(), newMemSink(t)
		played(t, newRecorder(t, s, nil), 1)
		d := newDrainer(s, sink, func(c *capture.Config, _ *capture.DrainerOptions) { c.SpanContent = on })
		if err := d.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		attrs := sink.spans[1].Attributes
		if has := strings.Contains(attrs[record.AttrOutputMessages], "hello") && strings.Contains(attrs[record.AttrInputMessages], "hi"); has != on {
			t.Errorf("span_content %v: %v", on, attrs)
		}
	}
}

// TestErrorAnswer: an error of the upstream is a complete exchange that failed.
func TestErrorAnswer(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	c := jsonCall("/v1/chat/completions")
	body := `{"error":{"type":"rate_limit_error","message":"slow down"}}`
	c.status, c.chunks, c.length = 429, []string{body}, int64(len(body))
	c.header.Set("X-Ratelimit-Remaining-Requests", "0")
	c.header.Set("Retry-After", "20")
	c.header.Set("Set-Cookie", "session=fake-cookie-55ee")
	play(t, newRecorder(t, s, nil), c)
	drain(t, s, sink)
	inf, kept := sink.only()
	if inf.TerminalState != record.StateComplete || inf.Complete || inf.Stratum != record.StratumError || inf.ErrorType != "rate_limit_error" || inf.ErrorMessage != "slow down" {
		t.Errorf("got %+v", inf)
	}
	want := map[string]string{"x-ratelimit-remaining-requests": "0", "retry-after": "20"}
	if diff := cmp.Diff(want, inf.Attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if _, ok := kept.ResponseHeaders["set-cookie"]; ok {
		t.Error("a cookie is kept")
	}
	if sink.spans[1].StatusCode != "Error" || sink.spans[0].StatusCode != "Unset" {
		t.Errorf("status of the spans: %s, %s", sink.spans[0].StatusCode, sink.spans[1].StatusCode)
	}
}

// TestNoAllocationPerChunk compares streams of ten and of a thousand chunks.
func TestNoAllocationPerChunk(t *testing.T) {
	r := capture.NewRecorder(capture.DefaultConfig(), capture.Options{Spool: nullSpool{}})
	allocs := func(chunks int) float64 {
		c := streamCall(strings.Split(strings.Repeat("data: {}\n\n|", chunks), "|")...)
		return testing.AllocsPerRun(50, func() { play(t, r, c) })
	}
	few, many := allocs(10), allocs(1000)
	if many-few > 20 { // growing what the test itself collects
		t.Errorf("%v allocations for 10 chunks, %v for 1000", few, many)
	}
}
