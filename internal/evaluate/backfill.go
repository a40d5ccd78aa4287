package evaluate

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"docket/internal/judge"
	"docket/internal/record"
	"docket/internal/sampling"
)

// BackfillStore is what a backfill reads from and writes to.
type BackfillStore interface {
	// Inferences returns rows newest first.
	Inferences(ctx context.Context, f record.InferenceFilter) ([]record.Inference, error)
	InferenceBodies(ctx context.Context, ids []string) (map[string]record.Body, error)
	Verdicts(ctx context.Context, f record.VerdictFilter) ([]record.Verdict, error)
	// Feedback returns each piece of feedback once, newest first.
	Feedback(ctx context.Context, f record.FeedbackFilter) ([]record.Feedback, error)
	// WriteVerdicts replaces verdicts of the same id that were judged earlier.
	WriteVerdicts(ctx context.Context, calls []record.JudgeCall, verdicts []record.Verdict) error
	WriteSpans(ctx context.Context, token string, spans []record.Span) error
	WriteEpochs(ctx context.Context, rows []record.Epoch) error
}

// ReasonBackfilled is the reason in epochs for what a backfill judged. What it
// left out is not counted: it can be run again and again.
const ReasonBackfilled = "backfilled"

// Backfill judges what was recorded in [Since, Until), newest first, as if Rule
// had been there. What is judged already by the same criteria and judge is not
// judged again, so a backfill that was stopped goes on when it is run again.
//
// Where a verdict exists that was sampled at a lower rate, its inclusion
// probability is raised to that of the backfill: sampling is nested, so this is
// the probability with which the unit is judged by one of the two. Without it
// the older verdicts would count too much.
type Backfill struct {
	Store       BackfillStore
	Judge       Judge
	Rule        sampling.Rule
	Filter      record.InferenceFilter // Since, Until, and if wanted project, environment, model
	Retry       bool                   // judge again what was inconclusive
	Concurrency int
	MaxNanoUSD  uint64                              // stop before the next page when this is spent; 0 is no limit
	PricedOnly  bool                                // stop also when calls of unknown cost were made
	Instance    string                              // names this backfill in epochs
	Progress    func(at time.Time, n BackfillCount) // called after each page; nil for nobody
	// Verdicts and Spans are told of what was judged after it is written; nil for
	// nobody.
	Verdicts func(ctx context.Context, verdicts []record.Verdict)
	Spans    func(ctx context.Context, spans []record.Span)
}

// BackfillCount is what a backfill did.
type BackfillCount struct {
	Seen        int
	NotEligible int
	NotMatched  int
	NotSampled  int
	Known       int // judged before
	Reweighted  int // of these, verdicts whose inclusion probability was raised
	Judged      int
	NanoUSD     uint64
	Unpriced    int // calls of unknown cost
	OverBudget  bool
}

const backfillPage = 200

// Run judges until everything is done, the budget is used up, or ctx ends. The
// count is valid also beside an error.
func (b Backfill) Run(ctx context.Context) (BackfillCount, error) {
	var n BackfillCount
	f := b.Filter
	f.Limit = backfillPage
	for {
		if ctx.Err() != nil {
			return n, errStopped(ctx)
		}
		rows, err := b.Store.Inferences(ctx, f)
		if err != nil || len(rows) == 0 {
			return n, err
		}
		if b.MaxNanoUSD > 0 && n.NanoUSD >= b.MaxNanoUSD || b.PricedOnly && n.Unpriced > 0 {
			n.OverBudget = true
			return n, nil
		}
		if err := b.page(ctx, rows, &n); err != nil {
			return n, err
		}
		last := rows[len(rows)-1]
		if b.Progress != nil {
			b.Progress(last.Time, n)
		}
		f.Before = record.Cursor{Time: last.Time, ID: last.ID}
	}
}

func (b Backfill) page(ctx context.Context, rows []record.Inference, n *BackfillCount) error {
	feedback, err := b.feedback(ctx, rows)
	if err != nil {
		return err
	}
	chosen := b.choose(rows, feedback, n)
	if len(chosen) == 0 {
		return nil
	}
	chosen, raised, err := b.withoutJudged(ctx, chosen, n)
	if err != nil {
		return err
	}
	results, err := b.judge(ctx, chosen)
	if err != nil {
		return err
	}
	var calls []record.JudgeCall
	var spans []record.Span
	verdicts := raised
	for _, r := range results {
		calls, verdicts, spans = append(calls, r.Calls...), append(verdicts, r.Verdicts...), append(spans, r.Spans...)
	}
	if len(verdicts) > 0 {
		if err := b.Store.WriteVerdicts(ctx, calls, verdicts); err != nil {
			return err
		}
	}
	if len(spans) > 0 {
		if err := b.Store.WriteSpans(ctx, "judge:"+spans[0].SpanID, spans); err != nil {
			return err
		}
	}
	if err := b.tell(ctx, chosen, verdicts[len(raised):], spans); err != nil {
		return err
	}
	n.Judged += len(results)
	n.Reweighted += len(raised)
	for _, c := range calls {
		if c.CostNanoUSD == nil {
			n.Unpriced++
			continue
		}
		n.NanoUSD += *c.CostNanoUSD
	}
	return nil
}

