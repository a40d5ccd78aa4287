package judge_test

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

func TestRule22SameRenderingForAllBackends(t *testing.T) {
	u := judgetest.Unit()
	_, seen := ask(t, "systemone", first(), u, nil)
	state := seen[0].Data.(map[string]any)
	for _, name := range []string{"http", "sglang"} {
		_, seen := ask(t, name, first(), u, nil)
		if diff := cmp.Diff(any(state), seen[0].Data); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, name := range []string{"chat-structured", "chat-logprobs"} {
		_, seen := ask(t, name, first(), u, nil)
		data := seen[0].Data.([]any)
		for _, key := range []string{"conversation", "user_message", "response"} {
			if !slices.ContainsFunc(data, func(v any) bool { return cmp.Equal(v, state[key]) }) {
				t.Errorf("%s: %s is not what the others are shown", name, key)
			}
		}
	}
}

func TestRule23PredicatesAreStatements(t *testing.T) {
	for _, c := range requestCases() {
		for format, question := range map[string]bool{"systemone": true, "sglang": true, "openai": false} {
			if c.name == "own_question" {
				continue // its words are the user's
			}
			_, seen := ask(t, format, c.rubric, c.unit, nil)
			for _, q := range seen[0].Questions {
				text, _, _ := strings.Cut(q.Text, "\n")
				asks := slices.Contains([]string{"Is", "Does", "Do"}, strings.Fields(text)[0])
				if asks != question {
					t.Errorf("%s asks %q", format, text)
				}
			}
		}
	}
}

func TestRule24PassRuleStaysInCode(t *testing.T) {
	plain, weighted := three(), three()
	weighted.Threshold, weighted.Abstain = ptr(0.9), &judge.Band{Low: 0.2, High: 0.3}
	for i := range weighted.Criteria {
		weighted.Criteria[i].Weight = ptr(float64(i) + 0.5)
	}
	for _, f := range judgetest.Formats() {
		_, a := ask(t, f.Name, plain, judgetest.Unit(), nil)
		_, b := ask(t, f.Name, weighted, judgetest.Unit(), nil)
		if diff := cmp.Diff(bodies(a), bodies(b)); diff != "" {
			t.Errorf("%s: thresholds or weights change the request: %s", f.Name, diff)
		}
	}
}

func bodies(seen []judgetest.Seen) []string {
	var out []string
	for _, s := range seen {
		out = append(out, string(s.Body))
	}
	slices.Sort(out)
	return out
}

func TestRule25CriteriaOfACase(t *testing.T) {
	u := judgetest.Unit()
	if err := json.Unmarshal([]byte(`["The reply names the order.", {"criterion": "The reply is short.", "weight": 2}]`), &u.Criteria); err != nil {
		t.Fatal(err)
	}
	u.Expected = "It names order 881."
	got, seen := ask(t, "systemone", three(), u, nil)
	if len(got.Verdicts) != 2 || got.Verdicts[0].Criterion != "the_reply_names_the_order" || got.Verdicts[1].Weight != 2 {
		t.Errorf("verdicts %+v", got.Verdicts)
	}
	if seen[0].Data.(map[string]any)["expected"] != "It names order 881." {
		t.Errorf("state %v", seen[0].Data)
	}
	// Traffic cannot bring criteria, whatever it has in its metadata.
	inf, body := judgetest.Inference(), judgetest.Body()
	inf.Attributes = map[string]string{"metadata.criteria": `["x"]`, "criteria": `["x"]`, "metadata.expected": "x", "expected": "x"}
	body.RequestHeaders = map[string]string{"docket-criteria": `["x"]`, "docket-expected": "x"}
	live, _ := judge.UnitFrom(inf, body)
	if live.Criteria != nil || live.Expected != "" {
		t.Errorf("traffic set %v, %q", live.Criteria, live.Expected)
	}
	j := judgetest.New(t, staticBackend(1), three(), nil)
	wantError(t, j.CheckCriteria("r", []judge.Criterion{{Text: "x", Threshold: ptr(2.0)}}), "threshold")
	wantError(t, j.CheckCriteria("none", nil), `rubric "none"`, "want one of r")
}

func staticBackend(p float64) judge.BackendConfig {
	var b judge.BackendConfig
	b.SetDefaults()
	b.Format, b.Static.Probability = "static", &p
	return b
}

func TestRule26StringOrObject(t *testing.T) {
	var r judge.Rubric
	err := yaml.Unmarshal([]byte(`
criteria:
  - The reply says sorry, and means it!
  - criterion: The reply names the amount.
    weight: 2
  - text: The reply is polite.
    name: polite
    threshold: 0.8
  - "Die Antwort grüßt freundlich."
`), &r)
	if err != nil {
		t.Fatal(err)
	}
	got := judgetest.New(t, staticBackend(1), r, nil).Judge(t.Context(), "r", judgetest.Unit())
	var names []string
	for _, v := range got.Verdicts {
		names = append(names, v.Criterion)
	}
	want := []string{"the_reply_says_sorry_and_means_it", "the_reply_names_the_amount", "polite", "die_antwort_grüßt_freundlich"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	// A name never depends on the position.
	r.Criteria = slices.Insert(r.Criteria, 0, judge.Criterion{Text: "New."})
	again := judgetest.New(t, staticBackend(1), r, nil).Judge(t.Context(), "r", judgetest.Unit())
	if again.Verdicts[1].ID != got.Verdicts[0].ID {
		t.Error("a criterion before it changes a verdict's id")
	}
	for text, part := range map[string]string{
		"criteria: [{txt: x}]":                    "unknown key txt; allowed: abstain",
		"criteria: [{text: x, criterion: y}]":     "want one of them",
		"criteria: [{text: x, weight: heavy}]":    "heavy",
		"criteria: [{text: x, question: {t: x}}]": "unknown key t",
	} {
		wantError(t, yaml.Unmarshal([]byte(text), &r), part)
	}
	var c judge.Criterion
	wantError(t, json.Unmarshal([]byte(`{"txt":"x"}`), &c), "txt")
	wantError(t, newWith(judge.Rubric{Criteria: []judge.Criterion{{Text: "Same."}, {Text: "same"}}}), `"same"`, "given twice")
	wantError(t, newWith(judge.Rubric{Criteria: []judge.Criterion{{Text: " ... "}}}), "text")
	wantError(t, newWith(judge.Rubric{}), "criteria: none")
}

func TestRule27Weights(t *testing.T) {
	r := three()
	r.Criteria[1].Weight, r.Criteria[2].Weight = ptr(0.0), ptr(3.0)
	got, _ := ask(t, "systemone", r, judgetest.Unit(), judgetest.By(0.8, 0.1, 0.6))
	if got.Outcome != record.OutcomeFail {
		t.Errorf("a criterion of weight 0 is out of the pass rule: %s", got.Outcome)
	}
	if got.Score == nil || math.Abs(*got.Score-(0.8+3*0.6)/4) > 1e-12 {
		t.Errorf("score %v", got.Score)
	}
	if got.Verdicts[0].Weight != 1 {
		t.Errorf("default weight %v", got.Verdicts[0].Weight)
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		r := three()
		r.Criteria[0].Weight = &bad
		wantError(t, newWith(r), "weight", "finite number, 0 or more")
	}
	none := three()
	for i := range none.Criteria {
		none.Criteria[i].Weight = ptr(0.0)
	}
	wantError(t, newWith(none), "all weights are 0")
}

func TestRule28OneThresholdForAll(t *testing.T) {
	r := three()
	r.Threshold = ptr(0.75)
	got, _ := ask(t, "systemone", r, judgetest.Unit(), judgetest.By(0.8, 0.74, 0.75))
	var outcomes []string
	for _, v := range got.Verdicts {
		outcomes = append(outcomes, v.Outcome)
	}
	if diff := cmp.Diff([]string{record.OutcomePass, record.OutcomeFail, record.OutcomePass}, outcomes); diff != "" {
		t.Error(diff)
	}
}

func TestRule29WhichBackend(t *testing.T) {
	backends := map[string]judge.BackendConfig{"a": staticBackend(0.1), "b": staticBackend(0.9)}
	for name, c := range map[string]struct {
		backends      map[string]judge.BackendConfig
		byDefault     string
		rubric, wants string
	}{
		"own":         {backends, "a", "b", "b"},
		"default":     {backends, "a", "", "a"},
		"only one":    {map[string]judge.BackendConfig{"z": staticBackend(1)}, "", "", "z"},
		"none":        {backends, "", "", ""},
		"unknown":     {backends, "a", "c", ""},
		"bad default": {backends, "c", "b", ""},
	} {
		cfg := judge.DefaultConfig()
		cfg.Backends, cfg.DefaultBackend = c.backends, c.byDefault
		r := first()
		r.Backend = c.rubric
		j, err := judge.New(cfg, map[string]judge.Rubric{"r": r}, judgetest.Options(t, nil))
		if c.wants == "" {
			wantError(t, err, "backend", "want one of a, b")
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := j.Judge(t.Context(), "r", judgetest.Unit()); got.Verdicts[0].Backend != c.wants {
			t.Errorf("%s: asked %s, want %s", name, got.Verdicts[0].Backend, c.wants)
		}
	}
	_, err := judge.New(judge.DefaultConfig(), map[string]judge.Rubric{"r": first()}, judge.Options{})
	wantError(t, err, "there are no backends")
}

func TestRule30Timeout(t *testing.T) {
	var b judge.BackendConfig
	b.SetDefaults()
	if b.Timeout != 120*time.Second {
		t.Errorf("default timeout %v", b.Timeout)
	}
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	for range 3 {
		s.Next(judgetest.Response{Status: 503, Header: map[string]string{"Retry-After": "50"}})
	}
	b = s.Backend()
	b.Timeout = 40 * time.Second // shorter than the wait: no use in waiting
	var waits []time.Duration
	got := judgetest.New(t, b, first(), &waits).Judge(t.Context(), "r", judgetest.Unit())
	if len(waits) != 0 || len(s.Seen()) != 1 || got.Outcome != record.OutcomeInconclusive {
		t.Errorf("waits %v, %d requests: a wait that outlasts the call", waits, len(s.Seen()))
	}
}

func TestRule31PassRule(t *testing.T) {
	p, na := func(p float64) judgetest.Answer { return judgetest.Answer{P: p} }, judgetest.Answer{Refuse: true}
	for _, c := range []struct {
		answers [3]judgetest.Answer
		want    string
	}{
		{[3]judgetest.Answer{p(0.9), p(0.8), p(0.5)}, record.OutcomePass},
		{[3]judgetest.Answer{p(0.9), p(0.8), p(0.4)}, record.OutcomeFail},
		{[3]judgetest.Answer{p(0.9), na, p(0.4)}, record.OutcomeFail},
		{[3]judgetest.Answer{p(0.9), na, p(0.6)}, record.OutcomeInconclusive},
		{[3]judgetest.Answer{na, na, na}, record.OutcomeInconclusive},
	} {
		got, _ := ask(t, "systemone", three(), judgetest.Unit(), func(q judgetest.Question) judgetest.Answer {
			return c.answers[q.Key[1]-'1']
		})
		if got.Outcome != c.want {
			t.Errorf("%+v: %s, want %s", c.answers, got.Outcome, c.want)
		}
	}
}

func TestRule32Score(t *testing.T) {
	got, _ := ask(t, "systemone", three(), judgetest.Unit(), judgetest.By(0.9, 0.2, 0.7))
	if got.Score == nil || math.Abs(*got.Score-0.6) > 1e-12 {
		t.Errorf("score %v, want the mean of the probabilities, not of the outcomes", got.Score)
	}
	missing := func(q judgetest.Question) judgetest.Answer {
		return judgetest.Answer{P: 0.8, Missing: q.Key == "q2"}
	}
	if got, _ := ask(t, "systemone", three(), judgetest.Unit(), missing); got.Score != nil {
		t.Errorf("score %v although a criterion with weight has no probability", *got.Score)
	}
	r := three()
	r.Criteria[1].Weight = ptr(0.0)
	if got, _ := ask(t, "systemone", r, judgetest.Unit(), missing); got.Score == nil || math.Abs(*got.Score-0.8) > 1e-12 || got.Outcome != record.OutcomeInconclusive {
		t.Errorf("score %v, %s: weight 0 is out of the score, not of the pass rule", got.Score, got.Outcome)
	}
	// Calibrated only when it is asked for, and said.
	r = first()
	r.Criteria[0].Calibration = &judge.Calibration{Slope: 2, Intercept: -1}
	got, _ = ask(t, "systemone", r, judgetest.Unit(), always(0.6))
	if *got.Verdicts[0].Probability != 0.6 || len(got.Verdicts[0].Flags) != 0 {
		t.Errorf("calibrated without being asked: %v", *got.Verdicts[0].Probability)
	}
	r.UseCalibrated = true
	got, _ = ask(t, "systemone", r, judgetest.Unit(), always(0.6))
	want := 1 / (1 + math.Exp(-(2*math.Log(0.6/0.4) - 1)))
	if v := got.Verdicts[0]; math.Abs(*v.Probability-want) > 1e-12 || v.Outcome != record.OutcomeFail || !slices.Contains(v.Flags, judge.FlagCalibrated) {
		t.Errorf("%+v, want p %v and a flag", v, want)
	}
	r.Criteria[0].Calibration = nil
	wantError(t, newWith(r), "calibration", "use_calibrated")
}

func TestRule33JudgeCallHasTheDetails(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	s.Answer(judgetest.By(0.9, 0.8, 0.7))
	s.Next(judgetest.Response{Status: 503})
	b := s.Backend()
	b.InputUSD, b.OutputUSD = ptr(0.042), ptr(0.0)
	got := judgetest.New(t, b, three(), nil).Judge(t.Context(), "r", judgetest.Unit())
	want := []record.JudgeCall{{
		ID: "00000000-0000-4000-8000-000000000004", RunID: "00000000-0000-4000-8000-000000000001",
		Time: judgetest.Now(), UnitTime: judgetest.Inference().Time, Project: "shop",
		InferenceID: judgetest.Inference().ID, TraceID: judgetest.Inference().TraceID,
		Rubric: "r", RubricVersion: got.Verdicts[0].RubricVersion, Outcome: record.OutcomePass, Score: got.Score,
		Backend: "main", BackendFormat: "systemone", Model: "fake-judge", ResolvedModel: "fake-judge-7",
		Method: record.MethodDecision, Questions: 3, InputTokens: ptr(uint64(300)), OutputTokens: ptr(uint64(4)),
		CostNanoUSD: ptr(uint64(12600)), Attempts: 2, JudgeTraceID: got.Spans[0].TraceID,
		JudgeSpanID: got.Spans[1].SpanID, Origin: record.OriginOnline,
	}}
	if diff := cmp.Diff(want, got.Calls); diff != "" {
		t.Error(diff)
	}
	for _, v := range got.Verdicts {
		if v.JudgeCallID != got.Calls[0].ID || v.RunID != got.RunID {
			t.Errorf("verdict %s points to call %s", v.Criterion, v.JudgeCallID)
		}
	}
	golden(t, "testdata/verdict.json", indented(t, got.Verdicts[0]))
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

func TestRule34CostOfTheJudgeIsItsOwn(t *testing.T) {
	u := judgetest.Unit()
	u.Inference.CostNanoUSD = ptr(uint64(777_000_000))
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	b := s.Backend()
	b.InputUSD, b.OutputUSD = ptr(1.0), ptr(1.0)
	got := judgetest.New(t, b, first(), nil).Judge(t.Context(), "r", u)
	if cost := *got.Calls[0].CostNanoUSD; cost != 304_000 {
		t.Errorf("cost %d, want that of the judge's tokens alone", cost)
	}
	if *u.Inference.CostNanoUSD != 777_000_000 {
		t.Error("the traffic's cost was changed")
	}
	if data := indented(t, got.Verdicts); bytes.Contains(data, []byte("Cost")) {
		t.Error("verdicts carry a cost: it would be counted once for each criterion")
	}
}

func TestRule35FailedCallIsARow(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"detail":{"error_type":"authentication_error","message":"no such key"}}`, http.StatusForbidden)
	}))
	defer s.Close()
	b := staticBackend(1)
	b.Format, b.URL, b.Model = "systemone", s.URL, "m"
	got := judgetest.New(t, b, three(), nil).Judge(t.Context(), "r", judgetest.Unit())
	if c := got.Calls[0]; c.ErrorReason != record.ReasonJudgeError || c.ErrorMessage != "status 403: no such key" || c.Outcome != record.OutcomeInconclusive || c.Score != nil {
		t.Errorf("call %+v", c)
	}
	for _, v := range got.Verdicts {
		if v.Outcome != record.OutcomeInconclusive || v.Reason != record.ReasonJudgeError || v.Detail != "status 403: no such key" || v.Probability != nil {
			t.Errorf("verdict %+v", v)
		}
	}
	if s := got.Spans[1]; s.StatusCode != "Error" || s.StatusMessage != "status 403: no such key" {
		t.Errorf("span %+v", s)
	}
}
