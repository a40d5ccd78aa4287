package evaluate

import (
	"context"
	"time"

	"docket/internal/record"
)

const (
	writeSize  = 200                    // results in one write
	writeAge   = 500 * time.Millisecond // how long a result waits for others
	saveEvery  = 5 * time.Second        // cursor and epochs
	stopBudget = 5 * time.Second        // for the last write when stopped

	// The store computes the hourly sums of the last 48 hours by itself.
	freshHours = 47 * time.Hour
)

// writer stores results, and the cursor behind them. It is used by one
// goroutine.
type writer struct {
	*Loop
	tracker *tracker
	pending []result
	saved   places             // the cursors
	counted places             // what is up to here is counted in epochs that are written
	stale   map[time.Time]bool // older hours that got verdicts: their sums are to be computed again
}

func (l *Loop) newWriter(t *tracker, done, counted places) *writer {
	return &writer{Loop: l, tracker: t, saved: done, counted: counted, stale: make(map[time.Time]bool)}
}

func (w *writer) run(ctx context.Context, results <-chan result) error {
	flush := time.NewTicker(writeAge)
	defer flush.Stop()
	save := time.NewTicker(saveEvery)
	defer save.Stop()
	for {
		select {
		case r, ok := <-results:
			if !ok {
				return w.last(ctx)
			}
			w.pending = append(w.pending, r)
			if len(w.pending) < writeSize {
				continue
			}
			w.flush(ctx)
		case <-flush.C:
			w.flush(ctx)
		case <-save.C:
			w.save(ctx)
		}
	}
}

// last writes what is left when the loop is stopped, for a limited time.
func (w *writer) last(ctx context.Context) error {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBudget)
	defer cancel()
	w.flush(grace)
	w.save(grace)
	if len(w.pending) > 0 {
		w.opts.Log.Warn("stopped before all verdicts were written; they will be judged again", "units", len(w.pending))
	}
	return ctx.Err()
}

// flush writes the pending results, and keeps them when ctx ends before.
func (w *writer) flush(ctx context.Context) {
	if w.write(ctx, w.pending) {
		w.pending = w.pending[:0]
	}
}

// write stores results, and says whether it is done with them. Those that the
// store refuses are halved, until one unit that it never takes is left out
// alone: it must not hold up the others.
func (w *writer) write(ctx context.Context, results []result) bool {
	if len(results) == 0 {
		return true
	}
	var calls []record.JudgeCall
	var verdicts []record.Verdict
	var spans []record.Span
	for _, r := range results {
		calls = append(calls, r.Calls...)
		verdicts = append(verdicts, r.Verdicts...)
		spans = append(spans, r.Spans...)
	}
	err := retry(ctx, w.opts.Log, "write verdicts", func(ctx context.Context) error {
		if err := w.opts.Store.WriteVerdicts(ctx, calls, verdicts); err != nil {
			return err
		}
		if len(spans) == 0 {
			return nil
		}
		return w.opts.Store.WriteSpans(ctx, "judge:"+spans[0].SpanID, spans)
	})
	switch {
	case err == nil:
		w.written(ctx, results, spans)
		return true
	case !isRefused(err):
		return false
	case len(results) == 1:
		w.opts.Log.Error("the store refuses the verdicts of a unit for good; they are left out", "inference_id", results[0].place.id, "error", err)
		w.meter.refused.Inc()
		w.done(results[0])
		return true
	}
	half := len(results) / 2
	return w.write(ctx, results[:half]) && w.write(ctx, results[half:])
}

// written tells everybody who wants to know. A verdict that only counts for less
// than before is no news.
func (w *writer) written(ctx context.Context, results []result, spans []record.Span) {
	var verdicts []record.Verdict
	for _, r := range results {
		w.done(r)
		w.noteStale(r.Verdicts)
		if !r.raised {
			verdicts = append(verdicts, r.Verdicts...)
		}
	}
	w.meter.wrote(verdicts)
	if w.opts.Verdicts != nil && len(verdicts) > 0 {
		w.opts.Verdicts(ctx, verdicts)
	}
	if w.opts.Spans != nil {
		w.opts.Spans(ctx, spans)
	}
}

// done notes that a unit is written.
func (w *writer) done(r result) {
	w.flight.done(r.key)
	w.tracker.done(r.place)
}

func (w *writer) noteStale(verdicts []record.Verdict) {
	for _, v := range verdicts {
		if hour := v.Time.UTC().Truncate(time.Hour); v.Time.Before(w.opts.Now().Add(-freshHours)) {
			w.stale[hour] = true
		}
	}
}

// refresh has the sums of older hours computed again.
func (w *writer) refresh(ctx context.Context) {
	for hour := range w.stale {
		if err := w.opts.Store.RefreshQuality(ctx, hour, hour.Add(time.Hour)); err != nil {
			w.opts.Log.Error("refresh hourly sums; trying again", "hour", hour, "error", err)
			return
		}
		delete(w.stale, hour)
	}
}

// save writes the epochs and the cursors. A failure is only logged: the next
// time does it.
func (w *writer) save(ctx context.Context) {
	w.refresh(ctx)
	read := w.tracker.last() // before the counts are taken: none is missed, and only a kill can count a page twice
	rows := w.epochs.take()
	if len(rows) > 0 {
		if err := w.opts.Store.WriteEpochs(ctx, rows); err != nil {
			w.epochs.giveBack(rows)
			w.opts.Log.Error("write epochs", "rows", len(rows), "error", err)
			return // else a restart would go on behind what was not counted
		}
	}
	w.saveCursor(ctx, cursorCounted, &w.counted, read)
	low, open := w.tracker.low()
	w.meter.open(open)
	w.saveCursor(ctx, cursorDone, &w.saved, low)
}
