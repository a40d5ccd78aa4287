package e2e

import (
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newTraceID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// recorded is what the record must say of a scenario.
type recorded struct {
	State, Text, Finish, ErrorMessage string
	Status, Tokens                    int
	Complete, Stream, Judged          bool
	ToolCalls                         []seenCall
}

func wantRecorded() map[string]recorded {
	a := seenCall{"call_a", "weather", `{"city": "Köln"}`}
	b := seenCall{"call_b", "clock", `{"city":"東京"}`}
	return map[string]recorded{
		"text":           {State: "complete", Status: 200, Text: replyText, Finish: "stop", Tokens: 30, Complete: true, Judged: true},
		"stream":         {State: "complete", Status: 200, Text: replyText, Finish: "stop", Tokens: 30, Complete: true, Stream: true, Judged: true},
		"tools":          {State: "complete", Status: 200, Finish: "tool_calls", Tokens: 30, Complete: true, ToolCalls: []seenCall{a}},
		"parallel_tools": {State: "complete", Status: 200, Finish: "tool_calls", Tokens: 30, Complete: true, Stream: true, ToolCalls: []seenCall{a, b}},
		"bad_request":    {State: "complete", Status: 400, ErrorMessage: "this model takes no greetings"},
		"rate_limited":   {State: "complete", Status: 429, ErrorMessage: "too many greetings"},
		"cut":            {State: "upstream_truncated", Status: 200, Text: "Grüße zurück, 世界! ", Stream: true},
		"leave":          {State: "client_cancelled", Status: 200, Stream: true},
	}
}

// TestSDKs: unmodified SDKs see through the proxy what they see without it, and
// each call is one row that says the same.
func TestSDKs(t *testing.T) {
	r := startAll(t)
	for _, s := range sdks() {
		for _, scenario := range scenarios() {
			t.Run(s.name+"/"+scenario, func(t *testing.T) {
				direct := s.call(t, r.upstream.URL+"/v1", scenario, newTraceID())
				traceID := newTraceID()
				through := s.call(t, r.base(), scenario, traceID)
				if diff := cmp.Diff(direct, through); diff != "" {
					t.Errorf("the application sees a difference (-direct +through the proxy)\n%s", diff)
				}
				got := r.only(t, traceID)
				checkRecorded(t, got, s.name, scenario, through)
				checkTrace(t, r, traceID, scenario)
				if want := wantRecorded()[scenario]; want.Judged {
					checkVerdicts(t, r, got)
				}
			})
		}
	}
	t.Run("the upstream notices who leaves", func(t *testing.T) {
		// Each SDK left twice, once through the proxy.
		await(t, "clients that left", 20*time.Second, func() bool { return r.upstream.leavers() == 2*len(sdks()) })
	})
	t.Run("calls that failed or only call tools are not judged", func(t *testing.T) {
		for _, v := range r.verdicts(t, url.Values{"limit": {"200"}}) {
			var c call
			r.read(t, "/inferences/"+v.InferenceID, nil, &c)
			if c.Reply.Text == nil || *c.Reply.Text != replyText {
				t.Errorf("verdict on %s, state %s", *c.RequestModel, c.TerminalState)
			}
		}
	})
}

func checkRecorded(t *testing.T, c call, client, scenario string, app seen) {
	t.Helper()
	got := recorded{
		State: c.TerminalState, Status: c.Status, Complete: c.Complete, Stream: c.Stream,
		Text: deref(c.Reply.Text), Finish: deref(c.FinishReason),
	}
	if len(c.Reply.ToolCalls) > 0 {
		got.ToolCalls = c.Reply.ToolCalls
	}
	if c.Usage != nil && c.Usage.TotalTokens != nil {
		got.Tokens = *c.Usage.TotalTokens
	}
	want := wantRecorded()[scenario]
	if want.ErrorMessage != "" && c.Error != nil {
		got.ErrorMessage = deref(c.Error.Message)
	}
	if scenario == "leave" { // how much arrived before the client left is up to chance
		if !strings.HasPrefix(got.Text, "on on ") {
			t.Errorf("text of the call that was left: %q", got.Text)
		}
		got.Text = ""
	}
	got.Judged = want.Judged
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the record (-want +got)\n%s", diff)
	}
	if app.ID != nil && deref(c.ResponseID) != *app.ID {
		t.Errorf("response id %q, the application saw %q", deref(c.ResponseID), *app.ID)
	}
	if deref(c.RequestModel) != "scripted-"+scenario {
		t.Errorf("model %q", deref(c.RequestModel))
	}
	if deref(c.ParentSpanID) != callerSpan {
		t.Errorf("parent span %q, the application's is %q", deref(c.ParentSpanID), callerSpan)
	}
	if deref(c.ConversationID) != client+"-"+scenario {
		t.Errorf("conversation %q", deref(c.ConversationID))
	}
	if n := len(c.Messages); n != 2 || c.Messages[0].Parts[0].Content != "You are terse." ||
		c.Messages[1].Parts[0].Content != client+" "+scenario+": Grüße, 世界 👋" {
		t.Errorf("messages: %+v", c.Messages)
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// checkTrace: the upstream was given a child span of the same trace, and none of
// our own headers.
func checkTrace(t *testing.T, r *rig, traceID, scenario string) {
	t.Helper()
	for _, req := range r.upstream.seen(scenario) {
		parent := req.Header.Get("Traceparent")
		if !strings.Contains(parent, traceID) {
			continue
		}
		if strings.Contains(parent, callerSpan) {
			t.Errorf("the upstream was sent the caller's span: %s", parent)
		}
		for name := range req.Header {
			if strings.HasPrefix(name, "Docket-") {
				t.Errorf("the upstream was sent %s", name)
			}
		}
		return
	}
	t.Errorf("the upstream saw no call of trace %s", traceID)
}

func checkVerdicts(t *testing.T, r *rig, c call) {
	t.Helper()
	var got []verdict
	await(t, "verdicts", time.Minute, func() bool {
		got = r.verdicts(t, url.Values{"trace_id": {c.TraceID}})
		return len(got) >= 3
	})
	outcomes := map[string]string{}
	for _, v := range got {
		outcomes[v.Criterion] = v.Outcome
		if v.InclusionP != 1 || v.InferenceID != c.ID {
			t.Errorf("verdict %+v", v)
		}
	}
	want := map[string]string{"helpful": "pass", "honest": "fail", "brief": "pass"}
	if diff := cmp.Diff(want, outcomes); diff != "" || len(got) != 3 {
		t.Errorf("%d verdicts (-want +got)\n%s", len(got), diff)
	}
}
