package capture

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// backoff waits longer each time, with jitter, from 0.2 s to 30 s.
type backoff struct{ next time.Duration }

func (b *backoff) sleep(ctx context.Context) {
	b.next = min(max(b.next*2, minBackoff), maxBackoff)
	timer := time.NewTimer(b.next/2 + rand.N(b.next/2))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// quietLog writes a warning at most once per interval, and how many there were
// in between.
type quietLog struct {
	log     *slog.Logger
	clock   func() time.Time
	every   time.Duration
	last    time.Time
	skipped int
	failing bool
}

func (q *quietLog) warn(msg string, err error) {
	q.failing = true
	now := q.clock()
	if !q.last.IsZero() && now.Sub(q.last) < q.every {
		q.skipped++
		return
	}
	q.log.Warn(msg, "error", err, "more_like_this", q.skipped)
	q.last, q.skipped = now, 0
}

// recovered says once that it works again.
func (q *quietLog) recovered(msg string) {
	if q.failing {
		q.failing = false
		q.log.Info(msg, "unreported_failures", q.skipped)
		q.skipped = 0
	}
}