// tell counts what was judged, and tells those who want to know.
func (b Backfill) tell(ctx context.Context, judged []unit, verdicts []record.Verdict, spans []record.Span) error {
	if len(judged) == 0 {
		return nil
	}
	if b.Verdicts != nil {
		b.Verdicts(ctx, verdicts)
	}
	if b.Spans != nil {
		b.Spans(ctx, spans)
	}
	counts := newEpochs(b.Instance)
	for _, u := range judged {
		counts.add(u.candidate, u.rule, ReasonBackfilled, u.decision.Threshold)
	}
	return b.Store.WriteEpochs(ctx, counts.take())
}

// feedback returns what was said about inferences, by their ids, when the rule
// asks for it.
func (b Backfill) feedback(ctx context.Context, rows []record.Inference) (map[string][]record.Feedback, error) {
	out := map[string][]record.Feedback{}
	if !b.Rule.AboutFeedback() {
		return out, nil
	}
	ids := make([]string, len(rows))
	for i, inf := range rows {
		ids[i] = inf.ID
	}
	list, err := b.Store.Feedback(ctx, record.FeedbackFilter{InferenceIDs: ids, Limit: maxVerdicts})
	for _, f := range list {
		out[f.InferenceID] = append(out[f.InferenceID], f)
	}
	return out, err
}

// choose applies the rule. One about feedback takes an inference that has any
// that it matches.
func (b Backfill) choose(rows []record.Inference, feedback map[string][]record.Feedback, n *BackfillCount) []unit {
	var out []unit
	for _, inf := range rows {
		n.Seen++
		c := CandidateOf(inf)
		d := b.Rule.Decide(c)
		for _, f := range feedback[inf.ID] {
			if !d.Matched {
				c = FeedbackCandidate(c, f)
				d = b.Rule.Decide(c)
			}
		}
		switch {
		case sampling.Eligible(c, b.Rule.Eligibility()) != "":
			n.NotEligible++
		case !d.Matched:
			n.NotMatched++
		case !d.Sampled:
			n.NotSampled++
		default:
			out = append(out, unit{candidate: c, rule: b.Rule, decision: d, inference: inf})
		}
	}
	return out
}

// withoutJudged leaves out units all of whose verdicts exist, and returns those
// of their verdicts that were sampled at a lower rate, raised.
func (b Backfill) withoutJudged(ctx context.Context, units []unit, n *BackfillCount) (left []unit, raised []record.Verdict, err error) {
	ids := make([]string, len(units))
	for i, u := range units {
		ids[i] = u.inference.ID
	}
	rows, err := allVerdicts(ctx, b.Store, record.VerdictFilter{InferenceIDs: ids, Rubric: b.Rule.Rubric})
	if err != nil {
		return nil, nil, err
	}
	known := make(map[string]record.Verdict, len(rows))
	for _, v := range rows {
		known[v.ID] = v
	}
	for _, u := range units {
		missing, highest := false, u.decision.InclusionP
		var low []record.Verdict
		for _, id := range b.Judge.VerdictIDs(b.Rule.Rubric, judge.Unit{Inference: u.inference}) {
			v, ok := known[id]
			again := b.Retry && v.Outcome == record.OutcomeInconclusive
			missing, highest = missing || !ok || again, max(highest, v.InclusionP)
			if r, lower := raise(v, u); ok && lower {
				low = append(low, r)
			}
		}
		if missing {
			u.decision.InclusionP = highest
			left = append(left, u)
			continue
		}
		n.Known++
		raised = append(raised, low...)
	}
	return left, raised, nil
}

// judge judges the units of one page. When ctx ends, nothing of the page counts.
func (b Backfill) judge(ctx context.Context, units []unit) ([]judge.Result, error) {
	if len(units) == 0 {
		return nil, nil
	}
	ids := make([]string, len(units))
	for i, u := range units {
		ids[i] = u.inference.ID
	}
	bodies, err := b.Store.InferenceBodies(ctx, ids)
	if err != nil {
		return nil, err
	}
	results := make([]judge.Result, len(units))
	var g errgroup.Group
	g.SetLimit(max(b.Concurrency, 1))
	for i, u := range units {
		g.Go(func() error {
			asked, _ := judge.UnitFrom(u.inference, bodies[u.inference.ID]) // a problem becomes the reason of the verdicts
			asked.Origin = record.OriginBackfill
			asked.Rule, asked.Stratum, asked.InclusionP = u.rule.Name, u.decision.Stratum, u.decision.InclusionP
			results[i] = b.Judge.Judge(ctx, u.rule.Rubric, asked)
			return nil
		})
	}
	if err := g.Wait(); err != nil || ctx.Err() != nil {
		return nil, errStopped(ctx)
	}
	return results, nil
}

func errStopped(ctx context.Context) error {
	return fmt.Errorf("stopped; the same command goes on from here: %w", ctx.Err())
}
