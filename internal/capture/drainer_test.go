package capture_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"docket/internal/capture"
	"docket/internal/record"
)

// played records n whole exchanges and returns their ids.
func played(t *testing.T, r *capture.Recorder, n int) []string {
	t.Helper()
	var ids []string
	for range n {
		x, _ := play(t, r, jsonCall("/v1/chat/completions"))
		ids = append(ids, x.ID())
	}
	return ids
}

// running starts Run and returns what stops it and waits.
func running(d *capture.Drainer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}

func wantStates(t *testing.T, sink *memSink, want map[string]string) {
	t.Helper()
	if got := sink.states(); !maps.Equal(got, want) {
		t.Errorf("stored %d rows, want %d:\n got %v\nwant %v", len(got), len(want), got, want)
	}
}

func complete(ids ...string) map[string]string {
	m := map[string]string{}
	for _, id := range ids {
		m[id] = record.StateComplete
	}
	return m
}

func TestSinkFailsAndRecovers(t *testing.T) {
	tests := map[string]func(s *memSink){
		"down at first": func(s *memSink) {
			s.before = func(n int, _ record.Batch) error { return failUntil(n, 4) }
		},
		"stored, but the answer is lost": func(s *memSink) {
			s.after = func(n int, _ record.Batch) error { return failUntil(n, 4) }
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, sink := newMemSpool(), newMemSink(t)
				prepare(sink)
				ids := played(t, newRecorder(t, s, nil), 5)
				d := newDrainer(s, sink, nil)
				stop := running(d)
				time.Sleep(time.Minute)
				synctest.Wait()
				if d.Backlog() != 0 {
					t.Errorf("backlog %d", d.Backlog())
				}
				stop()
				wantStates(t, sink, complete(ids...))
			})
		})
	}
}

func failUntil(n, last int) error {
	if n <= last {
		return errSink
	}
	return nil
}

// TestDrainerDiesBetweenSendAndAck: what was stored but not acknowledged is
// sent again under the same token, with the same rows.
func TestDrainerDiesBetweenSendAndAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sink := newMemSpool(), newMemSink(t)
		sink.after = func(int, record.Batch) error { return errSink }
		ids := played(t, newRecorder(t, s, nil), 3)
		stop := running(newDrainer(s, sink, nil))
		time.Sleep(3 * time.Second)
		stop()
		r := newRecorder(t, s, nil) // a new process
		ids = append(ids, played(t, r, 2)...)
		sink.after = nil
		drain(t, s, sink)
		wantStates(t, sink, complete(ids...))
	})
}

// TestDamagedEdges: when the small file with the edges of the open batch is no
// use, rows go out under other tokens, to be compared with what is stored.
func TestDamagedEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sink := newMemSpool(), newMemSink(t)
		sink.after = func(int, record.Batch) error { return errSink }
		ids := played(t, newRecorder(t, s, nil), 3)
		stop := running(newDrainer(s, sink, nil))
		time.Sleep(3 * time.Second)
		stop()
		if err := s.SaveMeta("batch", []byte("{\x00")); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, played(t, newRecorder(t, s, nil), 2)...)
		stop = running(newDrainer(s, sink, nil)) // dies, too, before it can acknowledge
		time.Sleep(3 * time.Second)
		stop()
		ids = append(ids, played(t, newRecorder(t, s, nil), 2)...)
		sink.after = nil
		drain(t, s, sink)
		wantStates(t, sink, complete(ids...))
		if len(sink.spans) != 2*len(ids) {
			t.Errorf("%d spans of %d exchanges", len(sink.spans), len(ids))
		}
	})
}

// TestProxyDies: exchanges in flight at a kill become rows at the next start.
func TestProxyDies(t *testing.T) {
	events := chatEvents("one", "two")
	inFlight := streamCall(events...)
	inFlight.takes, inFlight.die = 1, true
	ended := streamCall(events...)
	ended.takes, ended.die = len(events), true // the end event came, EOF did not
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	a, _ := play(t, r, inFlight)
	b, _ := play(t, r, ended)
	drain(t, s, sink)
	wantStates(t, sink, map[string]string{})

	c := played(t, newRecorder(t, s, nil), 1)[0]
	drain(t, s, sink)
	want := map[string]string{a.ID(): record.StateProxyDied, b.ID(): record.StateComplete, c: record.StateComplete}
	wantStates(t, sink, want)
	if body := sink.bodies[b.ID()]; string(body.Response) != strings.Join(events, "") || string(body.Request) != chatRequest {
		t.Errorf("bodies of %d and %d bytes", len(body.Request), len(body.Response))
	}

	newRecorder(t, s, nil)
	drain(t, s, sink)
	wantStates(t, sink, want)
}

