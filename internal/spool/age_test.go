package spool_test

import (
	"testing"
	"time"

	"docket/internal/record"
	"docket/internal/spool"
)

// TestOldSegments: what is delivered does not stay on disk because nothing comes
// to fill the segment. Records that are still needed stay.
func TestOldSegments(t *testing.T) {
	c := small(t.TempDir())
	c.SegmentAge = time.Second
	s := open(t, c)
	pos := appendOne(t, s, 1, "kept-words")

	// Delivered, but still needed: other segments are begun, this one stays.
	next := appendOne(t, s, 1, "later-words")
	end := endOf(t, s, next)
	if err := s.Ack(end, pos); err != nil {
		t.Fatal(err)
	}
	var last record.Position
	await(t, "a new segment", func() bool {
		last = appendOne(t, s, 1, "x")
		time.Sleep(20 * time.Millisecond) // between two looks
		return last.Segment > pos.Segment
	})
	if !contains(t, c.Dir, "kept-words") {
		t.Error("a record that is needed is gone")
	}

	// Delivered and not needed: gone, while nothing else is appended.
	last = appendOne(t, s, 1, "last-words")
	if err := s.Ack(endOf(t, s, last), endOf(t, s, last)); err != nil {
		t.Fatal(err)
	}
	await(t, "delivered records to go", func() bool { return !contains(t, c.Dir, "words") })
	if used := s.Stats().Bytes; used > 4<<10 {
		t.Errorf("%d bytes in use", used)
	}

	// What comes afterwards is read from the new segment.
	appendOne(t, s, 1, "undelivered")
	entries, _, corrupt := readAll(t, s, s.Acked())
	if len(entries) != 1 || entries[0].Data != "undelivered" || len(corrupt) > 0 {
		t.Errorf("read %v, %v", entries, corrupt)
	}
}

func endOf(t *testing.T, s *spool.Spool, pos record.Position) record.Position {
	t.Helper()
	rec, err := s.ReadAt(pos)
	if err != nil {
		t.Fatal(err)
	}
	return rec.End
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s", what)
		}
	}
}
