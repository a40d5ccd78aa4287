package evaluate

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 200 * time.Millisecond
	longPause  = 30 * time.Second
)

// isRefused says that the store will never take these rows as they are.
func isRefused(err error) bool {
	var refused interface{ Refused() bool }
	return errors.As(err, &refused) && refused.Refused()
}

// retry repeats f, with growing pauses, until it succeeds, its rows are refused
// for good, or ctx ends. The first failure of a row is logged, and the end of it.
func retry(ctx context.Context, log *slog.Logger, what string, f func(context.Context) error) error {
	pause := firstPause
	for failures := 0; ; failures++ {
		err := f(ctx)
		if err == nil {
			if failures > 0 {
				log.Info("the store is back", "action", what, "failures", failures)
			}
			return nil
		}
		if isRefused(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failures == 0 {
			log.Error("the store does not answer; trying again until it does", "action", what, "error", err)
		}
		if !sleep(ctx, pause/2+rand.N(pause/2)) {
			return ctx.Err()
		}
		pause = min(2*pause, longPause)
	}
}

// sleep says whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