// TestBootSparesItsOwnLife: a boot record that comes late does not end the
// exchanges of the process that wrote it.
func TestBootSparesItsOwnLife(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	s.reserved = spoolError{full: true}
	r := newRecorder(t, s, nil)
	s.reserved = nil
	c := streamCall(chatEvents("one")...)
	var x *capture.Exchange
	c.read = func(_ *capture.Exchange, i int, _ []byte) {
		if i == 0 {
			r.Flush()
			drain(t, s, sink)
			wantStates(t, sink, map[string]string{})
		}
	}
	x, _ = play(t, r, c)
	if k := kinds(s); k != "bBde" {
		t.Errorf("records %q, want bBde", k)
	}
	drain(t, s, sink)
	wantStates(t, sink, complete(x.ID()))
}

func TestPoisonRowIsSetAside(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	ids := played(t, newRecorder(t, s, nil), 13)
	poison := map[string]bool{ids[3]: true, ids[4]: true, ids[11]: true}
	sink.before = func(_ int, b record.Batch) error {
		for _, row := range b.Inferences {
			if poison[row.ID] {
				return refusedError{row.ID}
			}
		}
		return nil
	}
	drain(t, s, sink)
	good := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return poison[id] })
	wantStates(t, sink, complete(good...))
	if aside := s.quarantined(); len(aside) != 3 {
		t.Errorf("quarantined %v", aside)
	}
	if n := sink.gapCounts()[record.GapPoisonRow]; n != 3 {
		t.Errorf("%d gaps, want 3", n)
	}
	if s.BacklogBytes() != 0 {
		t.Error("the batch is not acknowledged")
	}
}

func TestCorruptRecords(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	ids := played(t, newRecorder(t, s, nil), 3) // boot, then begin and end of each
	s.corrupt[position(1)] = true               // begin of the first
	s.corrupt[position(4)] = true               // end of the second
	drain(t, s, sink)
	wantStates(t, sink, complete(ids[2]))
	if n := sink.gapCounts()[record.GapCorrupt]; n != 2 {
		t.Errorf("%d corrupt gaps, want 2", n)
	}
	newRecorder(t, s, nil)
	drain(t, s, sink) // the second never ended, as far as the spool tells
	want := complete(ids[2])
	want[ids[1]] = record.StateProxyDied
	wantStates(t, sink, want)
}

// TestBatchesAreBounded: a boot record may end many exchanges at once; they
// are sent in pieces.
func TestBatchesAreBounded(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	c := jsonCall("/v1/chat/completions")
	c.takes, c.die = -1, true
	want := map[string]string{}
	for range 25 {
		x, _ := play(t, r, c)
		want[x.ID()] = record.StateProxyDied
	}
	newRecorder(t, s, nil)
	var sizes []int
	sink.before = func(_ int, b record.Batch) error {
		sizes = append(sizes, len(b.Inferences))
		return nil
	}
	d := newDrainer(s, sink, func(c *capture.Config, _ *capture.DrainerOptions) { c.BatchExchanges = 10 })
	if err := d.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantStates(t, sink, want)
	if !slices.Equal(sizes, []int{10, 10, 5}) {
		t.Errorf("pieces of %v", sizes)
	}
}

func TestPaceOfWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sink := newMemSpool(), newMemSink(t)
		r := newRecorder(t, s, nil)
		stop := running(newDrainer(s, sink, nil))
		var ids []string
		for range 100 { // 20 a second
			ids = append(ids, played(t, r, 1)...)
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		stop()
		wantStates(t, sink, complete(ids...))
		if sink.writes > 8 {
			t.Errorf("%d writes in 7 s", sink.writes)
		}
	})
}

func TestBigBacklogIsSentAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sink := newMemSpool(), newMemSink(t)
		ids := played(t, newRecorder(t, s, nil), 50)
		d := newDrainer(s, sink, func(c *capture.Config, _ *capture.DrainerOptions) { c.BatchExchanges = 10 })
		start := time.Now()
		stop := running(d)
		synctest.Wait()
		if took := time.Since(start); took != 0 || len(sink.states()) < 50 {
			t.Errorf("%d rows after %v", len(sink.states()), took)
		}
		stop()
		wantStates(t, sink, complete(ids...))
	})
}

func TestFlushStaysInItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sink := newMemSpool(), newMemSink(t)
		sink.blocked = make(chan struct{})
		ids := played(t, newRecorder(t, s, nil), 4)
		d := newDrainer(s, sink, nil)
		running(d)()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		start := time.Now()
		err := d.Flush(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 11*time.Second {
			t.Errorf("flush: %v after %v", err, time.Since(start))
		}
		if len(sink.rows) != 0 {
			t.Error("a blocked sink stored something")
		}
		sink.blocked = nil
		newRecorder(t, s, nil)
		drain(t, s, sink)
		wantStates(t, sink, complete(ids...))
	})
}

// TestRunThenFlush: what Run has read but not sent is delivered by Flush.
func TestRunThenFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sink := newMemSpool(), newMemSink(t)
		r := newRecorder(t, s, nil)
		d := newDrainer(s, sink, nil)
		stop := running(d)
		time.Sleep(5 * time.Second)
		ids := played(t, r, 3)
		time.Sleep(100 * time.Millisecond) // inside the batch interval
		stop()
		if err := d.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantStates(t, sink, complete(ids...))
	})
}

// exporter counts spans.
type exporter struct {
	mu    sync.Mutex
	spans []record.Span
	block chan struct{}
}

func (e *exporter) ExportSpans(ctx context.Context, spans []record.Span) error {
	if e.block != nil {
		select {
		case <-e.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans = append(e.spans, spans...)
	return nil
}

func TestExportOfSampledSpans(t *testing.T) {
	s, sink, out := newMemSpool(), newMemSink(t), &exporter{}
	r := newRecorder(t, s, nil)
	sampled, not := jsonCall("/v1/chat/completions"), jsonCall("/v1/chat/completions")
	not.begin.TraceFlags = 0
	play(t, r, sampled)
	play(t, r, not)
	d := newDrainer(s, sink, func(_ *capture.Config, o *capture.DrainerOptions) { o.Exporter = out })
	if err := d.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(sink.rows) != 2 || len(sink.spans) != 4 || len(out.spans) != 2 {
		t.Errorf("%d rows, %d spans stored, %d exported", len(sink.rows), len(sink.spans), len(out.spans))
	}
}

func TestSlowExporterHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sink := newMemSpool(), newMemSink(t)
		out := &exporter{block: make(chan struct{})}
		ids := played(t, newRecorder(t, s, nil), 5)
		d := newDrainer(s, sink, func(c *capture.Config, o *capture.DrainerOptions) { o.Exporter, c.BatchExchanges = out, 1 })
		stop := running(d)
		synctest.Wait()
		wantStates(t, sink, complete(ids...))
		stop()
		if err := d.Flush(t.Context()); err != nil { // waits for the export, which has its own limit
			t.Fatal(err)
		}
	})
}

// TestUnreadableIsGivenUp: a batch that cannot be read does not hold up those
// behind it for ever.
func TestUnreadableIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sink := newMemSpool(), newMemSink(t)
		ids := played(t, newRecorder(t, s, nil), 3)
		s.unreadable = map[record.Position]bool{position(1): true}
		stop := running(newDrainer(s, sink, nil))
		time.Sleep(10 * time.Minute)
		stop()
		wantStates(t, sink, complete(ids[1:]...))
		if n := sink.gapCounts()[record.GapCorrupt]; n != 1 {
			t.Errorf("gaps %v", sink.gapCounts())
		}
	})
}

func TestBacklog(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	d := newDrainer(s, sink, func(_ *capture.Config, o *capture.DrainerOptions) { o.Recorder = r })
	played(t, r, 2)
	if n := d.Backlog(); n != 5 { // boot, and two records each
		t.Errorf("backlog %d, want 5", n)
	}
	if err := d.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := d.Backlog(); n != 0 {
		t.Errorf("backlog %d, want 0", n)
	}
	s.fail = func(byte) error { return spoolError{stalled: true} }
	s.hidden = true // queued records are not in the backlog of the spool
	played(t, r, 1)
	if n := d.Backlog(); n != 2 {
		t.Errorf("backlog %d with queued records, want 2", n)
	}
	r.SpoolLost(capture.KindBegin, 10, "no_space")
	r.SpoolLost(capture.KindEnd, 10, "no_space")
	if n := d.Backlog(); n != 0 {
		t.Errorf("backlog %d after they were lost, want 0", n)
	}
}
