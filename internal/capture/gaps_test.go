package capture_test

import (
	"net/http"
	"testing"

	"docket/internal/record"
	"docket/internal/redact"
)

// TestGapsAreRedacted: a count of gaps has the client's word for its project, and
// not the upstream of its calls. So all rules apply to it.
func TestGapsAreRedacted(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	c := jsonCall("/v1/chat/completions")
	c.begin.Header = http.Header{"Docket-Capture": {"off"}, "Docket-Project": {"ann@example.com"}}
	r.Begin(c.begin).End("")
	r.Flush()
	rules := withRules("", redact.Rule{Pattern: "email", Upstreams: []string{c.begin.Upstream}})
	if err := newDrainer(s, sink, rules).Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(sink.gaps) != 1 || sink.gaps[0].Reason != record.GapCaptureOff || sink.gaps[0].Project != "[redacted:email]" {
		t.Errorf("got %+v", sink.gaps)
	}
}
