package evaluate

import (
	"context"
	"time"

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
	counted places    // at the start: what is up to here is counted already
	counts  []counted // of the page that is being handled
	swept   time.Time // when the overlap was looked through last
	waiting []unit    // the same inference is being judged by the same rubric
}

// counted is what a rule said about a candidate.
type counted struct {
	candidate record.Candidate
	rule      sampling.Rule
	reason    string
	threshold uint64
}

func (l *Loop) newReader(t *tracker, counted places) *reader {
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
		if err := r.again(ctx, units); err != nil {
			return err
		}
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
		r.meter.decided(c.rule.Name, c.reason)
	}
	r.counts = r.counts[:0]
}

// handle decides about candidates and sends on what is to be judged.
func (r *reader) handle(ctx context.Context, rows []record.Candidate, units chan<- unit) error {
	earlier, err := r.earlierFeedback(ctx, rows)
	if err != nil {
		return err
	}
	var chosen []unit
	for _, c := range rows {
		if !r.seen.add(placeOf(c), c.FeedbackID) {
			continue
		}
		for _, u := range r.decide(c, earlier(c)) {
			if r.flight.begin(u.key()) {
				chosen = append(chosen, u)
				continue
			}
			r.tracker.begin(placeOf(c))
			r.waiting = append(r.waiting, u)
		}
	}
	if chosen, err = r.prepare(ctx, chosen); err != nil {
		return err
	}
	for _, u := range chosen {
		r.tracker.begin(placeOf(u.candidate))
	}
	return send(ctx, chosen, units)
}

// again sends on units that waited until the same inference was judged.
func (r *reader) again(ctx context.Context, units chan<- unit) error {
	var free, waiting []unit
	for _, u := range r.waiting {
		if r.flight.begin(u.key()) {
			free = append(free, u)
		} else {
			waiting = append(waiting, u)
		}
	}
	r.waiting = waiting
	chosen, err := r.prepare(ctx, free)
	if err != nil {
		return err
	}
	for _, u := range chosen {
		r.tracker.begin(placeOf(u.candidate))
	}
	for _, u := range free { // they were begun when they began to wait
		r.tracker.done(placeOf(u.candidate))
	}
	return send(ctx, chosen, units)
}

// prepare leaves out what is judged already, and reads what to judge.
func (r *reader) prepare(ctx context.Context, units []unit) ([]unit, error) {
	units, err := r.withoutJudged(ctx, units)
	if err != nil {
		return nil, err
	}
	return units, r.fetch(ctx, units)
}

func send(ctx context.Context, chosen []unit, units chan<- unit) error {
	for _, u := range chosen {
		select {
		case units <- u:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// earlierFeedback returns what tells the feedback that stands before a candidate
// on the same inference.
func (r *reader) earlierFeedback(ctx context.Context, rows []record.Candidate) (func(record.Candidate) []record.Candidate, error) {
	var ids []string
	for _, c := range rows {
		if c.HasFeedback() {
			ids = append(ids, c.InferenceID)
		}
	}
	byID := map[string][]record.Candidate{}
	if len(ids) > 0 {
		err := retry(ctx, r.opts.Log, "read feedback", func(ctx context.Context) error {
			found, err := r.opts.Store.FeedbackCandidates(ctx, ids)
			clear(byID)
			for _, c := range found {
				byID[c.InferenceID] = append(byID[c.InferenceID], c)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return func(c record.Candidate) []record.Candidate {
		var out []record.Candidate
		for _, e := range byID[c.InferenceID] {
			if c.HasFeedback() && (e.InsertedAt.Before(c.InsertedAt) || e.InsertedAt.Equal(c.InsertedAt) && e.FeedbackID < c.FeedbackID) {
				out = append(out, e)
			}
		}
		return out
	}, nil
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
