package evaluate

import (
	"context"
	"slices"
	"time"

	"docket/internal/judge"
	"docket/internal/record"
	"docket/internal/sampling"
)

// ReasonExpired is the reason in epochs for what was sampled and is too old.
const ReasonExpired = "expired"

// decide applies every rule, counts what it says, and returns the units to
// judge. Rules about feedback decide about candidates that feedback made, the
// others about those of capture. earlier is the feedback on the same inference
// that was decided about before.
func (r *reader) decide(c record.Candidate, earlier []record.Candidate) []unit {
	var out []unit
	matched := map[string][]sampling.Decision{} // by rubric
	for _, rule := range r.opts.Rules {
		if !rule.AboutFeedback() && c.HasFeedback() {
			// It was decided when the inference was recorded, and only adds to the
			// probability.
			if d := rule.Decide(c.WithoutFeedback()); d.Matched && sampling.Eligible(c, rule.Eligibility()) == "" {
				matched[rule.Rubric] = append(matched[rule.Rubric], d)
			}
			continue
		}
		if rule.AboutFeedback() {
			i := slices.IndexFunc(earlier, func(e record.Candidate) bool { return rule.Decide(e).Matched })
			if i >= 0 && sampling.Eligible(c, rule.Eligibility()) == "" {
				matched[rule.Rubric] = append(matched[rule.Rubric], rule.Decide(earlier[i]))
			}
			if i >= 0 || !rule.Decide(c).Matched {
				continue // once for each inference, however often feedback comes
			}
		}
		if u, ok := r.apply(c, rule, matched); ok {
			out = append(out, u)
		}
	}
	return onePerRubric(out, matched)
}

// apply applies one rule to a candidate that it is about.
func (r *reader) apply(c record.Candidate, rule sampling.Rule, matched map[string][]sampling.Decision) (unit, bool) {
	count := func(reason string, threshold uint64) {
		if r.counted[c.Shard%shardCount].before(placeOf(c)) {
			r.counts = append(r.counts, counted{c, rule, reason, threshold})
		}
	}
	if reason := sampling.Eligible(c, rule.Eligibility()); reason != "" {
		count(reason, 0)
		return unit{}, false
	}
	d := rule.Decide(c)
	if !d.Matched {
		return unit{}, false
	}
	matched[rule.Rubric] = append(matched[rule.Rubric], d)
	u := unit{candidate: c, rule: rule, decision: d}
	switch {
	case !d.Sampled:
		count(d.Reason, d.Threshold)
		u.raise = true
		return u, c.HasFeedback() // what another rule chose now counts for less
	case c.InsertedAt.Before(r.opts.Now().Add(-r.config.MaxAge)):
		count(ReasonExpired, d.Threshold)
		return unit{}, false
	}
	count(d.Reason, d.Threshold)
	return u, true
}

// onePerRubric lets a rubric judge a candidate once, whatever number of its
// rules chose it. The rule with the highest rate stays, with the probability
// that any of those that matched chooses the candidate.
func onePerRubric(chosen []unit, matched map[string][]sampling.Decision) []unit {
	var out []unit
	for _, u := range chosen {
		i := slices.IndexFunc(out, func(o unit) bool { return o.rule.Rubric == u.rule.Rubric })
		switch {
		case i < 0:
			out = append(out, u)
		case out[i].raise && !u.raise || out[i].raise == u.raise && u.decision.InclusionP > out[i].decision.InclusionP:
			out[i] = u
		}
	}
	for i := range out {
		out[i].decision.InclusionP = sampling.Union(matched[out[i].rule.Rubric])
	}
	return out
}

// withoutJudged leaves out units all of whose verdicts exist. Of those that
// feedback made, it keeps the ones whose verdicts count as if they were less
// probable than they are by now.
func (r *reader) withoutJudged(ctx context.Context, units []unit) ([]unit, error) {
	if len(units) == 0 {
		return nil, nil
	}
	ids := make([][]string, len(units))
	var all []string
	for i, u := range units {
		ids[i] = r.opts.Judge.VerdictIDs(u.rule.Rubric, judge.Unit{Inference: inferenceOf(u.candidate)})
		all = append(all, ids[i]...)
	}
	var judged map[string]bool
	err := retry(ctx, r.opts.Log, "look for verdicts", func(ctx context.Context) (err error) {
		judged, err = r.opts.Store.JudgedIDs(ctx, all)
		return err
	})
	if err != nil {
		return nil, err
	}
	var left []unit
	for i, u := range units {
		missing := slices.ContainsFunc(ids[i], func(id string) bool { return !judged[id] })
		if !missing && u.candidate.HasFeedback() {
			if u.raised, err = r.raisedOf(ctx, u, ids[i]); err != nil {
				return nil, err
			}
		}
		if missing && !u.raise || len(u.raised) > 0 {
			left = append(left, u)
			continue
		}
		r.flight.done(u.key())
	}
	return left, nil
}

// raisedOf returns the verdicts of a unit whose inclusion probability is lower
// than the one that feedback gives it, with that one.
func (r *reader) raisedOf(ctx context.Context, u unit, ids []string) (raised []record.Verdict, err error) {
	err = retry(ctx, r.opts.Log, "read verdicts", func(ctx context.Context) error {
		rows, err := allVerdicts(ctx, r.opts.Store, record.VerdictFilter{InferenceIDs: []string{u.candidate.InferenceID}, Rubric: u.rule.Rubric})
		raised = nil
		for _, v := range rows {
			if low, ok := raise(v, u); ok && slices.Contains(ids, v.ID) {
				raised = append(raised, low)
			}
		}
		return err
	})
	return raised, err
}

// maxVerdicts is how many rows the store returns at a time.
const maxVerdicts = 10_000

// verdictReader returns verdicts newest first, at most filter.Limit.
type verdictReader interface {
	Verdicts(ctx context.Context, f record.VerdictFilter) ([]record.Verdict, error)
}

// allVerdicts reads page by page, so that none is missing however many there are.
func allVerdicts(ctx context.Context, store verdictReader, f record.VerdictFilter) ([]record.Verdict, error) {
	f.Limit = maxVerdicts
	var out []record.Verdict
	for {
		rows, err := store.Verdicts(ctx, f)
		out = append(out, rows...)
		if err != nil || len(rows) < f.Limit {
			return out, err
		}
		last := rows[len(rows)-1]
		f.Before = record.Cursor{Time: last.Time, ID: last.ID}
	}
}

// raise gives a verdict the probability of the unit, if it is higher: this is
// the probability that any of the rules chooses it. Without it the verdict would
// count too much.
func raise(v record.Verdict, u unit) (record.Verdict, bool) {
	if v.InclusionP >= u.decision.InclusionP {
		return v, false
	}
	v.InclusionP, v.Rule, v.Stratum = u.decision.InclusionP, u.rule.Name, u.decision.Stratum
	v.JudgedAt = v.JudgedAt.Add(time.Microsecond) // the later one replaces the other
	return v, true
}
