package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
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
