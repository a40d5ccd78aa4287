package judge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
)

// What Asked and Estimate say is what is then sent and stored.
func TestInspectAgreesWithJudging(t *testing.T) {
	url, calls := server(t, scripted{Status: 200, Body: []byte(`{"model":"m","answers":{"q1":{"type":"noul","noul":0.75}}}`)})
	price := 2.0
	b := formatOfWire("systemone")
	b.URL, b.InputUSD = url, &price
	rubric := judge.Rubric{Criteria: []judge.Criterion{
		{Name: "polite", Text: "The reply is polite."}, {Text: "Says sorry", Check: &judge.Check{Contains: "sorry"}},
	}}
	if diff := cmp.Diff([]string{"polite", "says_sorry"}, rubric.CriterionNames()); diff != "" {
		t.Error(diff)
	}
	j := judgetest.New(t, b, rubric, nil)
	asked, err := j.Asked("r", judgetest.Unit())
	if err != nil {
		t.Fatal(err)
	}
	e, err := j.Estimate(t.Context(), "r", judgetest.Unit())
	if err != nil {
		t.Fatal(err)
	}
	if calls.Load() != 0 {
		t.Errorf("%d calls before judging", calls.Load())
	}
	requests, err := j.DryRun(t.Context(), "r", judgetest.Unit())
	if err != nil || len(requests) != 1 {
		t.Fatalf("%d requests: %v", len(requests), err)
	}
	if e.Requests != 1 || e.Bytes != len(requests[0].Body) || e.CostNanoUSD == nil || *e.CostNanoUSD != e.InputTokens*2000 {
		t.Errorf("estimate %+v for %d bytes", e, len(requests[0].Body))
	}
	for i, v := range j.Judge(t.Context(), "r", judgetest.Unit()).Verdicts {
		a := asked[i]
		if a.Criterion != v.Criterion || a.Version != v.CriterionVersion || a.JudgeConfig != v.JudgeConfig || a.Backend != v.Backend {
			t.Errorf("asked %+v, verdict %s %s %s %s", a, v.Criterion, v.CriterionVersion, v.JudgeConfig, v.Backend)
		}
	}
	if q := asked[0].Question; q == "" || !strings.Contains(requests[0].Body, strings.ReplaceAll(q, `"`, `\"`)) {
		t.Errorf("question %q is not in %s", q, requests[0].Body)
	}
	if asked[1].Question != "" {
		t.Errorf("a check has the question %q", asked[1].Question)
	}
	for _, err := range []error{errOf(j.Asked("x", judgetest.Unit())), errOf(j.Estimate(t.Context(), "x", judgetest.Unit()))} {
		if err == nil || !strings.Contains(err.Error(), "want one of r") {
			t.Errorf("unknown rubric: %v", err)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }
