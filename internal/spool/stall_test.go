package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/spool"
)

// stalling is a configuration whose disk stalls after 20 ms.
func stalling(t *testing.T) spool.Config {
	c := small(t.TempDir())
	c.MaxWait = 20 * time.Millisecond
	c.SegmentBytes = record.MiB
	return c
}

func isStalled(err error) bool {
	var e *spool.AppendError
	return errors.As(err, &e) && e.Stalled() && !e.Full()
}

func isFull(err error, reason string) bool {
	var e *spool.AppendError
	return errors.As(err, &e) && e.Full() && !e.Stalled() && e.Reason == reason
}

func TestAppendWaitsNoLongerThanMaxWait(t *testing.T) {
	for name, size := range map[string]int{"copied": 100, "not copied": spool.CopyLimit + 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk()
				s := d.open(t, stalling(t), spool.Options{})
				appendOne(t, s, 1, "before")
				release := d.stall()
				var wg sync.WaitGroup
				for i := range 10 {
					wg.Go(func() {
						time.Sleep(time.Duration(i) * 3 * time.Millisecond)
						start := time.Now()
						_, err := s.Append(t.Context(), 1, bytes.Repeat([]byte{'x'}, size))
						if took := time.Since(start); !isStalled(err) || took > 20*time.Millisecond {
							t.Errorf("append %d: %v after %v", i, err, took)
						}
					})
				}
				wg.Wait()
				if st := s.Stats(); st.Stalls != 10 || st.Queued < int64(10*size) {
					t.Errorf("stats %+v", st)
				}
				release()
				synctest.Wait()
				got, _, corrupt := readAll(t, s, record.Position{})
				if len(got) != 11 || len(corrupt) > 0 {
					t.Errorf("%d records, corrupt %v", len(got), corrupt)
				}
				if st := s.Stats(); st.Queued != 0 || st.Appends != 12 {
					t.Errorf("stats %+v", st)
				}
			})
		})
	}
}

func TestStallKeepsOrderAndContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		s := d.open(t, stalling(t), spool.Options{})
		release := d.stall()
		var want []entry
		for i := range 60 {
			data := fmt.Appendf(nil, "%d ", i)
			if i%3 == 0 { // the first one is in flight, from the caller's bytes
				data = append(data, bytes.Repeat([]byte{byte(i)}, 2*spool.CopyLimit)...)
			}
			want = append(want, entry{byte(i), string(data)})
			if _, err := s.Append(t.Context(), byte(i), data[:1], data[1:]); !isStalled(err) {
				t.Fatal(err)
			}
			clear(data) // the caller uses it for something else
		}
		release()
		synctest.Wait()
		got, _, corrupt := readAll(t, s, record.Position{})
		if diff := cmp.Diff(want, got); diff != "" || len(corrupt) > 0 {
			t.Errorf("records (-want +got):\n%s\ncorrupt: %v", diff, corrupt)
		}
		start := time.Now()
		appendOne(t, s, 1, "after the stall")
		if took := time.Since(start); took != 0 {
			t.Errorf("append after the stall took %v", took)
		}
	})
}

func TestStallBoundsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stalling(t)
		c.QueueBytes = 40 * record.KiB
		d := newDisk()
		s := d.open(t, c, spool.Options{})
		release := d.stall()
		large := strings.Repeat("L", 60<<10)
		small := strings.Repeat("s", 10<<10)
		// In flight, and then too large for the queue: it is given up.
		if _, err := s.Append(t.Context(), 1, []byte(large)); !isFull(err, spool.ReasonQueue) {
			t.Errorf("large: %v", err)
		}
		for i := range 5 {
			_, err := s.Append(t.Context(), 2, []byte(small))
			if i < 3 && !isStalled(err) || i >= 3 && !isFull(err, spool.ReasonQueue) {
				t.Errorf("small %d: %v", i, err)
			}
		}
		release()
		synctest.Wait()
		got, _, corrupt := readAll(t, s, record.Position{})
		want := []entry{{2, small}, {2, small}, {2, small}}
		if diff := cmp.Diff(want, got); diff != "" || len(corrupt) > 0 {
			t.Errorf("records (-want +got):\n%s\ncorrupt: %v", diff, corrupt)
		}
		if st := s.Stats(); st.Drops[spool.ReasonQueue] != 3 || st.Stalls != 3 || st.Queued != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestLossAfterStallIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		var losses []spool.Loss
		s := d.open(t, stalling(t), spool.Options{OnLost: func(l spool.Loss) { losses = append(losses, l) }})
		release := d.stall()
		for i := range 3 {
			if _, err := s.Append(t.Context(), byte(i), []byte("12345678")); !isStalled(err) {
				t.Fatal(err)
			}
		}
		d.set(func() { d.room = spool.FrameHeader + 12 }) // the first one fits
		release()
		synctest.Wait()
		want := []spool.Loss{{Kind: 1, Bytes: 8, Reason: spool.ReasonNoSpace}, {Kind: 2, Bytes: 8, Reason: spool.ReasonNoSpace}}
		if diff := cmp.Diff(want, losses); diff != "" {
			t.Errorf("losses (-want +got):\n%s", diff)
		}
		d.set(func() { d.room = -1 })
		got, _, _ := readAll(t, s, record.Position{})
		if diff := cmp.Diff([]entry{{0, "12345678"}}, got); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		if st := s.Stats(); st.Lost[spool.ReasonNoSpace] != 2 {
			t.Errorf("stats %+v", st)
		}
	})
}

