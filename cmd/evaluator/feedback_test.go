package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/store/storetest"
)

// sayFeedback posts feedback and returns the status and the answer.
func sayFeedback(t *testing.T, base string, feedback map[string]any) (int, map[string]any) {
	t.Helper()
	b, err := json.Marshal(feedback)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/api/v1/feedback", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("status %d: %s", res.StatusCode, body)
	}
	return res.StatusCode, out
}

// verdictsBy counts verdicts by inference, rule, stratum, probability and how
// often the inference was judged.
func verdictsBy(t *testing.T, dsn string) map[string]bool {
	t.Helper()
	rows := storetest.Exec(t, dsn, `SELECT v.inference_id, rule, stratum, inclusion_p, uniqExact(run_id)
		FROM (SELECT * FROM verdicts ORDER BY judged_at DESC LIMIT 1 BY verdict_id) AS v
		GROUP BY ALL FORMAT TSVRaw`)
	out := map[string]bool{}
	for line := range strings.Lines(rows) {
		out[strings.TrimSpace(line)] = true
	}
	return out
}

const feedbackSettings = `
judge:
  backends:
    fixed: {format: static, static: {probability: 0.9, reason: says sorry}}
rubrics:
  support:
    criteria:
      - {name: apology, text: The reply apologises.}
rules:
  - {name: tagged, rubric: support, rate: 0.5, match: {tags: [vip]}}
  - {name: complaints, rubric: support, rate: 1, match: {feedback: {labels: [down], max_score: 0.5}}}
evaluator:
  poll: 20ms
  settle: 0s
`

// Feedback on what was judged, on what no rule chose, and on what is not stored
// yet: each becomes a candidate, is judged once, and counts once.
func TestFeedbackMakesCandidates(t *testing.T) {
	dsn := storetest.DSN(t)
	file := write(t, feedbackSettings)
	judged := capturedAs(t, dsn, "Sorry!", func(inf *record.Inference) { inf.Tags, inf.SampleValue = []string{"vip"}, 1<<56-1 })
	plain := capturedAs(t, dsn, "No.", func(inf *record.Inference) { inf.ResponseID = "chatcmpl-plain" })
	base, _, stop := program(t, env("DOCKET_STORE", dsn), "serve", "--config", file, "--listen", "127.0.0.1:0")
	await(t, "the verdict by rate", func() bool { return verdictsBy(t, dsn)[judged.ID+"\ttagged\tok\t0.5\t1"] })

	down := func(key, id string) map[string]any { return map[string]any{key: id, "label": "down", "score": 0.25} }
	if status, got := sayFeedback(t, base, down("response_id", "chatcmpl-plain")); status != http.StatusCreated || got["inference_id"] != plain.ID {
		t.Errorf("by response: status %d: %v", status, got)
	}
	if status, got := sayFeedback(t, base, down("inference_id", judged.ID)); status != http.StatusCreated {
		t.Errorf("by inference: status %d: %v", status, got)
	}
	if status, got := sayFeedback(t, base, down("response_id", "chatcmpl-late")); status != http.StatusAccepted || got["state"] != "waiting" {
		t.Errorf("before the call is stored: status %d: %v", status, got)
	}
	late := capturedAs(t, dsn, "Never.", func(inf *record.Inference) { inf.ResponseID = "chatcmpl-late" })
	traced := capturedAs(t, dsn, "Well.", func(inf *record.Inference) { inf.Time = inf.Time.Add(-time.Hour) })
	mine := down("trace_id", traced.TraceID)
	mine["id"] = "mine"
	if status, got := sayFeedback(t, base, mine); status != http.StatusAccepted {
		t.Errorf("by trace: status %d: %v", status, got)
	}
	if status, got := sayFeedback(t, base, mine); status != http.StatusOK {
		t.Errorf("the same again: status %d: %v", status, got)
	}
	want := map[string]bool{
		judged.ID + "\tcomplaints\tfeedback\t1\t1": true,
		plain.ID + "\tcomplaints\tfeedback\t1\t1":  true,
		late.ID + "\tcomplaints\tfeedback\t1\t1":   true,
		traced.ID + "\tcomplaints\tfeedback\t1\t1": true,
	}
	await(t, "all verdicts", func() bool { return cmp.Equal(want, verdictsBy(t, dsn)) })

	var shown struct {
		Feedback []struct{ Label, State string }
		Verdicts []struct{ Stratum string }
	}
	fetch(t, base+"/api/v1/inferences/"+late.ID, &shown)
	if len(shown.Feedback) != 1 || shown.Feedback[0].State != "linked" || len(shown.Verdicts) != 1 || shown.Verdicts[0].Stratum != "feedback" {
		t.Errorf("the inference shows %+v", shown)
	}
	// More of the same, and an evaluator that starts again, change nothing.
	sayFeedback(t, base, down("inference_id", late.ID))
	await(t, "the second feedback", func() bool {
		return storetest.Exec(t, dsn, "SELECT count() FROM candidates WHERE feedback_id != ''") == "5\n"
	})
	if err := stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	base, _, stop = program(t, env("DOCKET_STORE", dsn), "serve", "--config", file, "--listen", "127.0.0.1:0")
	last := capturedAs(t, dsn, "Last.", func(*record.Inference) {})
	sayFeedback(t, base, down("inference_id", last.ID))
	want[last.ID+"\tcomplaints\tfeedback\t1\t1"] = true
	await(t, "the last verdict", func() bool { return cmp.Equal(want, verdictsBy(t, dsn)) })
	if err := stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	explained, err := printed(t, env("DOCKET_STORE", dsn), "explain", last.ID, "--config", file)
	if err != nil {
		t.Error(err)
	}
	contains(t, explained, "tags are vip", "inclusion probability 1 in stratum feedback", "sampled by rule complaints, stratum feedback", ": down, score 0.25\n")
	silent := capturedAs(t, dsn, "Nothing.", func(*record.Inference) {})
	if explained, err = printed(t, env("DOCKET_STORE", dsn), "explain", silent.ID, "--config", file); err != nil {
		t.Error(err)
	}
	contains(t, explained, "there is no feedback on it")
	got := storetest.Exec(t, dsn, "SELECT rule, stratum, reason, sum(count) FROM eval_epochs GROUP BY ALL ORDER BY ALL FORMAT TSVRaw")
	if diff := cmp.Diff("complaints\tfeedback\tsampled\t5\ntagged\tok\tsampled\t1\n", got); diff != "" {
		t.Errorf("epochs (-want +got):\n%s", diff)
	}
}
