package evaluate

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"docket/internal/record"
)

const (
	linkPage   = 10_000             // pieces of feedback that are looked at in one round
	linkWindow = 7 * 24 * time.Hour // how long feedback may wait for its inference
	linkFresh  = time.Minute        // younger feedback is looked at in each round
	// traceGrace is how long feedback on a trace waits, so that the calls that
	// ended before it came are stored.
	traceGrace = 10 * time.Second
)

// LinkStore is what a Linker reads from and writes to.
type LinkStore interface {
	// Feedback returns each piece of feedback once, newest first.
	Feedback(ctx context.Context, f record.FeedbackFilter) ([]record.Feedback, error)
	// FeedbackTarget finds the inference that feedback is about; the error wraps
	// record.ErrNotFound while it is not stored.
	FeedbackTarget(ctx context.Context, f record.Feedback) (record.Inference, error)
	// LinkFeedback makes the inference a candidate again, once, and marks the
	// feedback as linked.
	LinkFeedback(ctx context.Context, f record.Feedback) error
}

// Linker finds the inference of each piece of feedback, also when feedback is
// there first, and makes it a candidate again. Several linkers do no harm.
type Linker struct {
	Store LinkStore
	Poll  time.Duration // how often to look
	Log   *slog.Logger

	next map[string]time.Time // when to look for the inference of old feedback again
}

// Run links until ctx ends, and returns nil then.
func (l *Linker) Run(ctx context.Context) error {
	l.next = make(map[string]time.Time)
	for {
		if err := retry(ctx, l.Log, "link feedback", l.round); err != nil {
			return stopped(err)
		}
		if !sleep(ctx, l.Poll) {
			return nil
		}
	}
}

// round links what can be linked now.
func (l *Linker) round(ctx context.Context) error {
	now, waiting := time.Now(), false
	rows, err := l.Store.Feedback(ctx, record.FeedbackFilter{Linked: &waiting, Since: now.Add(-linkWindow), Limit: linkPage})
	if err != nil {
		return err
	}
	next := make(map[string]time.Time, len(rows))
	for _, f := range rows {
		if now.Before(l.next[f.ID]) {
			next[f.ID] = l.next[f.ID]
			continue
		}
		found, err := l.link(ctx, f, now)
		if isRefused(err) {
			l.Log.Error("the store refuses feedback for good; trying again in an hour", "feedback", f.ID, "error", err)
			next[f.ID] = now.Add(time.Hour)
			continue
		}
		if err != nil {
			return err
		}
		if age := now.Sub(f.Time); !found && age > linkFresh {
			next[f.ID] = now.Add(age / 20)
		}
	}
	l.next = next
	return nil
}

// link says whether the inference of f was found.
func (l *Linker) link(ctx context.Context, f record.Feedback, now time.Time) (bool, error) {
	if f.TraceID != "" && now.Sub(f.Time) < traceGrace {
		return false, nil
	}
	inf, err := l.Store.FeedbackTarget(ctx, f)
	if errors.Is(err, record.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.InferenceID, f.Project = inf.ID, inf.Project
	return true, l.Store.LinkFeedback(ctx, f)
}
