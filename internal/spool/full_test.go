package spool_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/spool"
)

// fullDisk has room for so many bytes, and counts what the folder takes.
type fullDisk struct {
	mu   sync.Mutex
	dir  string
	size int64
	full bool // nothing is left, whatever was deleted
}

func (d *fullDisk) set(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

func (d *fullDisk) left() int64 {
	for {
		var used int64
		err := filepath.WalkDir(d.dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err == nil {
				used += info.Size()
			}
			return err
		})
		switch {
		case err != nil: // a file came or went meanwhile
		case d.full:
			return 0
		default:
			return max(0, d.size-used)
		}
	}
}

func (d *fullDisk) create(path string) (spool.SegmentFile, error) {
	f, err := spool.CreateFile(path)
	if err != nil {
		return nil, err
	}
	return fullFile{f, d, path}, nil
}

func (d *fullDisk) small(path string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left() < int64(len(data)) {
		return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
	}
	return spool.WriteFile(path, data)
}

func (d *fullDisk) open(t *testing.T) *spool.Spool {
	t.Helper()
	c := small(d.dir)
	c.SegmentBytes = 512 * record.KiB
	c.FsyncInterval = time.Millisecond
	s, err := spool.OpenOnSmall(c, d.create, func(string) (int64, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.left(), nil
	}, d.small)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type fullFile struct {
	spool.SegmentFile
	disk *fullDisk
	path string
}

func (f fullFile) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		return 0, err
	}
	if room := info.Size() + f.disk.left() - off; room < int64(len(p)) {
		n, err := f.SegmentFile.WriteAt(p[:max(0, room)], off)
		return n, errors.Join(err, syscall.ENOSPC)
	}
	return f.SegmentFile.WriteAt(p, off)
}

// fill appends until there is no room, and returns what went in.
func fill(t *testing.T, s *spool.Spool) (want []entry) {
	t.Helper()
	for size := 4096; size > 0; size /= 2 {
		for {
			e := entry{1, strings.Repeat("x", size)}
			_, err := s.Append(t.Context(), e.Kind, []byte(e.Data))
			if err != nil {
				var full *spool.AppendError
				if !errors.As(err, &full) || !full.Full() {
					t.Fatal(err)
				}
				break
			}
			want = append(want, e)
		}
	}
	return want
}

// deliver reads n records and acknowledges them all.
func deliver(t *testing.T, s *spool.Spool, n int) (got []entry) {
	t.Helper()
	r, err := s.Reader(s.Acked())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var end record.Position
	for range n {
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, end = append(got, entry{rec.Kind, string(rec.Data)}), rec.End
	}
	if err := s.SaveMeta("edges", []byte("from one to two")); err != nil {
		t.Fatal(err)
	}
	if err := s.Ack(end, end); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestFullDiskIsDelivered fills the disk to its last byte. What is in the spool
// must be deliverable, also by the next process, and then there is room again.
func TestFullDiskIsDelivered(t *testing.T) {
	for _, restart := range []bool{false, true} {
		d := &fullDisk{dir: t.TempDir(), size: 8 << 20}
		s := d.open(t)
		want := fill(t, s)
		if restart {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			d.set(true) // by other programs
			s = d.open(t)
			if _, err := s.Append(t.Context(), 1, []byte("no room")); err == nil {
				t.Fatal("a full disk took a record")
			}
			d.set(false)
		}
		if _, err := s.AppendReserved(t.Context(), 3, []byte("what was lost")); err != nil {
			t.Errorf("restart %v: what was lost is not noted: %v", restart, err)
		}
		want = append(want, entry{3, "what was lost"})
		if diff := cmp.Diff(want, deliver(t, s, len(want))); diff != "" {
			t.Errorf("restart %v: records (-want +got):\n%s", restart, diff)
		}
		for deadline := time.Now().Add(2 * time.Minute); ; {
			if _, err := s.Append(t.Context(), 2, []byte(strings.Repeat("y", 4096))); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("restart %v: everything is delivered, and still no record is taken: %+v", restart, s.Stats())
			}
			time.Sleep(time.Millisecond)
		}
		if got := deliver(t, s, 1); got[0].Kind != 2 {
			t.Errorf("restart %v: got %+v", restart, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBallastGoesWhileFreeSpaceIsLookedAt: records are refused from then on,
// although the look began before.
func TestBallastGoesWhileFreeSpaceIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *spool.Spool
		var looks, full atomic.Bool
		free := func(string) (int64, error) {
			if !looks.CompareAndSwap(true, false) {
				return 1 << 40, nil
			}
			full.Store(true) // the ballast is there still
			return 1 << 20, s.SaveMeta("edges", []byte("from one to two"))
		}
		cfg := small(t.TempDir())
		s, err := spool.OpenOnSmall(cfg, spool.CreateFile, free, func(path string, data []byte) error {
			if full.CompareAndSwap(true, false) {
				return syscall.ENOSPC
			}
			return spool.WriteFile(path, data)
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		looks.Store(true)
		appendOne(t, s, 1, "the syncer looks after it")
		time.Sleep(cfg.FsyncInterval)
		synctest.Wait()
		if _, err := s.Append(t.Context(), 1, []byte("x")); !isFull(err, spool.ReasonMinFree) {
			t.Errorf("append after the ballast was given up: %v", err)
		}
	})
}
