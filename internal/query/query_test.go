package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/query"
	"docket/internal/record"
)

// fakeStore answers from memory, and remembers the filters it was asked with.
type fakeStore struct {
	rows     []record.Inference
	bodies   map[string]record.Body
	verdicts []record.Verdict
	calls    []record.JudgeCall
	err      error

	filter        record.InferenceFilter
	verdictFilter record.VerdictFilter
}

func (f *fakeStore) Inferences(_ context.Context, filter record.InferenceFilter) ([]record.Inference, error) {
	f.filter = filter
	var out []record.Inference
	for _, r := range f.rows {
		older := filter.Before.ID == "" || r.Time.Before(filter.Before.Time) || r.Time.Equal(filter.Before.Time) && r.ID < filter.Before.ID
		if older && len(out) < filter.Limit && (filter.ConversationID == "" || r.ConversationID == filter.ConversationID) {
			out = append(out, r)
		}
	}
	return out, f.err
}

func (f *fakeStore) Inference(_ context.Context, id string) (record.InferenceDetail, error) {
	for _, r := range f.rows {
		if r.ID == id {
			d := record.InferenceDetail{Inference: r, Verdicts: f.verdicts, JudgeCalls: f.calls}
			if b, ok := f.bodies[id]; ok {
				d.Body = &b
			}
			return d, f.err
		}
	}
	return record.InferenceDetail{}, fmt.Errorf("inference %s: %w", id, record.ErrNotFound)
}

func (f *fakeStore) InferenceMessages(context.Context, []string) (map[string]record.Body, error) {
	return f.bodies, f.err
}

func (f *fakeStore) Verdicts(_ context.Context, filter record.VerdictFilter) ([]record.Verdict, error) {
	f.verdictFilter = filter
	rows := f.verdicts
	if i := slices.IndexFunc(rows, func(v record.Verdict) bool { return v.ID == filter.Before.ID }); i >= 0 {
		rows = rows[i+1:]
	}
	return rows[:min(len(rows), filter.Limit)], f.err
}

func (f *fakeStore) Ping(context.Context) error { return f.err }

func id(n int) string { return fmt.Sprintf("0197b9a0-0000-7000-8000-%012d", n) }

func text(role, s string) record.Message {
	return record.Message{Role: role, Parts: []record.Part{{Type: record.PartText, Content: s}}}
}

func ptr[T any](v T) *T { return &v }

// conversation is two turns: a question answered by a tool call and its result,
// then a thank-you.
func conversation() *fakeStore {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	call := record.Message{Role: "assistant", FinishReason: "tool_calls", Parts: []record.Part{
		{Type: record.PartReasoning, Content: "look it up"},
		{Type: record.PartToolCall, ID: "call_1", Name: "get_order", Arguments: ptr(`{"id": "o_9"}`)},
	}}
	result := record.Message{Role: "tool", Parts: []record.Part{{Type: record.PartToolCallResponse, ID: "call_1", Response: ptr(`{"status":"lost"}`)}}}
	echo := record.Message{Role: "assistant", Parts: []record.Part{{Type: record.PartToolCall, ID: "call_1", Name: "get_order", Arguments: ptr(`{"id":"o_9"}`)}}} // as clients send it back
	first := record.Inference{
		ID: id(1), Time: start, TraceID: strings.Repeat("ab", 16), SpanID: strings.Repeat("cd", 8), ConversationID: "c/1 ü", ConversationSource: "header",
		RequestModel: "m-small", TerminalState: record.StateComplete, Status: 200, Complete: true, FinishReason: "tool_calls", ToolStep: true,
		Usage: record.Usage{Input: ptr(uint64(7)), CacheRead: ptr(uint64(3)), Output: ptr(uint64(5)), Raw: `{"prompt_tokens":10}`},
	}
	second := first
	second.ID, second.Time, second.FinishReason, second.ToolStep, second.Usage = id(2), start.Add(time.Second), "stop", false, record.Usage{}
	second.CostNanoUSD = ptr(uint64(1_500_000))
	return &fakeStore{
		rows: []record.Inference{second, first},
		bodies: map[string]record.Body{
			id(1): {InferenceID: id(1), Request: []byte(`{"model":"m-small"}`), Response: []byte{0xff, 0xfe}, Input: []record.Message{text("user", "Where is o_9?")}, Output: []record.Message{call}},
			id(2): {InferenceID: id(2), Input: []record.Message{text("user", "Where is o_9?"), echo, result}, Output: []record.Message{text("assistant", `It is lost. <script>alert(1)</script>`)}},
		},
		verdicts: []record.Verdict{{
			ID: id(90), JudgedAt: start.Add(time.Minute), RunID: "r1", InferenceID: id(2), Criterion: "apology", CriterionText: "the reply apologises", CriterionIndex: 1, Outcome: "fail",
			Probability: ptr(0.25), Threshold: 0.5, Detail: "no word of regret <img src=x>", InclusionP: 0.1, Rubric: "support",
		}, {
			ID: id(91), JudgedAt: start.Add(time.Second), RunID: "r1", InferenceID: id(2), Criterion: "status", CriterionText: "the reply says where it is", CriterionIndex: 0, Outcome: "inconclusive",
			Reason: record.ReasonTimeout, Threshold: 0.5, InclusionP: 0.1, Rubric: "support",
		}},
		calls: []record.JudgeCall{{ID: id(80), Rubric: "support", Outcome: "fail", Score: ptr(0.125), Backend: "b", Attempts: 2}},
	}
}

