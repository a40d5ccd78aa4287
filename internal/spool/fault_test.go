package spool_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/spool"
)

// TestFailedWrite lets the disk fail in the middle of a record, at many places,
// and checks that nothing before or after it is lost.
func TestFailedWrite(t *testing.T) {
	for _, tc := range []struct {
		name     string
		writeErr error
		cutErr   error
		reason   string
	}{
		{"disk full", syscall.ENOSPC, nil, spool.ReasonNoSpace},
		{"disk quota", syscall.EDQUOT, nil, spool.ReasonNoSpace},
		{"disk broken", syscall.EIO, nil, spool.ReasonIO},
		{"disk full, no truncate", syscall.ENOSPC, syscall.EIO, spool.ReasonNoSpace},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for room := int64(0); room < 2*spool.FrameHeader; room++ {
				dir := t.TempDir()
				d := newDisk()
				s := d.open(t, small(dir), spool.Options{})
				appendOne(t, s, 1, "before")
				d.set(func() { d.room, d.writeErr, d.cutErr = room, tc.writeErr, tc.cutErr })
				_, err := s.Append(t.Context(), 2, []byte(strings.Repeat("x", 2*spool.FrameHeader)))
				var e *spool.AppendError
				if !errors.As(err, &e) || e.Reason != tc.reason || e.Full() != (tc.reason == spool.ReasonNoSpace) || !errors.Is(err, tc.writeErr) {
					t.Fatalf("append: %v", err)
				}
				d.set(func() { d.room, d.cutErr = -1, nil })
				appendOne(t, s, 3, "after")
				want := []entry{{1, "before"}, {3, "after"}}
				got, _, corrupt := readAll(t, s, record.Position{})
				if diff := cmp.Diff(want, got); diff != "" || len(corrupt) > 0 {
					t.Fatalf("room %d: records (-want +got):\n%s\ncorrupt: %v", room, diff, corrupt)
				}
				if st := s.Stats(); st.Drops[tc.reason] != 1 {
					t.Errorf("stats %+v", st)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, small(dir))
				got, _, corrupt = readAll(t, s, record.Position{})
				if diff := cmp.Diff(want, got); diff != "" || len(corrupt) > 0 {
					t.Fatalf("room %d: records after restart (-want +got):\n%s\ncorrupt: %v", room, diff, corrupt)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestFailedWriteFailsOnlyWhatWasNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := small(t.TempDir())
		d := newDisk()
		s := d.open(t, c, spool.Options{})
		release := d.stall()
		results := make(chan error, 6)
		for i := range 6 { // one in flight, five in the next batch
			go func() {
				_, err := s.Append(t.Context(), byte(i), []byte("12345678"))
				results <- err
			}()
			synctest.Wait()
		}
		d.set(func() { d.room = 3*(spool.FrameHeader+8) + 5 })
		release()
		var failed int
		for range 6 {
			if err := <-results; isFull(err, spool.ReasonNoSpace) {
				failed++
			} else if err != nil {
				t.Error(err)
			}
		}
		d.set(func() { d.room = -1 })
		got, _, corrupt := readAll(t, s, record.Position{})
		if failed != 3 || len(got) != 3 || len(corrupt) > 0 {
			t.Errorf("%d failed, %d records, corrupt %v", failed, len(got), corrupt)
		}
	})
}

func TestFailedSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		s := d.open(t, small(t.TempDir()), spool.Options{})
		d.set(func() { d.syncErr = syscall.EIO })
		appendOne(t, s, 1, "x")
		time.Sleep(150 * time.Millisecond)
		synctest.Wait()
		if st := s.Stats(); st.SyncErrors != 1 {
			t.Errorf("stats %+v", st)
		}
		d.set(func() { d.syncErr = nil })
	})
}

func TestFailedSyncAlwaysIsAnError(t *testing.T) {
	c := small(t.TempDir())
	c.Sync = spool.SyncAlways
	d := newDisk()
	s := d.open(t, c, spool.Options{})
	appendOne(t, s, 1, "before")
	d.set(func() { d.syncErr = syscall.EIO })
	var e *spool.AppendError
	if _, err := s.Append(t.Context(), 2, []byte("lost")); !errors.As(err, &e) || e.Reason != spool.ReasonIO || e.Full() || e.Stalled() {
		t.Errorf("append: %v", err)
	}
	d.set(func() { d.syncErr = nil })
	appendOne(t, s, 3, "after")
	got, _, corrupt := readAll(t, s, record.Position{})
	if diff := cmp.Diff([]entry{{1, "before"}, {3, "after"}}, got); diff != "" || len(corrupt) > 0 {
		t.Errorf("records (-want +got):\n%s\ncorrupt: %v", diff, corrupt)
	}
}

