package spool

import (
	"errors"
	"os"
	"time"
)

// sealed is a full segment whose file is still open.
type sealed struct {
	file segmentFile
	end  int64
}

// sync is the syncer goroutine. While records are written it forces them to
// disk every fsync_interval; otherwise it sleeps. It works beside the writer:
// on a segment that was filled ahead, forcing data to disk does not hold up
// writes to it.
func (s *Spool) sync() {
	for {
		select {
		case <-s.dirty:
		case <-s.stop:
			return
		}
		select {
		case <-time.After(s.cfg.FsyncInterval):
		case <-s.stop:
			return
		}
		s.syncOnce()
	}
}

// wakeSyncerLocked makes sure that the syncer runs within fsync_interval.
func (s *Spool) wakeSyncerLocked() {
	if s.syncIdle {
		s.syncIdle = false
		s.dirty <- struct{}{} // has room: one per syncIdle
	}
}

func (s *Spool) syncOnce() {
	s.mu.Lock()
	s.syncIdle = true // what is written from here on needs another round
	file := s.unsynced
	s.mu.Unlock()
	// Segments that were sealed meanwhile are closed below, so this one is
	// open still.
	if s.cfg.Sync == SyncInterval {
		s.noteSync(file.Sync())
	}
	s.noteSync(s.closeSealed())
	s.checkFree()
}

func (s *Spool) noteSync(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	s.stats.syncErrors++
	s.mu.Unlock()
	s.opts.Log.Error("spool: force records to disk", "err", err)
}

// closeSealed forces the sealed segments to disk and gives back what they
// were allocated beyond their records.
func (s *Spool) closeSealed() error {
	s.mu.Lock()
	list := s.sealed
	s.sealed = nil
	s.mu.Unlock()
	var errs []error
	for _, f := range list {
		errs = append(errs, f.file.Truncate(f.end), f.file.Sync(), f.file.Close())
	}
	return errors.Join(errs...)
}

// checkFree decides whether records are admitted. An error of free means that
// writes will tell.
func (s *Spool) checkFree() {
	low := !s.makeBallast()
	free, err := s.hooks.free(s.cfg.Dir)
	low = low || err == nil && free < int64(s.cfg.MinFree)
	s.mu.Lock()
	low = low || !s.ballast // it may have been given up meanwhile
	changed := low != s.lowDisk
	if low || changed || s.pressed {
		s.retireLocked()
	}
	s.lowDisk, s.pressed = low, false
	s.mu.Unlock()
	if changed {
		s.opts.Log.Warn("spool: free disk space", "free", free, "min_free", s.cfg.MinFree, "refusing", low)
	}
}

// prepare is the preparer goroutine: it makes the next segment when the active
// one is half full, or old, so that the writer need not wait for it.
func (s *Spool) prepare() {
	age := time.NewTicker(s.cfg.SegmentAge)
	defer age.Stop()
	for {
		select {
		case <-s.low:
			s.prepareNext()
		case <-age.C:
			if s.age() {
				s.prepareNext()
			}
		case <-s.stop:
			return
		}
	}
}

// wakePreparerLocked asks for the next segment, once per active segment.
func (s *Spool) wakePreparerLocked() {
	if s.active.offset < int64(s.cfg.SegmentBytes)/2 || s.preparing || s.prepared != nil {
		return
	}
	select {
	case s.low <- struct{}{}:
		s.preparing = true
	default:
	}
}

func (s *Spool) prepareNext() {
	s.mu.Lock()
	s.number++
	number := s.number
	s.mu.Unlock()
	a, err := s.newActive(number, s.fillSize())
	if err != nil {
		// The writer makes its own, or reports why it cannot.
		s.opts.Log.Warn("spool: prepare next segment", "segment", number, "err", err)
		return
	}
	s.mu.Lock()
	late := s.number != number // the writer has made a later one itself
	if !late {
		s.prepared = a
	}
	s.mu.Unlock()
	if late {
		s.noteSync(errors.Join(a.file.Close(), os.Remove(a.seg.path)))
	}
}

// fillSize says how much of a new segment is allocated ahead: all of it, if
// that leaves the quota and the disk alone.
func (s *Spool) fillSize() int64 {
	size := int64(s.cfg.SegmentBytes)
	s.mu.Lock()
	fits := s.used+s.room+size <= int64(s.cfg.MaxBytes)
	s.mu.Unlock()
	if !fits {
		return 0
	}
	if free, err := s.hooks.free(s.cfg.Dir); err != nil || free-size < int64(s.cfg.MinFree) {
		return 0
	}
	return size
}
