package spool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCloseForgetsWhatIsDelivered: it is not redacted, so it does not stay. What
// is not delivered does, and no position is used twice.
func TestCloseForgetsWhatIsDelivered(t *testing.T) {
	c := small(t.TempDir())
	s := open(t, c)
	first := appendOne(t, s, 1, "private-words")
	_, positions, _ := readAll(t, s, first)
	if len(positions) != 1 {
		t.Fatalf("%d records", len(positions))
	}
	rec, err := s.ReadAt(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !contains(t, c.Dir, "private-words") {
		t.Fatal("a record that is not delivered is gone")
	}
	s = open(t, c)
	if err := s.Ack(rec.End, rec.End); err != nil {
		t.Fatal(err)
	}
	second := appendOne(t, s, 1, "more-words")
	rec, err = s.ReadAt(second)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ack(rec.End, rec.End); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if contains(t, c.Dir, "words") {
		t.Error("a delivered record is left")
	}
	s = open(t, c)
	if third := appendOne(t, s, 1, "x"); third.Compare(second) <= 0 || s.Acked() != rec.End {
		t.Errorf("position %v after %v, acknowledged up to %v", third, second, s.Acked())
	}
	entries, _, corrupt := readAll(t, s, s.Acked())
	if len(entries) != 1 || entries[0].Data != "x" || len(corrupt) > 0 {
		t.Errorf("read %v, %v", entries, corrupt)
	}
}

// contains searches the segments of a spool.
func contains(t *testing.T, dir, text string) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), text) {
			return true
		}
	}
	return false
}
