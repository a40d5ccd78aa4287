package judge_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

const fieldCases = "../../testdata/fieldcases/cases"

// fieldCase is what a case file says about judging.
type fieldCase struct {
	ID    string
	Input struct{ File string }
	Judge struct {
		Wire       string
		HTTPStatus int `json:"http_status"`
		Criteria   []judge.Criterion
	}
	Verdict struct {
		Outcome  string
		Score    *float64
		Reason   *string
		Criteria []struct {
			Name        string
			Outcome     string
			Probability *float64
		}
	}
	Accept     map[string][]string
	Soft       []string
	JudgeCalls *int `json:"judge_calls"`
}

// scripted is one HTTP answer.
type scripted struct {
	Status  int
	Headers map[string]string
	Body    json.RawMessage
}

// server answers with the script, the last answer again and again, and counts
// requests.
func server(t *testing.T, script ...scripted) (url string, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		step := script[min(int(calls.Add(1)), len(script))-1]
		for k, v := range step.Headers {
			w.Header().Set(k, v)
		}
		w.WriteHeader(step.Status)
		w.Write(step.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func formatOfWire(wire string) judge.BackendConfig {
	var b judge.BackendConfig
	b.SetDefaults()
	b.Model = "judge-1"
	switch wire {
	case "decisions":
		b.Format = "openai"
	case "chat-json":
		b.Format, b.Method = "chat", record.MethodStructured
	case "chat-yesno":
		b.Format, b.Method = "chat", record.MethodLogprobs
	default:
		b.Format = "systemone"
	}
	return b
}

// TestFieldCases rebuilds faults that other judges were reported to have.
func TestFieldCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fieldCases, "E*.expect.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no field cases in %s: %v", fieldCases, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".expect.json"), func(t *testing.T) {
			var c fieldCase
			readJSON(t, file, &c)
			input, err := os.ReadFile(filepath.Join(fieldCases, c.Input.File))
			if err != nil {
				t.Fatal(err)
			}
			runFieldCase(t, c, input)
		})
	}
}

func readJSON(t *testing.T, file string, to any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func runFieldCase(t *testing.T, c fieldCase, input []byte) {
	t.Helper()
	script, unit := []scripted{{Status: c.Judge.HTTPStatus, Body: input}}, judgetest.Unit()
	switch c.Judge.Wire {
	case "judge-scenario":
		var s struct {
			Responses []scripted `json:"judge_responses"`
		}
		if err := json.Unmarshal(input, &s); err != nil {
			t.Fatal(err)
		}
		script = s.Responses
	case "record":
		unit = unitFromCase(t, input)
		script = []scripted{{Status: 200, Body: json.RawMessage(`{"answers":{"q1":{"type":"noul","noul":1}}}`)}}
	}
	url, calls := server(t, script...)
	b := formatOfWire(c.Judge.Wire)
	b.URL = url
	var waits []time.Duration
	j := judgetest.New(t, b, judge.Rubric{Criteria: c.Judge.Criteria}, &waits)
	got := j.Judge(t.Context(), "r", unit)
	if c.ID == "E30" {
		// Package sampling keeps such a reply away from the judge. When a rule
		// lets it through, the verdict says so.
		if !slices.Contains(got.Verdicts[0].Flags, judge.FlagPartial) {
			t.Errorf("flags %v, want %s", got.Verdicts[0].Flags, judge.FlagPartial)
		}
		return
	}
	compareFieldCase(t, c, got)
	if c.JudgeCalls != nil && int(calls.Load()) != *c.JudgeCalls {
		t.Errorf("the judge was called %d times, want %d", calls.Load(), *c.JudgeCalls)
	}
	if c.ID == "E18" && (len(waits) != 2 || waits[0] != time.Second) {
		t.Errorf("waits %v, want the second that the server asked for first", waits)
	}
	if c.ID == "E14" && calls.Load() != 1 {
		t.Errorf("an overlong request was sent %d times unchanged", calls.Load())
	}
}

func compareFieldCase(t *testing.T, c fieldCase, got judge.Result) {
	t.Helper()
	wanted := append([]string{c.Verdict.Outcome}, c.Accept["verdict.outcome"]...)
	if !slices.Contains(wanted, got.Outcome) {
		t.Errorf("outcome %s (%s: %s), want one of %v", got.Outcome, got.Reason, got.Detail, wanted)
	}
	if !sameNumber(got.Score, c.Verdict.Score) && !slices.Contains(c.Soft, "verdict.score") {
		t.Errorf("score %v, want %v", show(got.Score), show(c.Verdict.Score))
	}
	codes := map[string]string{"context_too_long": record.ReasonContextOverflow, "unparsable": record.ReasonMalformed}
	if want := c.Verdict.Reason; want != nil {
		code := *want
		if own, ok := codes[code]; ok {
			code = own
		}
		if got.Reason != code {
			t.Errorf("reason %s, want %s", got.Reason, code)
		}
	}
	for i, want := range c.Verdict.Criteria {
		v := got.Verdicts[i]
		outcomes := append([]string{want.Outcome}, c.Accept["verdict.criteria."+string(rune('0'+i))+".outcome"]...)
		if v.Criterion != want.Name || !slices.Contains(outcomes, v.Outcome) && !slices.Contains(c.Soft, "verdict.criteria") &&
			!slices.Contains(c.Soft, "verdict.criteria."+string(rune('0'+i))+".outcome") {
			t.Errorf("criterion %d: %s %s, want %s %v", i, v.Criterion, v.Outcome, want.Name, outcomes)
		}
		if !sameNumber(v.Probability, want.Probability) {
			t.Errorf("criterion %s: probability %s, want %s", v.Criterion, show(v.Probability), show(want.Probability))
		}
		if v.Probability != nil && math.IsNaN(*v.Probability) {
			t.Errorf("criterion %s: NaN reached a row", v.Criterion)
		}
	}
	if c.ID == "E10" && !strings.Contains(got.Verdicts[0].Detail, "can't assess") {
		t.Errorf("the refusal's text is lost: %q", got.Verdicts[0].Detail)
	}
}

func sameNumber(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) < 1e-6
}

func show(p *float64) string {
	if p == nil {
		return "none"
	}
	s, _ := json.Marshal(*p)
	return string(s)
}

// unitFromCase builds a unit from a case's record.
func unitFromCase(t *testing.T, input []byte) judge.Unit {
	t.Helper()
	var r struct {
		Messages []struct{ Role, Content string }
		Reply    struct{ Text string }
		Complete bool
	}
	if err := json.Unmarshal(input, &r); err != nil {
		t.Fatal(err)
	}
	inf, body := judgetest.Inference(), record.Body{}
	inf.Complete = r.Complete
	for _, m := range r.Messages {
		body.Input = append(body.Input, judgetest.Message(m.Role, m.Content))
	}
	body.Output = []record.Message{judgetest.Message("assistant", r.Reply.Text)}
	u, _ := judge.UnitFrom(inf, body)
	return u
}
