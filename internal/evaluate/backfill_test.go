package evaluate_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/evaluate"
	"docket/internal/judge"
	"docket/internal/record"
)

// history is a fake store with inferences that were recorded before.
type history struct {
	*fakeStore
	rows     []record.Inference // newest first
	feedback []record.Feedback
}

func (h *history) Feedback(_ context.Context, f record.FeedbackFilter) ([]record.Feedback, error) {
	var out []record.Feedback
	for _, r := range h.feedback {
		if slices.Contains(f.InferenceIDs, r.InferenceID) {
			out = append(out, r)
		}
	}
	return out, nil
}

func (h *history) Inferences(_ context.Context, f record.InferenceFilter) ([]record.Inference, error) {
	var out []record.Inference
	for _, r := range h.rows {
		if len(out) < f.Limit && (f.Before.ID == "" || r.Time.Before(f.Before.Time)) {
			out = append(out, r)
		}
	}
	return out, nil
}

func (h *history) Verdicts(_ context.Context, f record.VerdictFilter) ([]record.Verdict, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []record.Verdict
	for _, v := range h.verdicts {
		if slices.Contains(f.InferenceIDs, v.InferenceID) {
			out = append(out, v)
		}
	}
	return out, nil
}

func recorded(n int) *history {
	h := &history{fakeStore: newFakeStore()}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for i := range n {
		h.rows = append(h.rows, record.Inference{
			ID: id(i), Time: now.Add(-time.Duration(i) * time.Second), Project: "p", Operation: "chat", Complete: true, Status: 200,
			Stratum: record.StratumOK, CaptureLevel: record.CaptureFull, TerminalState: record.StateComplete, SampleValue: uint64(i%2) << 55,
		})
	}
	return h
}

func TestBackfillJudgesOnceAndRaisesProbabilities(t *testing.T) {
	h, j := recorded(450), newFakeJudge()
	h.rows[4].ToolStep = true
	run := func(rate float64) evaluate.BackfillCount {
		t.Helper()
		n, err := evaluate.Backfill{Store: h, Judge: j, Rule: rule(rate), Concurrency: 4}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// Half of them first, as live sampling at this rate does.
	if diff := cmp.Diff(evaluate.BackfillCount{Seen: 450, NotEligible: 1, NotSampled: 224, Judged: 225}, run(0.5)); diff != "" {
		t.Errorf("at 0.5 (-want +got):\n%s", diff)
	}
	for _, v := range h.verdicts {
		if v.InclusionP != 0.5 || v.Origin != record.OriginBackfill || v.Rule != "all" {
			t.Fatalf("verdict %+v", v)
		}
	}
	perUnit := len(h.verdicts) / 225
	if diff := cmp.Diff(evaluate.BackfillCount{Seen: 450, NotEligible: 1, Known: 225, Reweighted: 225 * perUnit, Judged: 224}, run(1)); diff != "" {
		t.Errorf("at 1 (-want +got):\n%s", diff)
	}
	for _, v := range h.verdicts {
		if v.InclusionP != 1 {
			t.Fatalf("a verdict kept probability %v", v.InclusionP)
		}
	}
	// A lower rate changes nothing any more.
	if diff := cmp.Diff(evaluate.BackfillCount{Seen: 450, NotEligible: 1, NotSampled: 224, Known: 225}, run(0.5)); diff != "" {
		t.Errorf("again at 0.5 (-want +got):\n%s", diff)
	}
	if most := j.most(); most != 1 {
		t.Errorf("one inference was judged %d times", most)
	}
}

func TestBackfillRetriesWhatWasInconclusive(t *testing.T) {
	h, j := recorded(10), newFakeJudge()
	b := evaluate.Backfill{Store: h, Judge: j, Rule: rule(1), Concurrency: 2}
	j.fails = true
	for range 2 { // without being asked, it does not
		if _, err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if most := j.most(); most != 1 {
		t.Errorf("asked %d times", most)
	}
	j.fails, b.Retry = false, true
	for range 2 {
		if _, err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if most := j.most(); most != 2 {
		t.Errorf("asked %d times", most)
	}
	for _, v := range h.verdicts {
		if v.Outcome != record.OutcomePass {
			t.Fatalf("verdict %+v", v)
		}
	}
}

// priced adds to each result a call with a cost.
type priced struct{ *fakeJudge }

func (p priced) Judge(ctx context.Context, rubric string, u judge.Unit) judge.Result {
	r := p.fakeJudge.Judge(ctx, rubric, u)
	cost := uint64(1000)
	r.Calls = []record.JudgeCall{{ID: u.Inference.ID, CostNanoUSD: &cost}}
	return r
}

func TestBackfillStopsAtItsBudgetAndGoesOn(t *testing.T) {
	h, j := recorded(1000), newFakeJudge()
	b := evaluate.Backfill{Store: h, Judge: priced{j}, Rule: rule(1), Concurrency: 4, MaxNanoUSD: 300_000}
	n, err := b.Run(t.Context())
	if err != nil || !n.OverBudget || n.Judged != 400 || n.NanoUSD != 400_000 {
		t.Errorf("%+v: %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.MaxNanoUSD = 0
	pages := 0
	b.Progress = func(time.Time, evaluate.BackfillCount) {
		if pages++; pages == 3 {
			cancel()
		}
	}
	if n, err = b.Run(ctx); !errors.Is(err, context.Canceled) || n.Judged != 200 || n.Known != 400 {
		t.Errorf("stopped: %+v: %v", n, err)
	}
	b.Progress = nil
	if n, err = b.Run(t.Context()); err != nil || n.Judged != 400 || n.Known != 600 || n.OverBudget {
		t.Errorf("the rest: %+v: %v", n, err)
	}
	if most := j.most(); most != 1 {
		t.Errorf("one inference was judged %d times", most)
	}
}

func TestBackfillByARuleAboutFeedback(t *testing.T) {
	h, j := recorded(4), newFakeJudge()
	h.feedback = []record.Feedback{
		{ID: "a", InferenceID: id(1), Label: "up"},
		{ID: "b", InferenceID: id(1), Label: "down"},
		{ID: "c", InferenceID: id(2), Label: "up"},
	}
	n, err := evaluate.Backfill{Store: h, Judge: j, Rule: complaints(), Concurrency: 2}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(evaluate.BackfillCount{Seen: 4, NotMatched: 3, Judged: 1}, n); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, v := range h.verdicts {
		if v.InferenceID != id(1) || v.Stratum != record.StratumFeedback || v.Rule != "complaints" {
			t.Errorf("verdict %+v", v)
		}
	}
}

// What a backfill judged is told and counted once, however often it is run.
func TestBackfillTellsAndCounts(t *testing.T) {
	h, j := recorded(10), newFakeJudge()
	var told []string
	b := evaluate.Backfill{
		Store: h, Judge: j, Rule: rule(0.5), Concurrency: 2, Instance: "b",
		Verdicts: func(_ context.Context, verdicts []record.Verdict) {
			for _, v := range verdicts {
				told = append(told, v.ID)
			}
		},
	}
	for _, rate := range []float64{0.5, 0.5, 1} { // the last one also raises probabilities
		b.Rule = rule(rate)
		if _, err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(told)
	if len(told) != 20 || len(slices.Compact(told)) != 20 {
		t.Errorf("told of %d verdicts: %v", len(told), told)
	}
	if diff := cmp.Diff(map[string]uint64{"all/ok/backfilled": 10}, h.counted()); diff != "" {
		t.Errorf("epochs (-want +got):\n%s", diff)
	}
}
