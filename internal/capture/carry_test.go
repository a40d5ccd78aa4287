package capture_test

import (
	"strings"
	"testing"

	"docket/internal/capture"
	"docket/internal/record"
)

// openStream begins a stream that goes on: its request is known, one event has
// passed, and after done the provider's end event too.
func openStream(t *testing.T, r *capture.Recorder, done bool) *capture.Exchange {
	t.Helper()
	events := chatEvents("one", "two")
	c := streamCall(events...)
	c.takes, c.die = 1, true
	if done {
		c.takes = len(events)
	}
	x, _ := play(t, r, c)
	return x
}

// TestLongCallsDoNotFillTheSpool: segments behind an open exchange can go, and
// its row is whole all the same.
func TestLongCallsDoNotFillTheSpool(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	cut, whole := openStream(t, r, false), openStream(t, r, true)
	want := complete()
	for range 5 {
		for _, id := range played(t, r, 20) {
			want[id] = record.StateComplete
		}
		drain(t, s, sink)
	}
	if n := len(s.recs); n > 60 {
		t.Errorf("%d of %d records are still in the spool", n, s.next)
	}
	if len(s.metaNames("open-")) != 2 {
		t.Errorf("files %v", s.metaNames(""))
	}
	cut.End("")
	want[cut.ID()] = record.StateClientCancelled
	drain(t, s, sink)
	wantStates(t, sink, want)
	if b := sink.bodies[cut.ID()]; string(b.Request) != chatRequest || !strings.Contains(string(b.Response), "one") {
		t.Errorf("kept %q and %q", b.Request, b.Response)
	}

	newRecorder(t, s, nil) // the process died with the other one open
	want[whole.ID()] = record.StateComplete
	drain(t, s, sink)
	wantStates(t, sink, want)
	if b := sink.bodies[whole.ID()]; string(b.Request) != chatRequest || !strings.Contains(string(b.Response), "[DONE]") {
		t.Errorf("kept %q and %q", b.Request, b.Response)
	}
	if names := s.metaNames("open-"); len(names) != 0 {
		t.Errorf("files are left: %v", names)
	}
}

// TestCrashWhileCarrying stops the process at each write to the spool's small
// files and at each Ack.
func TestCrashWhileCarrying(t *testing.T) {
	for at := range 40 {
		s, sink := newMemSpool(), newMemSink(t)
		r := newRecorder(t, s, nil)
		x := openStream(t, r, true)
		want := complete(append(played(t, r, 40), x.ID())...)
		s.stopAfter(at)
		_ = newDrainer(s, sink, nil).Flush(t.Context())
		s.stopAfter(-1)
		x.End("")
		for _, id := range played(t, r, 20) { // the end is segments behind
			want[id] = record.StateComplete
		}
		s.stopAfter(at / 2)
		_ = newDrainer(s, sink, nil).Flush(t.Context())
		s.stopAfter(-1)
		newRecorder(t, s, nil)
		drain(t, s, sink)
		newRecorder(t, s, nil)
		drain(t, s, sink)
		wantStates(t, sink, want)
		if names := s.metaNames("open-"); len(names) != 0 {
			t.Errorf("stopped at write %d: files are left: %v", at, names)
		}
	}
}
