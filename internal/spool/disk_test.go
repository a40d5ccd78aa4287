package spool_test

import (
	"bytes"
	"errors"
	"sync"
	"syscall"
	"testing"

	"docket/internal/spool"
)

// disk is a disk that can be made slow, full or faulty.
type disk struct {
	mu       sync.Mutex
	hold     chan struct{} // writes wait until it is closed
	room     int64         // bytes that can be written; negative: any
	writeErr error         // when there is no room
	cutErr   error
	syncErr  error
	free     int64
	wrap     func(spool.SegmentFile) spool.SegmentFile // around its files, when not nil
}

func newDisk() *disk { return &disk{room: -1, writeErr: syscall.ENOSPC, free: 1 << 40} }

func (d *disk) open(t *testing.T, c spool.Config, o spool.Options) *spool.Spool {
	t.Helper()
	s, err := spool.OpenOn(c, o, d.create, func(string) (int64, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.free, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, spool.ErrClosed) {
			t.Error(err)
		}
	})
	return s
}

// set changes the disk's behaviour.
func (d *disk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// stall makes writes wait until the returned function is called.
func (d *disk) stall() (release func()) {
	hold := make(chan struct{})
	d.set(func() { d.hold = hold })
	return func() {
		d.set(func() { d.hold = nil })
		close(hold)
	}
}

func (d *disk) create(path string) (spool.SegmentFile, error) {
	f, err := spool.CreateFile(path)
	if err != nil {
		return nil, err
	}
	if d.wrap != nil {
		return d.wrap(&diskFile{SegmentFile: f, disk: d}), nil
	}
	return &diskFile{SegmentFile: f, disk: d}, nil
}

type diskFile struct {
	spool.SegmentFile
	disk *disk
	top  int64 // end of the records written
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	d := f.disk
	d.mu.Lock()
	hold := d.hold
	d.mu.Unlock()
	if hold != nil {
		<-hold
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room < 0 {
		if len(bytes.Trim(p, "\x00")) > 0 { // not room that is filled ahead
			f.top = max(f.top, off+int64(len(p)))
		}
		return f.SegmentFile.WriteAt(p, off)
	}
	again := int64(0) // bytes that have their room already, if only room is short
	if !errors.Is(d.writeErr, syscall.EIO) {
		again = min(max(0, f.top-off), int64(len(p)))
	}
	allowed := min(int64(len(p)), again+d.room)
	d.room -= allowed - again
	n, err := f.SegmentFile.WriteAt(p[:allowed], off)
	f.top = max(f.top, off+int64(n))
	if err == nil && n < len(p) {
		err = d.writeErr
	}
	return n, err
}

func (f *diskFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.cutErr != nil {
		return f.disk.cutErr
	}
	f.top = min(f.top, size)
	return f.SegmentFile.Truncate(size)
}

func (f *diskFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.syncErr != nil {
		return f.disk.syncErr
	}
	return f.SegmentFile.Sync()
}
