package capture_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"docket/internal/capture"
	"docket/internal/record"
)

// TestExactlyOnce plays random interleavings of exchanges, kills, restarts and
// sink failures. In the end every exchange that began is stored exactly once,
// and a token never came with two sets of rows (memSink checks that).
func TestExactlyOnce(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { exactlyOnce(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func exactlyOnce(t *testing.T, rng *rand.Rand) {
	s, sink := newMemSpool(), newMemSink(t)
	coin := rand.New(rand.NewPCG(rng.Uint64(), 2)) // the sink's: it runs beside
	sink.before = func(int, record.Batch) error { return maybe(coin, 0.2) }
	sink.after = func(int, record.Batch) error { return maybe(coin, 0.2) }
	want := map[string]string{}
	for range 1 + rng.IntN(4) {
		life(t, rng, s, sink, want)
	}
	sink.before, sink.after = nil, nil
	newRecorder(t, s, nil)
	drain(t, s, sink)
	wantStates(t, sink, want)
}

func maybe(rng *rand.Rand, p float64) error {
	if rng.Float64() < p {
		return errSink
	}
	return nil
}

// life is one process: it records, drains, and dies somewhere.
func life(t *testing.T, rng *rand.Rand, s *memSpool, sink *memSink, want map[string]string) {
	r := newRecorder(t, s, nil)
	d := newDrainer(s, sink, func(c *capture.Config, o *capture.DrainerOptions) {
		c.BatchExchanges = 1 + rng.IntN(20)
		c.BatchInterval = time.Duration(1+rng.IntN(5)) * time.Second
		o.Recorder = r
	})
	stop := running(d)
	var long []*capture.Exchange
	for range rng.IntN(60) {
		c, state := randomCall(rng)
		x, _ := play(t, r, c)
		want[x.ID()] = state
		if state == record.StateProxyDied && rng.IntN(2) == 0 {
			long = append(long, x)
		}
		if len(long) > 0 && rng.IntN(4) == 0 { // one that was open for long ends
			long[0].End("")
			want[long[0].ID()] = record.StateClientCancelled
			long = long[1:]
		}
		if rng.IntN(3) == 0 {
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
		}
	}
	stop()
	if rng.IntN(2) == 0 { // an orderly end, with little time
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(2000))*time.Millisecond)
		defer cancel()
		_ = d.Flush(ctx)
	}
}

func randomCall(rng *rand.Rand) (c call, state string) {
	events := chatEvents("one", "two", "three")
	switch rng.IntN(5) {
	case 0:
		c = streamCall(events...)
		c.takes, c.die = rng.IntN(3)+1, true
		return c, record.StateProxyDied
	case 1:
		c = streamCall(events...)
		c.takes, c.die = len(events), true
		return c, record.StateComplete
	case 2:
		c = streamCall(events...)
		c.takes = 2
		return c, record.StateClientCancelled
	case 3:
		return streamCall(events...), record.StateComplete
	default:
		return jsonCall("/v1/chat/completions"), record.StateComplete
	}
}