func serve(t *testing.T, config query.Config, store *fakeStore) *httptest.Server {
	t.Helper()
	h, err := query.New(config, query.Options{Store: store, Log: slog.New(slog.DiscardHandler), JudgingOff: "Judging is off: set DOCKET_JUDGE_BACKEND."})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func get(t *testing.T, srv *httptest.Server, path string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func getJSON(t *testing.T, srv *httptest.Server, path string) map[string]any {
	t.Helper()
	status, body := get(t, srv, path)
	if status != http.StatusOK {
		t.Fatalf("GET %s: status %d: %s", path, status, body)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return v
}

func TestInferenceShowsEverything(t *testing.T) {
	srv := serve(t, query.DefaultConfig(), conversation())

	v := getJSON(t, srv, "/api/v1/inferences/"+id(1))
	want := map[string]any{
		"text": nil, "refusal": nil, "reasoning": "look it up",
		"tool_calls": []any{map[string]any{"id": "call_1", "name": "get_order", "arguments": `{"id": "o_9"}`}},
	}
	if diff := cmp.Diff(want, v["reply"]); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	usage := map[string]any{
		"prompt_tokens": 10.0, "completion_tokens": 5.0, "total_tokens": nil, "cached_tokens": 3.0, "cache_write_tokens": nil, "reasoning_tokens": nil,
	}
	if diff := cmp.Diff(usage, v["usage"]); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"base64": "//4="}, v["response"]); diff != "" {
		t.Errorf("a body that is not text (-want +got):\n%s", diff)
	}

	v = getJSON(t, srv, "/api/v1/inferences/"+strings.ToUpper(id(2)))
	if v["usage"] != nil {
		t.Errorf("usage that was not reported: got %v, want null", v["usage"])
	}
	if v["cost_usd"] != 0.0015 {
		t.Errorf("cost_usd: got %v, want 0.0015", v["cost_usd"])
	}
	var lines []any
	for _, verdict := range v["verdicts"].([]any) {
		lines = append(lines, verdict.(map[string]any)["line"])
	}
	wantLines := []any{
		"INCONCLUSIVE judge: the reply says where it is: timeout",
		"FAIL judge: the reply apologises: scored 0.25, needed 0.50 — no word of regret <img src=x>",
	}
	if diff := cmp.Diff(wantLines, lines); diff != "" {
		t.Errorf("verdicts in the order of the criteria (-want +got):\n%s", diff)
	}
}

// However many verdicts the calls of a page have, none is missing.
func TestListShowsEveryVerdict(t *testing.T) {
	store := conversation()
	store.verdicts = nil
	for i := range 10_001 {
		store.verdicts = append(store.verdicts, record.Verdict{ID: id(i), InferenceID: id(2), Criterion: fmt.Sprintf("criterion-%05d", i), Outcome: "pass"})
	}
	_, page := get(t, serve(t, query.DefaultConfig(), store), "/calls")
	if !strings.Contains(page, "criterion-10000") || !strings.Contains(page, "criterion-00000") {
		t.Error("a verdict is missing")
	}
}

func TestUnknownInference(t *testing.T) {
	srv := serve(t, query.DefaultConfig(), conversation())
	for _, path := range []string{"/api/v1/inferences/" + id(7), "/api/v1/inferences/nonsense", "/inferences/" + id(7), "/conversations/none", "/nowhere"} {
		if status, body := get(t, srv, path); status != http.StatusNotFound {
			t.Errorf("GET %s: status %d: %s", path, status, body)
		}
	}
}

func TestListPagesByCursor(t *testing.T) {
	srv := serve(t, query.DefaultConfig(), conversation())
	var ids []string
	path := "/api/v1/inferences?limit=1"
	for range 3 {
		v := getJSON(t, srv, path)
		for _, r := range v["inferences"].([]any) {
			ids = append(ids, r.(map[string]any)["id"].(string))
		}
		next, ok := v["next_cursor"].(string)
		if !ok {
			break
		}
		path = "/api/v1/inferences?limit=1&cursor=" + next
	}
	if diff := cmp.Diff([]string{id(2), id(1)}, ids); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestFiltersReachTheStore(t *testing.T) {
	store := conversation()
	srv := serve(t, query.DefaultConfig(), store)
	getJSON(t, srv, "/api/v1/inferences?trace_id=AB01AB01-AB01AB01AB01AB01AB01AB01&conversation_id=c1&response_id=r1&model=m&since=2026-11-30T10:00:00Z&until=1796040000&limit=7&outcome=fail&terminal_state=complete&q=hello&project=p&environment=e&operation=chat")
	want := record.InferenceFilter{
		TraceID: "ab01ab01ab01ab01ab01ab01ab01ab01", ConversationID: "c1", ResponseID: "r1", Model: "m", Project: "p", Environment: "e", Operation: "chat",
		Outcome: "fail", TerminalState: "complete", Text: "hello", Since: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC), Until: time.Unix(1796040000, 0).UTC(), Limit: 8,
	}
	if diff := cmp.Diff(want, store.filter); diff != "" {
		t.Errorf("inferences (-want +got):\n%s", diff)
	}
	getJSON(t, srv, "/api/v1/verdicts?criterion=apology&outcome=inconclusive&reason=timeout&trace_id="+strings.Repeat("ab", 16)+"&conversation_id=c1&limit=3&rubric=r&project=p&inference_id="+id(2))
	wantVerdicts := record.VerdictFilter{
		TraceID: strings.Repeat("ab", 16), ConversationID: "c1", Criterion: "apology", Outcome: "inconclusive", Reason: "timeout", Rubric: "r", Project: "p",
		InferenceIDs: []string{id(2)}, Limit: 4,
	}
	if diff := cmp.Diff(wantVerdicts, store.verdictFilter); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

func TestBadParametersAreNamed(t *testing.T) {
	srv := serve(t, query.DefaultConfig(), conversation())
	tests := map[string]string{
		"/api/v1/inferences?trace=ab":             `unknown parameter \"trace\"`,
		"/api/v1/inferences?trace_id=xyz":         "want 32 hexadecimal digits",
		"/api/v1/inferences?limit=0":              "want a whole number from 1 to 500",
		"/api/v1/inferences?since=yesterday":      "want a time such as",
		"/api/v1/inferences?cursor=AAAA":          "not one that a list returned",
		"/api/v1/inferences?terminal_state=fine":  "allowed are complete",
		"/api/v1/verdicts?outcome=good":           "allowed are pass, fail, inconclusive, not_applicable",
		"/api/v1/verdicts?inference_id=x":         "invalid UUID",
		"/api/v1/inferences?q=" + long(201):       "at most 200 are allowed",
		"/api/v1/verdicts?response_id=not-a-help": "unknown parameter",
	}
	for path, want := range tests {
		if status, body := get(t, srv, path); status != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("GET %s: status %d, body %s, want 400 with %q", path, status, body, want)
		}
	}
}

// What was recorded under a long name can be looked up under it.
func TestLongValuesAreFound(t *testing.T) {
	store := conversation()
	srv := serve(t, query.DefaultConfig(), store)
	user := long(5000)
	if status, body := get(t, srv, "/api/v1/inferences?user="+user); status != http.StatusOK || store.filter.UserID != user {
		t.Errorf("status %d, user of %d bytes: %s", status, len(store.filter.UserID), body)
	}
	status, body := get(t, srv, "/api/v1/inferences?user="+long(8193))
	if status != http.StatusBadRequest || !strings.Contains(body, "user: 8193 bytes, at most 8192 are allowed") {
		t.Errorf("status %d: %s", status, body)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestReviewList(t *testing.T) {
	store := conversation()
	for n := range 60 {
		store.verdicts = append(store.verdicts, record.Verdict{
			ID: id(200 + n), InferenceID: id(2), CriterionText: "the reply is kind", Outcome: "inconclusive", Reason: record.ReasonUncertain, Probability: ptr(0.512), Threshold: 0.5,
		})
	}
	srv := serve(t, query.DefaultConfig(), store)
	status, body := get(t, srv, "/review")
	if status != http.StatusOK || !strings.Contains(body, "INCONCLUSIVE judge: the reply is kind: uncertain") || !strings.Contains(body, "0.512") ||
		!strings.Contains(body, "/inferences/"+id(2)) || !strings.Contains(body, "/review?cursor=") {
		t.Errorf("status %d: %s", status, body)
	}
	want := record.VerdictFilter{Outcome: "inconclusive", Reason: record.ReasonUncertain, Limit: 51}
	if diff := cmp.Diff(want, store.verdictFilter); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if status, _ := get(t, srv, "/review?cursor=x"); status != http.StatusBadRequest {
		t.Errorf("a bad cursor: status %d", status)
	}
}

func TestStoreDown(t *testing.T) {
	store := conversation()
	store.err = errors.New("dial tcp 127.0.0.1:8123: password hunter2 refused")
	srv := serve(t, query.DefaultConfig(), store)
	for _, path := range []string{"/api/v1/inferences", "/api/v1/verdicts", "/", "/readyz"} {
		status, body := get(t, srv, path)
		if status != http.StatusServiceUnavailable || strings.Contains(body, "hunter2") {
			t.Errorf("GET %s: status %d: %s", path, status, body)
		}
	}
}

// An error that arrived whole is not shown as a complete call, and what is not
// counted is not said to be.
func TestPagesCallErrorsErrors(t *testing.T) {
	store := conversation()
	for i := range store.rows {
		store.rows[i].Status, store.rows[i].Complete = 429, false
	}
	store.calls[0].Attempts, store.calls[0].CostNanoUSD, store.calls[0].Model = 1, ptr(uint64(0)), "b"
	srv := serve(t, query.DefaultConfig(), store)
	for _, path := range []string{"/", "/inferences/" + id(2), "/conversations/c%2F1%20%C3%BC"} {
		if _, body := get(t, srv, path); !strings.Contains(body, `<span class="badge bad">error</span>`) {
			t.Errorf("GET %s: the answer 429 is not called an error:\n%s", path, body)
		}
	}
	_, body := get(t, srv, "/inferences/"+id(2))
	for want, times := range map[string]int{"<td>$0</td>": 1, "<td>b</td>": 1, "attempts": 0} {
		if got := strings.Count(body, want); got != times {
			t.Errorf("%q is there %d times, want %d:\n%s", want, got, times, body)
		}
	}
}

// A browser takes a path with the element "." or ".." for another page.
func TestLinkToAConversationNamedLikeAStep(t *testing.T) {
	store := conversation()
	store.rows[0].ConversationID, store.rows[1].ConversationID = ".", ".."
	srv := serve(t, query.DefaultConfig(), store)
	_, body := get(t, srv, "/")
	for _, want := range []string{`href="/?conversation_id=."`, `href="/?conversation_id=.."`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing in:\n%s", want, body)
		}
	}
}

func TestPagesShowContentAsText(t *testing.T) {
	srv := serve(t, query.DefaultConfig(), conversation())
	tests := map[string][]string{
		"/":      {"Where is o_9?", "It is lost. &lt;script&gt;", "apology", "Judging is off"},
		"/calls": {"Where is o_9?", `href="/conversations/c%2F1%20%C3%BC"`},
		"/inferences/" + id(2): {
			"It is lost. &lt;script&gt;", "FAIL judge: the reply apologises: scored 0.25, needed 0.50 — no word of regret &lt;img", "get_order",
			"&#34;status&#34;: &#34;lost&#34;", "INCONCLUSIVE judge: the reply says where it is: timeout", "score 0.125", "2 attempts",
		},
		"/conversations/c%2F1%20%C3%BC": {"Where is o_9?", "get_order", "2 earlier messages are above", "tool result"},
	}
	for path, wants := range tests {
		status, body := get(t, srv, path)
		if status != http.StatusOK {
			t.Errorf("GET %s: status %d: %s", path, status, body)
		}
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("GET %s: %q is missing in:\n%s", path, want, body)
			}
		}
		for _, never := range []string{"<script>alert", "<img src=x"} {
			if strings.Contains(body, never) {
				t.Errorf("GET %s: captured content became markup", path)
			}
		}
	}
}