// given keeps what a disk is given to write.
type given struct {
	spool.SegmentFile
	writes *[][]byte
}

func (g given) WriteAt(p []byte, off int64) (int, error) {
	n, err := g.SegmentFile.WriteAt(p, off) // waits while the disk stalls
	*g.writes = append(*g.writes, bytes.Clone(p))
	return n, err
}

// TestCallerThatLeftIsNotRead: what a caller does with its bytes after Append
// has returned never reaches the disk, not even for a moment, be the record
// queued or given up.
func TestCallerThatLeftIsNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		queue record.ByteSize
		want  []entry
	}{
		"queued":   {record.MiB, []entry{{1, strings.Repeat("L", 600<<10)}}},
		"given up": {record.KiB, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var writes [][]byte
				d := newDisk()
				d.wrap = func(f spool.SegmentFile) spool.SegmentFile { return given{f, &writes} }
				cfg := stalling(t)
				cfg.QueueBytes = c.queue
				s := d.open(t, cfg, spool.Options{})
				release := d.stall()
				data := bytes.Repeat([]byte("L"), 600<<10) // several pieces
				if _, err := s.Append(t.Context(), 1, data[:1], data[1:]); isStalled(err) != (c.want != nil) || err == nil {
					t.Fatal(err)
				}
				copy(data, bytes.Repeat([]byte("other"), len(data)/5)) // the caller uses it for something else
				release()
				synctest.Wait()
				for _, w := range writes {
					if bytes.Contains(w, []byte("other")) {
						t.Errorf("of %d bytes that were written some belong to something else", len(w))
					}
				}
				if got, _, corrupt := readAll(t, s, record.Position{}); !cmp.Equal(c.want, got) || len(corrupt) > 0 {
					t.Errorf("%d records, want %d; corrupt: %v", len(got), len(c.want), corrupt)
				}
			})
		})
	}
}

// TestDiskBreaksWhileARecordIsGivenUp: it costs only itself, and is counted
// once.
func TestDiskBreaksWhileARecordIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		c := stalling(t)
		c.QueueBytes = record.KiB
		s := d.open(t, c, spool.Options{OnLost: func(l spool.Loss) { t.Errorf("lost %+v: nobody was told that it is kept", l) }})
		appendOne(t, s, 1, "before")
		release := d.stall()
		large := bytes.Repeat([]byte{'L'}, 2*spool.CopyLimit)
		if _, err := s.Append(t.Context(), 2, large); !isFull(err, spool.ReasonQueue) {
			t.Fatal(err)
		}
		d.set(func() { d.room, d.writeErr = int64(spool.FrameHeader+len(large)), syscall.EIO })
		release()
		synctest.Wait()
		d.set(func() { d.room = -1 })
		appendOne(t, s, 3, "after")
		got, _, corrupt := readAll(t, s, record.Position{})
		if diff := cmp.Diff([]entry{{1, "before"}, {3, "after"}}, got); diff != "" || len(corrupt) != 1 || corrupt[0].Bytes != int64(spool.FrameHeader+len(large)) {
			t.Errorf("records (-want +got):\n%s\ncorrupt: %v", diff, corrupt)
		}
		if diff := cmp.Diff(map[string]uint64{spool.ReasonQueue: 1}, s.Stats().Drops); diff != "" {
			t.Errorf("drops (-want +got):\n%s", diff)
		}
	})
}

func TestSyncAlwaysWaitsForTheDiskOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stalling(t)
		c.Sync = spool.SyncAlways
		d := newDisk()
		s := d.open(t, c, spool.Options{})
		release := d.stall()
		time.AfterFunc(time.Minute, release)
		want := []entry{{1, "small"}, {2, strings.Repeat("L", 2*spool.CopyLimit)}, {3, "waits"}}
		for _, w := range want[:2] {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			data := []byte(w.Data)
			if _, err := s.Append(ctx, w.Kind, data); !isStalled(err) || !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			clear(data)
			cancel()
		}
		start := time.Now()
		appendOne(t, s, want[2].Kind, want[2].Data)
		if took := time.Since(start); took != 58*time.Second {
			t.Errorf("took %v", took)
		}
		got, _, corrupt := readAll(t, s, record.Position{})
		if diff := cmp.Diff(want, got); diff != "" || len(corrupt) > 0 {
			t.Errorf("records (-want +got):\n%s\ncorrupt: %v", diff, corrupt)
		}
	})
}
