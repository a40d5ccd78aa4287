package proxy

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"docket/internal/record"
)

// watched is a watch in a bubble, with what it did.
type watched struct {
	*watch
	statesMu           sync.Mutex
	states             []string // of the limits that ended the exchange
	released, flushed  int
	waitsForTheClient  atomic.Bool
	connect, header    time.Duration
	firstByte, between time.Duration
}

func newWatched() *watched {
	w := &watched{connect: time.Second, header: 2 * time.Second, firstByte: 3 * time.Second, between: 4 * time.Second}
	w.watch = &watch{
		limits: Timeouts{Connect: w.connect, Header: w.header, FirstByte: w.firstByte, Idle: w.between},
		expired: func(err error) {
			var late *timeoutError
			var slow *slowClientError
			w.statesMu.Lock()
			defer w.statesMu.Unlock()
			if errors.As(err, &late) {
				w.states = append(w.states, late.state())
			} else if errors.As(err, &slow) {
				w.states = append(w.states, slow.Error())
			}
		},
		idleName: "idle",
		release:  func() { w.released++ }, flushHead: func() { w.flushed++ },
		reading: func() bool { return w.waitsForTheClient.Load() }, start: time.Now(),
	}
	return w
}

// pass lets time pass, and wants the limits that ended the exchange by then.
func (w *watched) pass(t *testing.T, d time.Duration, want ...string) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	w.statesMu.Lock()
	defer w.statesMu.Unlock()
	if len(w.states) != len(want) || len(want) > 0 && w.states[0] != want[0] {
		t.Errorf("ended by %q, want %q", w.states, want)
	}
}

// TestLimitOfEachPhase: each ends its phase at its time and not before.
func TestLimitOfEachPhase(t *testing.T) {
	for name, c := range map[string]struct {
		phase phase
		limit time.Duration
		state string
	}{
		"connect":    {phaseConnect, time.Second, record.StateTimeoutConnect},
		"sending":    {phaseSending, 4 * time.Second, record.StateTimeoutIdle},
		"held":       {phaseHold, 4*time.Second + headDelay, record.StateTimeoutIdle},
		"header":     {phaseHeader, 2 * time.Second, record.StateTimeoutHeader},
		"head":       {phaseHead, 3*time.Second + headDelay, record.StateTimeoutFirstByte},
		"first byte": {phaseFirstByte, 3 * time.Second, record.StateTimeoutFirstByte},
		"idle":       {phaseIdle, 4 * time.Second, record.StateTimeoutIdle},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWatched()
				w.asking.Store(true)
				w.enter(c.phase)
				w.pass(t, c.limit-1)
				w.pass(t, 1, c.state)
				if (w.released == 1) != (c.phase == phaseHold) || (w.flushed == 1) != (c.phase == phaseHead) {
					t.Errorf("released %d times, flushed %d times", w.released, w.flushed)
				}
			})
		})
	}
}

// TestClientThatStandsStill: the limit of idling is for both sides, and says
// whose turn it was.
func TestClientThatStandsStill(t *testing.T) {
	for name, c := range map[string]struct {
		phase phase
		want  string
	}{
		"sending": {phaseSending, "the body of the request made no progress within idle (4s)"},
		"taking":  {phaseIdle, "the client took nothing of the answer within idle (4s)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWatched()
				w.waitsForTheClient.Store(true)
				w.enter(c.phase)
				for range 100 {
					w.pass(t, w.between-1)
					w.progress()
				}
				w.pass(t, w.between-1)
				w.pass(t, 1, c.want)
			})
		})
	}
}

// TestNoLimitOnTheWhole: what goes on is not ended, however long it takes, and
// nothing is ended after its end.
func TestNoLimitOnTheWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched()
		w.enter(phaseSending)
		for range 100 {
			w.pass(t, w.between-1)
			w.progress()
		}
		w.wrote()
		w.pass(t, w.header-1)
		w.enter(phaseIdle)
		for range 100 {
			w.asking.Store(true)
			w.pass(t, w.between-1)
			w.asking.Store(false)
			w.progress()
		}
		w.stop()
		w.asking.Store(true)
		w.pass(t, time.Hour)
		w.enter(phaseConnect) // too late
		w.pass(t, time.Hour)
	})
}
