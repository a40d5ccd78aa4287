package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/store/storetest"
)

// old makes a batch one that was first sent long ago.
func old(b record.Batch) record.Batch {
	b.Resend = true
	b.FirstSent = time.Now().Add(-2 * time.Hour)
	return b
}

// forget empties the deduplication windows, as time does.
func forget(t *testing.T, dsn string) {
	t.Helper()
	for _, table := range []string{"inferences", "inference_bodies", "otel_traces", "otel_traces_trace_id_ts", "candidates", "traffic_hourly", "capture_gaps"} {
		storetest.Exec(t, dsn, "ALTER TABLE "+table+" MODIFY SETTING non_replicated_deduplication_window = 0")
		storetest.Exec(t, dsn, "ALTER TABLE "+table+" MODIFY SETTING non_replicated_deduplication_window = 100000")
	}
}

func TestForgottenBatchCountsTwiceUnlessItIsOld(t *testing.T) {
	s, dsn := open(t)
	b := batch("x", 0, 3, now())
	write(t, s, b)
	forget(t, dsn)
	write(t, s, old(b))
	if diff := cmp.Diff(each(3), counts(t, dsn)); diff != "" {
		t.Error("an old batch must be compared with what is stored:", diff)
	}
	b.Resend = true
	write(t, s, b)
	if got := count(t, dsn, "SELECT count() FROM inferences"); got != 6 {
		t.Errorf("got %d rows: the window is not empty, so this test shows nothing", got)
	}
}

func TestOldBatchAddsWhatIsMissing(t *testing.T) {
	s, dsn := open(t)
	whole := batch("x", 0, 6, now())
	half := whole
	half.Inferences, half.Bodies, half.Spans = whole.Inferences[:3], whole.Bodies[:4], whole.Spans[:2]
	write(t, s, half)
	forget(t, dsn)
	write(t, s, old(whole))
	write(t, s, old(whole))
	if diff := cmp.Diff(each(6), counts(t, dsn)); diff != "" {
		t.Error(diff)
	}
}

func TestOldBatchThatNeverArrived(t *testing.T) {
	s, dsn := open(t)
	b := batch("x", 0, 4, now())
	write(t, s, old(b))
	write(t, s, old(b))
	if diff := cmp.Diff(each(4), counts(t, dsn)); diff != "" {
		t.Error(diff)
	}
}

func TestCandidatesOfAFailedViewArePutIn(t *testing.T) {
	s, dsn := open(t)
	b := batch("x", 0, 4, now())
	write(t, s, b)
	want, err := s.Candidates(t.Context(), record.CandidateQuery{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, dsn, "ALTER TABLE candidates DELETE WHERE inference_id IN ('"+id(1)+"', '"+id(2)+"') SETTINGS mutations_sync = 2")
	write(t, s, old(b))
	write(t, s, old(b))
	got, err := s.Candidates(t.Context(), record.CandidateQuery{})
	if err != nil {
		t.Fatal(err)
	}
	byID := make(map[string]record.Candidate)
	for _, c := range got {
		byID[c.InferenceID] = c
	}
	if len(got) != 4 || len(byID) != 4 {
		t.Fatalf("got %d candidates of %d inferences, want 4 of 4", len(got), len(byID))
	}
	for _, w := range want {
		g := byID[w.InferenceID]
		if g.InsertedAt.Before(w.InsertedAt) {
			t.Errorf("%s was inserted before it was lost: a cursor may be past it", w.InferenceID)
		}
		g.InsertedAt = w.InsertedAt
		if diff := cmp.Diff(w, g); diff != "" {
			t.Error(diff)
		}
	}
}

// TestTracesOfAFailedViewArePutIn: who comes with a trace id finds the trace,
// also when its spans were stored and the view that feeds the index was cut off.
func TestTracesOfAFailedViewArePutIn(t *testing.T) {
	s, dsn := open(t)
	b := batch("x", 0, 4, now())
	write(t, s, b)
	const index = "SELECT TraceId, Start, End FROM otel_traces_trace_id_ts ORDER BY TraceId"
	want := storetest.Exec(t, dsn, index)
	storetest.Exec(t, dsn, "ALTER TABLE otel_traces_trace_id_ts DELETE WHERE TraceId IN ('"+traceID(1)+"', '"+traceID(2)+"') SETTINGS mutations_sync = 2")
	b.Piece = true // as under other redaction rules
	write(t, s, b)
	write(t, s, old(b))
	if diff := cmp.Diff(want, storetest.Exec(t, dsn, index)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(each(4), counts(t, dsn)); diff != "" {
		t.Error(diff)
	}
}
