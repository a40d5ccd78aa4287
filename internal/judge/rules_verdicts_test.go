package judge_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

func TestRule15Sources(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*record.Inference, *record.Body)
		tools  []string
		want   any
	}{
		"none": {func(*record.Inference, *record.Body) {}, nil, nil},
		"header, list": {func(_ *record.Inference, b *record.Body) {
			b.RequestHeaders = map[string]string{"docket-sources": `["a","b"]`}
		}, nil, []any{"a", "b"}},
		"header, as captured": {func(i *record.Inference, _ *record.Body) {
			i.Attributes = map[string]string{"docket.sources": "one text"}
		}, nil, []any{"one text"}},
		"metadata field": {func(i *record.Inference, _ *record.Body) {
			i.Attributes = map[string]string{"metadata.docket_sources": `["m"]`}
		}, nil, []any{"m"}},
		"results of named tools": {func(*record.Inference, *record.Body) {}, []string{"find_order"}, []any{`{"order":"881","items":["lamp","bulb"]}`}},
		"failed calls are none":  {func(*record.Inference, *record.Body) {}, []string{"refund"}, nil},
		"what was sent comes first": {func(_ *record.Inference, b *record.Body) {
			b.RequestHeaders = map[string]string{"docket-sources": "sent"}
		}, []string{"find_order"}, []any{"sent"}},
	} {
		inf, body := judgetest.Inference(), judgetest.Body()
		c.change(&inf, &body)
		u, _ := judge.UnitFrom(inf, body)
		r := first()
		r.SourceTools = c.tools
		_, seen := ask(t, "systemone", r, u, nil)
		if diff := cmp.Diff(c.want, seen[0].Data.(map[string]any)["sources"]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRule17SharedJudge(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	s.Answer(func(q judgetest.Question) judgetest.Answer { return judgetest.Answer{P: 0.75} })
	cfg := judge.DefaultConfig() // with its cache
	cfg.Backends = map[string]judge.BackendConfig{"main": s.Backend()}
	r := three()
	r.MaxCallsPerDay = 1000
	j, err := judge.New(cfg, map[string]judge.Rubric{"r": r}, judgetest.Options(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			u := judgetest.Reply(strings.Repeat("sorry ", i%5+1))
			if got := j.Judge(t.Context(), "r", u); got.Outcome != record.OutcomePass || len(got.Verdicts) != 3 {
				t.Errorf("%s", got.Outcome)
			}
		})
	}
	wg.Wait()
}

func TestRule18NeverAnError(t *testing.T) {
	cfg := judge.DefaultConfig()
	cfg.CacheWindow = 0
	var b judge.BackendConfig
	b.SetDefaults()
	b.Format, b.URL, b.Model, b.Retries = "systemone", "http://127.0.0.1:1", "m", 0
	got := judgetest.New(t, b, three(), nil).Judge(t.Context(), "r", judgetest.Unit())
	if len(got.Verdicts) != 3 || got.Outcome != record.OutcomeInconclusive || got.Verdicts[0].Detail == "" || len(got.Calls) != 1 {
		t.Errorf("%+v", got)
	}
	got = judgetest.New(t, b, three(), nil).Judge(t.Context(), "unknown", judge.Unit{})
	if got.Outcome != record.OutcomeInconclusive || !strings.Contains(got.Detail, "unknown") {
		t.Errorf("%+v", got)
	}
	got = judgetest.New(t, b, three(), nil).Judge(t.Context(), "r", judge.Unit{Criteria: []judge.Criterion{{Text: "x", Weight: ptr(-1.0)}}})
	if got.Outcome != record.OutcomeInconclusive || got.Reason != record.ReasonJudgeError {
		t.Errorf("%+v", got)
	}
}

func TestRule19OrderOfCriteria(t *testing.T) {
	r := three()
	r.Criteria = append(r.Criteria, judge.Criterion{Name: "short", Check: &judge.Check{MaxChars: 500}}, judge.Criterion{Name: "last", Text: "It ends."})
	got, _ := ask(t, "systemone", r, judgetest.Unit(), nil)
	for i, name := range []string{"sorry", "amount", "polite", "short", "last"} {
		if v := got.Verdicts[i]; v.Criterion != name || int(v.CriterionIndex) != i {
			t.Errorf("verdict %d is %s with index %d", i, v.Criterion, v.CriterionIndex)
		}
	}
}

func TestRule20UnsureIsNotSatisfied(t *testing.T) {
	got, _ := ask(t, "systemone", first(), judgetest.Unit(), always(0.49))
	if got.Outcome != record.OutcomeFail {
		t.Errorf("unsure without a band: %s", got.Outcome)
	}
	r := first()
	r.Abstain = &judge.Band{Low: 0.4, High: 0.6}
	for p, want := range map[float64]string{
		0.39: record.OutcomeFail, 0.4: record.OutcomeInconclusive, 0.5: record.OutcomeInconclusive,
		0.6: record.OutcomeInconclusive, 0.61: record.OutcomePass,
	} {
		got, _ := ask(t, "systemone", r, judgetest.Unit(), always(p))
		v := got.Verdicts[0]
		if v.Outcome != want || want == record.OutcomeInconclusive && v.Reason != record.ReasonUncertain || v.Probability == nil {
			t.Errorf("p %v in the band 0.4 to 0.6: %s (%s)", p, v.Outcome, v.Reason)
		}
	}
	r.Criteria[0].Abstain = &judge.Band{Low: 0.7, High: 0.6}
	wantError(t, newWith(r), "abstain", "low below high")
}

func TestRule21Tokens(t *testing.T) {
	for _, f := range judgetest.Formats() {
		got, _ := ask(t, f.Name, first(), judgetest.Unit(), nil)
		if in := got.Calls[0].InputTokens; in == nil || *in != 300 {
			t.Errorf("%s: input tokens %v", f.Name, in)
		}
	}
	// What is not reported is absent, not 0.
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	s.Next(judgetest.Response{Status: 200, Body: `{"answers":{"q1":{"type":"noul","noul":1}},"usage":{"input_tokens":-3,"output_tokens":"7"}}`})
	got := judgetest.New(t, s.Backend(), first(), nil).Judge(t.Context(), "r", judgetest.Unit())
	if c := got.Calls[0]; c.InputTokens != nil || c.OutputTokens != nil || c.CostNanoUSD != nil {
		t.Errorf("made-up usage: %v %v %v", c.InputTokens, c.OutputTokens, c.CostNanoUSD)
	}
}
