package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scriptedJudge speaks the format systemone. It answers each question by its
// answers to words, see answer, and keeps the requests.
type scriptedJudge struct {
	answers map[string]float64

	mu   sync.Mutex // guards seen
	seen []string
}

func (s *scriptedJudge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var raw bytes.Buffer
	if _, err := raw.ReadFrom(r.Body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.seen = append(s.seen, raw.String())
	s.mu.Unlock()
	var q struct {
		Questions map[string]json.RawMessage
		State     json.RawMessage
	}
	if err := json.Unmarshal(raw.Bytes(), &q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answers := map[string]any{}
	for id, question := range q.Questions {
		answers[id] = map[string]any{"type": "noul", "noul": s.answer(string(question), string(q.State))}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"model": "decider-1", "answers": answers, "usage": map[string]any{"input_tokens": 100, "output_tokens": 10}})
}

// answer is the value of the first word, in their order, that is in what is
// judged, else of the first that is in the question.
func (s *scriptedJudge) answer(question, state string) float64 {
	for _, text := range []string{state, question} {
		for _, word := range slices.Sorted(maps.Keys(s.answers)) {
			if strings.Contains(text, word) {
				return s.answers[word]
			}
		}
	}
	return 0.5
}

func (s *scriptedJudge) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// judgedBy is settings with that judge; its key must never be printed.
func judgedBy(t *testing.T, s *scriptedJudge) string {
	t.Helper()
	return `
judge:
  cache_window: 0s
  backends:
    decider: {format: systemone, url: "` + newServer(t, s) + `", model: decider, key: fake-judge-key, input_usd: 2, output_usd: 4}
rubrics:
  support:
    criteria:
      - {name: apology, text: The reply apologises.}
      - {name: amount, text: The reply states the amount., threshold: 0.75}
rules:
  - {name: everything, rubric: support, rate: 1}
evaluator: {poll: 20ms, settle: 0s}
`
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// printed runs a command to its end.
func printed(t *testing.T, getenv func(string) string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, getenv, &out)
	return out.String(), err
}

const refund = `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Refund me."},
 {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"refund","arguments":"{\"id\":7}"}}]},
 {"role":"tool","tool_call_id":"c1","content":"done: 12 EUR"},
 {"role":"assistant","content":"Sorry! You get 12 EUR back."}]`

func TestJudgeFile(t *testing.T) {
	judge := &scriptedJudge{answers: map[string]float64{"apologises": 0.9, "amount": 0.7}}
	config := write(t, judgedBy(t, judge))
	got, err := printed(t, env(), "judge", "--config", config, "--rubric", "support", "--file", file(t, "c.json", refund+"}"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(got, "\n")
	want := []string{
		"PASS judge: The reply apologises: scored 0.90, needed 0.50",
		"FAIL judge: The reply states the amount: scored 0.70, needed 0.75",
	}
	if diff := cmp.Diff(want, lines[:2]); diff != "" || !strings.HasPrefix(lines[2], "rubric support: fail, score 0.80; 1 judge calls in ") {
		t.Errorf("(-want +got):\n%s\n%s", diff, got)
	}
	var sent struct {
		State struct {
			Response  string
			ToolCalls []map[string]any `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal([]byte(judge.requests()[0]), &sent); err != nil {
		t.Fatal(err)
	}
	calls := []map[string]any{{"name": "refund", "arguments": map[string]any{"id": 7.0}, "result": "done: 12 EUR"}}
	if diff := cmp.Diff(calls, sent.State.ToolCalls); diff != "" || sent.State.Response != "Sorry! You get 12 EUR back." {
		t.Errorf("the judge was shown %+v", sent.State)
	}
}

// A file may bring criteria, which win over the rubric's, and what was expected.
func TestRule25JudgeFileWithCriteria(t *testing.T) {
	judge := &scriptedJudge{answers: map[string]float64{"apologises": 0.9, "polite": 0.25}}
	config := write(t, judgedBy(t, judge))
	path := file(t, "c.json", refund+`,"criteria":["The reply is polite.","apology",{"criterion":"No links.","check":{"not_contains":"http"},"weight":3}],"expected":"a refund","sources":"the policy"}`)
	got, err := printed(t, env(), "judge", "--config", config, "--rubric", "support", "--file", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"FAIL judge: The reply is polite: scored 0.25, needed 0.50\nPASS judge: The reply apologises: scored 0.90, needed 0.50\nPASS judge: No links: scored 1.00, needed 0.50",
		"score 0.83",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if sent := judge.requests()[0]; !strings.Contains(sent, `"expected":"a refund"`) || !strings.Contains(sent, `"sources":["the policy"]`) {
		t.Errorf("sent %s", sent)
	}
}

// The exact request is printed, with the key masked, and nothing is sent.
func TestRule55JudgeDryRun(t *testing.T) {
	judge := &scriptedJudge{}
	config := write(t, judgedBy(t, judge))
	path := file(t, "c.json", refund+"}")
	got, err := printed(t, env(), "judge", "--config", config, "--rubric", "support", "--file", path, "--dry-run")
	if err != nil {
		t.Fatal(err)
	}
	if len(judge.requests()) > 0 {
		t.Fatal("something was sent")
	}
	if strings.Contains(got, "fake-judge-key") || !strings.Contains(got, "Authorization: Bearer ***") {
		t.Errorf("the key is not masked:\n%s", got)
	}
	if _, err := printed(t, env(), "judge", "--config", config, "--file", path); err != nil {
		t.Fatal(err)
	}
	if sent := judge.requests()[0]; !strings.Contains(got, "\n\n"+sent+"\n") {
		t.Errorf("printed:\n%s\nsent:\n%s", got, sent)
	}
}

// What Docket's own API shows can be judged as it is.
func TestJudgeFileFromTheAPI(t *testing.T) {
	judge := &scriptedJudge{answers: map[string]float64{"Sorry": 0.9}}
	config := write(t, judgedBy(t, judge))
	path := file(t, "c.json", `{"id":"0197b9a0-0000-7000-8000-000000000001","reply":{},"messages":[{"role":"user","parts":[{"type":"text","content":"Refund me."}]}],
		"output":[{"role":"assistant","parts":[{"type":"text","content":"Sorry!"}]}],"tools":null,"verdicts":[]}`)
	got, err := printed(t, env(), "judge", "--config", config, "--file", path)
	if err != nil || !strings.Contains(got, "rubric support: pass, score 0.90") {
		t.Errorf("%v:\n%s", err, got)
	}
}

func TestJudgeFileProblems(t *testing.T) {
	config := write(t, judgedBy(t, &scriptedJudge{}))
	for name, c := range map[string]struct {
		config, text, want string
		args               []string
	}{
		"no file":            {config, "", "--file: missing", []string{}},
		"unknown rubric":     {config, refund + "}", `--rubric "x": want one of support`, []string{"--rubric", "x"}},
		"unknown key":        {config, refund + `,"critera":["x"]}`, "critera", nil},
		"not JSON":           {config, "hello", "want one JSON object", nil},
		"no messages":        {config, `{"criteria":["x"]}`, "messages: none", nil},
		"last is the user's": {config, `{"messages":[{"role":"user","content":"Hi"}]}`, `the last one is of role "user"`, nil},
		"no judge":           {write(t, "rubrics: {r: {criteria: [The reply is polite.]}}"), refund + "}", "no judge is set", nil},
		"two of one name":    {config, refund + `,"criteria":["a","a"]}`, "given twice", nil},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if c.text != "" {
				args = append(args, "--file", file(t, "c.json", c.text))
			}
			if got, err := printed(t, env(), append([]string{"judge", "--config", c.config}, args...)...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q\n%s", err, c.want, got)
			}
		})
	}
	// A blank reply is no error: it is inconclusive, without a call to the judge.
	path := file(t, "c.json", `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":" "}]}`)
	got, err := printed(t, env(), "judge", "--config", config, "--file", path)
	if err != nil || !strings.Contains(got, "INCONCLUSIVE judge: The reply apologises: empty_reply") || !strings.Contains(got, "0 judge calls") {
		t.Errorf("%v:\n%s", err, got)
	}
	if got, err = printed(t, env(), "judge", "--config", config, "--file", path, "--dry-run"); err != nil || !strings.Contains(got, "no request would be sent: empty_reply") {
		t.Errorf("%v:\n%s", err, got)
	}
}
