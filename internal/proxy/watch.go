package proxy

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"docket/internal/record"
)

// phase is what an exchange waits for.
type phase int

const (
	phaseNone    phase = iota
	phaseConnect       // a connection to the upstream
	phaseHold          // briefly the request's body, before its head goes alone
	phaseSending       // the request to be written
	phaseHeader        // the head of the answer
	phaseHead          // briefly the first byte of the body, before the head is flushed alone
	phaseFirstByte
	phaseIdle // the next byte of the body
	phaseDone
)

// headDelay is how long the head of a message waits for its body, so that both
// go out in one write.
const headDelay = time.Millisecond

// timeoutError says which limit ended an exchange.
type timeoutError struct{ phase phase }

// Error names the limit.
func (e *timeoutError) Error() string {
	switch e.phase {
	case phaseConnect:
		return "the upstream could not be reached in time"
	case phaseHeader:
		return "the upstream did not begin to answer in time"
	case phaseFirstByte:
		return "the upstream did not begin the body of its answer in time"
	default:
		return "the upstream was idle for too long"
	}
}

func (e *timeoutError) state() string {
	switch e.phase {
	case phaseConnect:
		return record.StateTimeoutConnect
	case phaseHeader:
		return record.StateTimeoutHeader
	case phaseFirstByte:
		return record.StateTimeoutFirstByte
	default:
		return record.StateTimeoutIdle
	}
}

// slowClientError says that a client did not do its part: it neither sent nor
// took anything for too long.
type slowClientError struct {
	sending bool
	limit   string // setting and value
}

// Error names the setting.
func (e *slowClientError) Error() string {
	if e.sending {
		return "the body of the request made no progress within " + e.limit
	}
	return "the client took nothing of the answer within " + e.limit
}

// watch is the one timer of an exchange. It moves on with the phases.
type watch struct {
	limits    Timeouts
	idleName  string      // name of the setting limits.Idle
	expired   func(error) // ends the exchange
	release   func()      // sends the head of the request
	flushHead func()      // sends the head of the answer
	reading   func() bool // whether the client is being waited for while sending
	start     time.Time
	last      atomic.Int64 // nanoseconds from start to the last progress
	asking    atomic.Bool  // a read of the answer is under way

	mu    sync.Mutex // guards what follows
	phase phase
	due   time.Duration // from start; 0 while no limit runs
	timer *time.Timer
}

func (w *watch) now() time.Duration { return time.Since(w.start) }

// progress notes that bytes moved. It is cheap: the timer is not touched, it
// looks at the time of the last progress when it fires.
func (w *watch) progress() { w.last.Store(int64(w.now())) }

// enter starts a phase and its limit.
func (w *watch) enter(p phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phase != phaseDone {
		w.enterLocked(p)
	}
}

// wrote ends the phase of sending. The answer may have begun before that.
func (w *watch) wrote() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phase == phaseSending || w.phase == phaseHold {
		w.enterLocked(phaseHeader)
	}
}

func (w *watch) enterLocked(p phase) {
	w.phase = p
	w.progress()
	w.armLocked(w.limit(p))
}

func (w *watch) limit(p phase) time.Duration {
	switch p {
	case phaseConnect:
		return w.limits.Connect
	case phaseHeader:
		return w.limits.Header
	case phaseHold, phaseHead:
		return headDelay
	case phaseFirstByte:
		return w.limits.FirstByte
	case phaseSending, phaseIdle:
		return w.limits.Idle
	default:
		return 0
	}
}

func (w *watch) armLocked(d time.Duration) {
	if d <= 0 {
		w.due = 0
		if w.timer != nil {
			w.timer.Stop()
		}
		return
	}
	w.due = w.now() + d
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.fire)
		return
	}
	w.timer.Reset(d)
}

// fire runs when the timer fires, which may be late: after its phase ended.
func (w *watch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.due == 0 || w.now() < w.due {
		return
	}
	switch w.phase {
	case phaseHold:
		w.release()
		w.enterLocked(phaseSending)
		return
	case phaseHead:
		w.flushHead()
		w.enterLocked(phaseFirstByte)
		return
	case phaseSending, phaseIdle:
		// Whose turn it is comes first: a read notes its start before it asks.
		clients := w.phase == phaseSending && w.reading() || w.phase == phaseIdle && !w.asking.Load()
		if left := time.Duration(w.last.Load()) + w.limits.Idle - w.now(); left > 0 {
			w.armLocked(left)
			return
		}
		if clients {
			w.due = 0
			w.expired(&slowClientError{w.phase == phaseSending, fmt.Sprintf("%s (%s)", w.idleName, w.limits.Idle)})
			return
		}
	}
	w.due = 0
	w.expired(&timeoutError{w.phase})
}

// stop ends the watch. It does not run afterwards.
func (w *watch) stop() { w.enter(phaseDone) }