func TestQuota(t *testing.T) {
	c := small(t.TempDir())
	c.MaxBytes = 2 * c.SegmentBytes
	s := open(t, c)
	data := strings.Repeat("x", 10_000)
	n := 0
	for ; ; n++ {
		_, err := s.Append(t.Context(), 1, []byte(data))
		if isFull(err, spool.ReasonQuota) {
			break
		}
		if err != nil || n > 100 {
			t.Fatal(err)
		}
	}
	if st := s.Stats(); st.Bytes > int64(c.MaxBytes) || st.Drops[spool.ReasonQuota] != 1 {
		t.Errorf("stats %+v", st)
	}
	for i := 0; ; i++ { // the reserve is bounded, too
		_, err := s.AppendReserved(t.Context(), 2, []byte(data))
		if isFull(err, spool.ReasonQuota) && i >= 3 {
			break
		}
		if err != nil || i > 20 {
			t.Fatalf("reserved append %d: %v", i, err)
		}
	}
	if st := s.Stats(); st.Bytes > int64(c.MaxBytes)+spool.Reserve {
		t.Errorf("stats %+v", st)
	}
	r, err := s.Reader(record.Position{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range n {
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Ack(rec.End, rec.End); err != nil {
			t.Fatal(err)
		}
	}
	appendOne(t, s, 1, data) // there is room again
}

func TestMinFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := small(t.TempDir())
		c.MinFree = record.GiB
		d := newDisk()
		s := d.open(t, c, spool.Options{})
		appendOne(t, s, 1, "x")
		d.set(func() { d.free = 1000 })
		time.Sleep(time.Second)
		synctest.Wait()
		if _, err := s.Append(t.Context(), 1, []byte("x")); !isFull(err, spool.ReasonMinFree) {
			t.Errorf("append on a low disk: %v", err)
		}
		if _, err := s.AppendReserved(t.Context(), 1, []byte("x")); err != nil {
			t.Errorf("reserved append on a low disk: %v", err)
		}
		d.set(func() { d.free = 1 << 40 })
		time.Sleep(time.Second)
		synctest.Wait()
		appendOne(t, s, 1, "x")
	})
}

func TestTooLarge(t *testing.T) {
	c := small(t.TempDir())
	s := open(t, c)
	most := int(c.SegmentBytes) - spool.SegmentHeader - spool.FrameHeader
	var e *spool.AppendError
	if _, err := s.Append(t.Context(), 1, make([]byte, most+1)); !errors.As(err, &e) || e.Reason != spool.ReasonTooLarge {
		t.Errorf("too large: %v", err)
	}
	want := []entry{{1, strings.Repeat("x", most)}, {2, ""}}
	for _, w := range want {
		appendOne(t, s, w.Kind, w.Data)
	}
	got, _, _ := readAll(t, s, record.Position{})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestQuarantineIsBounded(t *testing.T) {
	c := small(t.TempDir())
	c.QuarantineBytes = 1000
	s := open(t, c)
	for i := range 3 { // the same name replaces
		if err := s.Quarantine("same", []byte(strings.Repeat("x", 400+i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Quarantine("second", make([]byte, 599)); !isFull(err, spool.ReasonQuota) {
		t.Errorf("quarantine beyond the bound: %v", err)
	}
	if err := s.Quarantine("second", make([]byte, 598)); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, c)
	if st := s.Stats(); st.QuarantineBytes != 1000 {
		t.Errorf("stats %+v", st)
	}
	if names, _ := filepath.Glob(filepath.Join(c.Dir, "quarantine", "*")); len(names) != 2 {
		t.Errorf("files %v", names)
	}
	for _, name := range []string{"", ".", "../x", "a/b", ".hidden", "a b", strings.Repeat("x", 129)} {
		if err := s.Quarantine(name, nil); err == nil {
			t.Errorf("name %q accepted", name)
		}
		if err := s.SaveMeta(name, nil); err == nil {
			t.Errorf("name %q accepted", name)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	if err := spool.DefaultConfig().Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
	for key, change := range map[string]func(*spool.Config){
		"dir":              func(c *spool.Config) { c.Dir = "" },
		"segment_bytes":    func(c *spool.Config) { c.SegmentBytes = 1 },
		"max_bytes":        func(c *spool.Config) { c.MaxBytes = c.SegmentBytes },
		"min_free":         func(c *spool.Config) { c.MinFree = -1 },
		"max_wait":         func(c *spool.Config) { c.MaxWait = 0 },
		"fsync_interval":   func(c *spool.Config) { c.FsyncInterval = time.Hour },
		"sync":             func(c *spool.Config) { c.Sync = "never" },
		"queue_bytes":      func(c *spool.Config) { c.QueueBytes = -1 },
		"quarantine_bytes": func(c *spool.Config) { c.QuarantineBytes = -1 },
	} {
		c := spool.DefaultConfig()
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), key+": ") {
			t.Errorf("%s: %v", key, fmt.Sprint(err))
		}
	}
}
