package store_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"docket/internal/record"
	"docket/internal/store"
	"docket/internal/store/storetest"
)

func TestReplayedBatchCountsOnce(t *testing.T) {
	s, dsn := open(t)
	b := batch("spool:1.0-1.9", 0, 10, now())
	write(t, s, b)
	b.Resend = true
	write(t, s, b)
	write(t, s, b)
	if diff := cmp.Diff(each(10), counts(t, dsn)); diff != "" {
		t.Error(diff)
	}
	gaps, err := s.Gaps(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.Gaps, gaps); diff != "" {
		t.Error(diff)
	}
}

func TestBatchOverTwoDays(t *testing.T) {
	s, dsn := open(t)
	midnight := now().Truncate(24 * time.Hour)
	one := batch("spool:2.0-2.9", 0, 5, midnight.Add(-time.Hour))
	two := batch("spool:2.0-2.9", 5, 5, midnight)
	one.Inferences = append(one.Inferences, two.Inferences...)
	one.Bodies = append(one.Bodies, two.Bodies...)
	one.Spans = append(one.Spans, two.Spans...)
	write(t, s, one)
	one.Resend = true
	write(t, s, one)
	if diff := cmp.Diff(each(10), counts(t, dsn)); diff != "" {
		t.Error(diff)
	}
}

func TestInterleavedBatchesCountOnce(t *testing.T) {
	s, dsn := open(t)
	at := now()
	var batches []record.Batch
	for i, token := range []string{"a:0-1", "a:1-2", "b:0-1"} {
		batches = append(batches, batch(token, i*10, 10, at))
	}
	for _, i := range []int{0, 1, 0, 2, 1, 2, 0} {
		write(t, s, batches[i])
	}
	if diff := cmp.Diff(each(30), counts(t, dsn)); diff != "" {
		t.Error(diff)
	}
}

func TestViewThatFailsOnce(t *testing.T) {
	s, dsn := open(t)
	b := batch("x", 0, 10, now())
	storetest.Exec(t, dsn, "RENAME TABLE candidates TO candidates_away")
	err := s.Write(t.Context(), b)
	var refused *store.RefusedError
	if err == nil || errors.As(err, &refused) {
		t.Fatalf("got %v, want an error that may pass", err)
	}
	storetest.Exec(t, dsn, "RENAME TABLE candidates_away TO candidates")
	b.Resend = true
	write(t, s, b)
	write(t, s, b)
	if diff := cmp.Diff(each(10), counts(t, dsn)); diff != "" {
		t.Error(diff)
	}
}

// A batch whose bodies and spans are stored before its inferences are refused
// comes again in pieces, under other tokens.
func TestPiecesOfARefusedBatch(t *testing.T) {
	s, dsn := open(t)
	b := batch("whole", 0, 10, now())
	storetest.Exec(t, dsn, "ALTER TABLE inferences ADD CONSTRAINT poison CHECK inference_id != '"+b.Inferences[7].ID+"'")
	err := s.Write(t.Context(), b)
	var refused *store.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a refusal", err)
	}
	for i := range b.Inferences {
		piece := record.Batch{
			Token: "piece" + strconv.Itoa(i), FirstSent: b.FirstSent, Piece: true,
			Inferences: b.Inferences[i : i+1], Bodies: b.Bodies[i : i+1], Spans: b.Spans[len(b.Spans)/10*i : len(b.Spans)/10*(i+1)],
		}
		if err := s.Write(t.Context(), piece); (err != nil) != (i == 7) {
			t.Errorf("piece %d: %v", i, err)
		}
	}
	want := each(10)
	for _, table := range []string{"inferences", "candidates", "traffic"} {
		want[table] = 9 // all but the one that is refused
	}
	if diff := cmp.Diff(want, counts(t, dsn)); diff != "" {
		t.Error(diff)
	}
}

func TestLargeBodies(t *testing.T) {
	s, _ := open(t)
	at := now()
	b := record.Batch{Token: "x", FirstSent: at}
	want := make(map[string]record.Body)
	var ids []string
	for i := range 3 { // 48 MiB: three inserts
		one := body(i, at, "large")
		one.Request = bytes.Repeat([]byte{byte(i), 0xff, 0, '\n'}, 4<<20)
		b.Bodies = append(b.Bodies, one)
		want[one.InferenceID] = one
		ids = append(ids, one.InferenceID)
	}
	write(t, s, b)
	write(t, s, b)
	got, err := s.InferenceBodies(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if !bytes.Equal(got[id].Request, want[id].Request) {
			t.Errorf("body %s has %d bytes, want %d", id, len(got[id].Request), len(want[id].Request))
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	s, dsn := open(t)
	at := now()
	var g errgroup.Group
	for i := range 4 {
		g.Go(func() error {
			for range 2 {
				if err := s.Write(context.Background(), batch("t"+strconv.Itoa(i), i*20, 20, at)); err != nil {
					return err
				}
				if _, err := s.Inferences(context.Background(), record.InferenceFilter{Outcome: "fail", Text: "reply"}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(each(80), counts(t, dsn)); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkWriteInferences(b *testing.B) {
	s, _ := open(b)
	const rows = 10_000
	at, n := now(), 0
	b.ReportAllocs()
	for b.Loop() {
		list := record.Batch{Token: strconv.Itoa(n), Inferences: make([]record.Inference, rows)}
		for i := range list.Inferences {
			list.Inferences[i] = inference(n*rows+i, at)
		}
		write(b, s, list)
		n++
	}
	b.ReportMetric(float64(n*rows)/b.Elapsed().Seconds(), "rows/s")
}
