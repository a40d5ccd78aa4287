package evaluate

import (
	"context"
	"slices"
	"time"

	"docket/internal/judge"
	"docket/internal/record"
	"docket/internal/sampling"
)

// pageSize is how many candidates are read at once.
const pageSize = 1000

// reader finds candidates, decides about them and sends on what was chosen. It
// is used by one goroutine.
type reader struct {
	*Loop
	tracker *tracker
	seen    *seen
	next    place     // where to read on
	counted place     // at the start: what is up to here is counted already
	counts  []counted // of the page that is being handled
	swept   time.Time // when the overlap was looked through last
}

// counted is what a rule said about a candidate.
type counted struct {
	candidate    record.Candidate
	rule, reason string
	threshold    uint64
}

func (l *Loop) newReader(t *tracker, counted place) *reader {
	return &reader{Loop: l, tracker: t, seen: newSeen(), next: back(t.high, l.config.Overlap), counted: counted}
}

func back(p place, d time.Duration) place {
	if p.at.IsZero() {
		return place{}
	}
	return place{at: p.at.Add(-d)}
}

func (r *reader) run(ctx context.Context, units chan<- unit) error {
	for {
		full, err := r.page(ctx, units)
		if err != nil {
			return err
		}
		r.seen.forget(r.tracker.high.at.Add(-2 * r.config.Overlap))
		if full {
			continue
		}
		if !sleep(ctx, r.config.Poll) {
			return ctx.Err()
		}
		if now := r.opts.Now(); now.Sub(r.swept) >= r.config.Overlap/4 {
			r.swept = now
			r.next = back(r.tracker.high, r.config.Overlap)
		}
	}
}

// page handles the next candidates; full says that there are probably more.
func (r *reader) page(ctx context.Context, units chan<- unit) (full bool, err error) {
	var rows []record.Candidate
	err = retry(ctx, r.opts.Log, "read candidates", func(ctx context.Context) error {
		now, err := r.opts.Store.Now(ctx)
		if err != nil {
			return err
		}
		rows, err = r.opts.Store.Candidates(ctx, record.CandidateQuery{
			Shards: r.shards, After: r.next.at, AfterID: r.next.id, Until: now.Add(-r.config.Settle), Limit: pageSize,
		})
		if err == nil {
			r.meter.lag(now, rows)
		}
		return err
	})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	if err := r.handle(ctx, rows, units); err != nil {
		return false, err
	}
	r.next = placeOf(rows[len(rows)-1])
	r.count()
	r.tracker.read(r.next)
	return len(rows) == pageSize, nil
}

// count notes what was said about a page that is handled to its end. One that a
// stop interrupts is handled again, and counted then.
func (r *reader) count() {
	for _, c := range r.counts {
		r.epochs.add(c.candidate, c.rule, c.reason, c.threshold)
		r.meter.decided(c.rule, c.reason)
	}
	r.counts = r.counts[:0]
}

// handle decides about candidates and sends on what is to be judged.
func (r *reader) handle(ctx context.Context, rows []record.Candidate, units chan<- unit) error {
	var chosen []unit
	for _, c := range rows {
		if r.seen.add(placeOf(c)) {
			chosen = append(chosen, r.decide(c)...)
		}
	}
	chosen, err := r.withoutJudged(ctx, chosen)
	if err != nil {
		return err
	}
	if err := r.fetch(ctx, chosen); err != nil {
		return err
	}
	for _, u := range chosen {
		r.tracker.begin(placeOf(u.candidate))
	}
	for _, u := range chosen {
		select {
		case units <- u:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// decide applies every rule, counts what it says, and returns the units to judge.
func (r *reader) decide(c record.Candidate) []unit {
	count := func(rule, reason string, threshold uint64) {
		if r.counted.before(placeOf(c)) {
			r.counts = append(r.counts, counted{c, rule, reason, threshold})
		}
	}
	var out []unit
	matched := map[string][]sampling.Decision{} // by rubric
	for _, rule := range r.opts.Rules {
		if reason := sampling.Eligible(c, rule.Eligibility()); reason != "" {
			count(rule.Name, reason, 0)
			continue
		}
		d := rule.Decide(c)
		if !d.Matched {
			continue // the rule is not about it
		}
		matched[rule.Rubric] = append(matched[rule.Rubric], d)
		switch {
		case !d.Sampled:
			count(rule.Name, d.Reason, d.Threshold)
		case c.InsertedAt.Before(r.opts.Now().Add(-r.config.MaxAge)):
			count(rule.Name, ReasonExpired, d.Threshold)
		default:
			count(rule.Name, d.Reason, d.Threshold)
			out = append(out, unit{candidate: c, rule: rule, decision: d})
		}
	}
	return onePerRubric(out, matched)
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
		case u.decision.InclusionP > out[i].decision.InclusionP:
			out[i] = u
		}
	}
	for i := range out {
		out[i].decision.InclusionP = sampling.Union(matched[out[i].rule.Rubric])
	}
	return out
}

// ReasonExpired is the reason in epochs for what was sampled and is too old.
const ReasonExpired = "expired"

// withoutJudged leaves out units all of whose verdicts exist.
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
		for _, id := range ids[i] {
			if !judged[id] {
				left = append(left, u)
				break
			}
		}
	}
	return left, nil
}

// fetch adds rows and bodies. The drainer writes bodies first, so a candidate
// whose inference cannot be read was deleted since; the judge then says that
// nothing was captured.
func (r *reader) fetch(ctx context.Context, units []unit) error {
	if len(units) == 0 {
		return nil
	}
	ids := make([]string, len(units))
	for i, u := range units {
		ids[i] = u.candidate.InferenceID
	}
	var inferences map[string]record.Inference
	var bodies map[string]record.Body
	err := retry(ctx, r.opts.Log, "read what to judge", func(ctx context.Context) (err error) {
		if inferences, err = r.opts.Store.InferencesByID(ctx, ids); err != nil {
			return err
		}
		bodies, err = r.opts.Store.InferenceBodies(ctx, ids)
		return err
	})
	if err != nil {
		return err
	}
	for i := range units {
		u := &units[i]
		inf, ok := inferences[u.candidate.InferenceID]
		if !ok {
			inf = inferenceOf(u.candidate)
		}
		u.inference = inf
		if b, ok := bodies[inf.ID]; ok {
			u.body = &b
		}
	}
	return nil
}
