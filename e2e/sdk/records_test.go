package sdk

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"docket/e2e/program"

	"github.com/google/go-cmp/cmp"
)

// record is one call as the read API tells it.
type record map[string]any

// compared are the fields that testdata/want has: what the exchange was and
// said. Ids, times and sizes differ between runs, and are checked one by one or
// have tests elsewhere. "judged" is the test's own.
func compared() []string {
	return []string{
		"api", "attributes", "complete", "conversation_id", "conversation_source", "error", "finish_reason", "judged",
		"messages", "operation", "output", "path", "provider", "raw_usage", "reply", "request_model", "response_id", "response_model",
		"status", "stratum", "stream", "terminal_state", "tool_names", "tool_step", "tools", "upstream", "upstream_request_id", "usage",
	}
}

// records are all calls of a trace, in their order.
func (r *rig) records(t *testing.T, traceID string) []record {
	t.Helper()
	var list struct {
		Inferences []struct{ ID string }
	}
	r.read(t, "/inferences", url.Values{"trace_id": {traceID}, "limit": {"50"}}, &list)
	var out []record
	for _, c := range slices.Backward(list.Inferences) {
		var rec record
		r.read(t, "/inferences/"+c.ID, nil, &rec)
		out = append(out, rec)
	}
	return out
}

// checkRecords: there is one row for each request, and together they say what
// testdata/want does.
func (r *rig) checkRecords(t *testing.T, app outcome, requests []request) {
	t.Helper()
	list := r.records(t, app.traceID())
	if len(list) != len(requests) || len(list) != len(app.Calls) {
		t.Fatalf("%d rows, the upstream saw %d requests, the application %d calls", len(list), len(requests), len(app.Calls))
	}
	name := wantFile(app.work)
	var want []record
	if !*update {
		want = readWant(t, name)
	}
	for i, rec := range list {
		checkIdentity(t, rec, app, requests[i])
		checkApplication(t, rec, app.Calls[i])
		rec["judged"] = r.judged(t, rec, i >= len(want) || want[i]["judged"] == true)
	}
	got := normal(t, list, app.Client, requests)
	if *update {
		writeWant(t, name, got)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the record (-want +got)\n%s", diff)
	}
}

// judged says whether a call has a verdict. It waits for one that is wanted.
func (r *rig) judged(t *testing.T, rec record, wanted bool) bool {
	t.Helper()
	verdicts := func() bool {
		var list struct{ Verdicts []any }
		r.read(t, "/verdicts", url.Values{"inference_id": {rec["id"].(string)}}, &list)
		return len(list.Verdicts) > 0
	}
	if wanted && !*update {
		program.Await(t, "a verdict on "+rec["id"].(string), time.Minute, verdicts)
	}
	return verdicts()
}

// normal keeps what is compared, and puts a name in the place of each made id.
func normal(t *testing.T, list []record, client string, requests []request) []record {
	t.Helper()
	conversations := []string{}
	for _, rec := range list {
		maps.DeleteFunc(rec, func(field string, _ any) bool { return !slices.Contains(compared(), field) })
		if id, ok := rec["conversation_id"].(string); ok {
			if !slices.Contains(conversations, id) {
				conversations = append(conversations, id)
			}
			rec["conversation_id"] = "conversation " + strconv.Itoa(slices.Index(conversations, id)+1)
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	pairs := []string{client + " ", "CLIENT "}
	for i, req := range requests {
		pairs = append(pairs, req.id, "ID"+strconv.Itoa(i+1))
	}
	s := strings.NewReplacer(pairs...).Replace(string(text))
	s = regexp.MustCompile(`(on )+`).ReplaceAllString(s, "on ") // how much arrived before the client left is up to chance
	var out []record
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// wantFile is the file of a scenario, or that of a scenario and library.
func wantFile(w work) string {
	own := filepath.Join("testdata", "want", w.Scenario+"."+w.Client+".json")
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return filepath.Join("testdata", "want", w.Scenario+".json")
}

func readWant(t *testing.T, name string) []record {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var want []record
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return want
}

func writeWant(t *testing.T, name string, list []record) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(list); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkIdentity: the row is that of this request, in the application's trace.
func checkIdentity(t *testing.T, rec record, app outcome, req request) {
	t.Helper()
	kept, _ := rec["capture"].(map[string]any)
	asked, _ := rec["request"].(map[string]any)
	answered, _ := rec["response"].(map[string]any)
	got := map[string]any{
		"trace": rec["trace_id"], "parent": rec["parent_span_id"], "body": asked["text"], "bytes": rec["request_bytes"],
		"span sent upstream": strings.Contains(req.Header.Get("Traceparent"), rec["upstream_span_id"].(string)),
		"level":              kept["level"], "cut": []any{kept["request_cut"], kept["response_cut"]}, "undecodable": kept["undecodable"],
	}
	want := map[string]any{
		"trace": app.traceID(), "parent": callerSpan, "body": req.Body, "bytes": float64(len(req.Body)), "span sent upstream": true,
		"level": "full", "cut": []any{false, false}, "undecodable": false,
	}
	if req.reply != "" && app.Scenario != "chat.leave" { // which goes on until the client leaves
		got["answer"], want["answer"] = answered["text"], req.reply
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// checkApplication: the record says what the application saw.
func checkApplication(t *testing.T, rec record, app seen) {
	t.Helper()
	text, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		ResponseID   string `json:"response_id"`
		FinishReason string `json:"finish_reason"`
		Status       int
		Complete     bool
		Attributes   map[string]string
		Error        struct{ Message string }
		Usage        struct {
			TotalTokens int `json:"total_tokens"`
		}
		Reply struct {
			Text, Reasoning string
			ToolCalls       []toolCall `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	got, want := map[string]any{}, map[string]any{}
	check := func(what string, seen, recorded any, given bool) {
		if given {
			got[what], want[what] = recorded, seen
		}
	}
	check("id", app.ID, c.ResponseID, app.ID != "")
	check("text", app.Text, c.Reply.Text, app.Text != "" && !app.abandoned())
	check("reasoning", app.Reasoning, c.Reply.Reasoning, app.Reasoning != "")
	check("finish reason", app.FinishReason, c.FinishReason, app.FinishReason != "" && c.Error.Message == "")
	check("tokens", app.TotalTokens, c.Usage.TotalTokens, app.TotalTokens > 0)
	check("status", app.Status, c.Status, app.Status > 0)
	check("error", app.Error, c.Error.Message, app.Error != "")
	check("complete", false, c.Complete, app.Broken)
	check("vectors", strconv.Itoa(app.Vectors), c.Attributes["docket.embeddings.vectors"], app.Vectors > 0)
	check("dimensions", strconv.Itoa(app.Dimensions), c.Attributes["gen_ai.embeddings.dimension.count"], app.Dimensions > 0)
	if len(app.ToolCalls) > 0 {
		check("tool calls", canonical(t, app.ToolCalls), canonical(t, c.Reply.ToolCalls), true)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-the application +the record)\n%s", diff)
	}
}

// abandoned says whether the application left in the middle of the answer.
func (s seen) abandoned() bool { return s.FinishReason == "" && !s.Broken }

// canonical writes arguments in one way: some libraries give them parsed only.
// testdata/want has their exact text.
func canonical(t *testing.T, calls []toolCall) []toolCall {
	t.Helper()
	var out []toolCall
	for _, c := range calls {
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(c.Arguments)); err != nil {
			t.Errorf("arguments of %s: %v", c.Name, err)
		}
		out = append(out, toolCall{c.ID, c.Name, b.String()})
	}
	return out
}
