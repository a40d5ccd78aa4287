package spool

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"docket/internal/record"
)

// The ballast is a file that only takes up room. A full disk would otherwise
// stop delivery: what is acknowledged must be written down before a segment
// may be deleted. So the first small file that finds no room gives the ballast
// up, records are refused from then on, and the ballast is made again when the
// disk has several times its room.
const (
	ballastFile  = "ballast"
	ballastBytes = 1 << 20
	ballastRoom  = 4 * ballastBytes // free space from which it is made
)

// noFile stands in place of a segment file for which the disk had no room. It
// lets the spool open, and deliver, on a full disk; the first append looks for
// room again.
type noFile struct{}

func (noFile) WriteAt([]byte, int64) (int, error) { return 0, syscall.ENOSPC }
func (noFile) Truncate(int64) error               { return nil }
func (noFile) Sync() error                        { return nil }
func (noFile) Close() error                       { return nil }

// newVacant returns an active segment that has no file and takes no record.
func (s *Spool) newVacant(number uint64) *active {
	return &active{
		seg: &segment{
			number: number, path: segmentPath(s.cfg.Dir, number),
			seed: frameSeed(s.salt, number), end: segmentHeader,
		},
		file: noFile{}, offset: segmentHeader, filled: segmentHeader, broken: true,
	}
}

// replace writes a small file, at the cost of the ballast if need be.
func (s *Spool) replace(path string, data []byte) error {
	err := s.hooks.small(path, data)
	if err != nil && reasonOf(err) == ReasonNoSpace && s.dropBallast() {
		err = s.hooks.small(path, data)
	}
	return err
}

// dropBallast gives its room back, and says whether there was any. Records are
// refused at the same time, or they would take it.
func (s *Spool) dropBallast() bool {
	s.ballastMu.Lock()
	defer s.ballastMu.Unlock()
	s.mu.Lock()
	had := s.ballast
	s.ballast = false
	s.lowDisk = s.lowDisk || had
	s.mu.Unlock()
	return had && os.Remove(filepath.Join(s.cfg.Dir, ballastFile)) == nil
}

// makeBallast says whether the ballast is there, and makes it if there is room.
func (s *Spool) makeBallast() bool {
	s.ballastMu.Lock()
	defer s.ballastMu.Unlock()
	s.mu.Lock()
	had := s.ballast
	s.mu.Unlock()
	if had {
		return true
	}
	path := filepath.Join(s.cfg.Dir, ballastFile)
	info, err := os.Stat(path)
	made := err == nil && info.Size() == ballastBytes
	if free, err := s.hooks.free(s.cfg.Dir); !made && (err != nil || free >= ballastRoom) {
		noise := make([]byte, ballastBytes) // zeros take no room on some disks
		_, _ = rand.Read(noise)             // never fails
		made = s.hooks.small(path, noise) == nil
	}
	s.mu.Lock()
	s.ballast = made
	s.mu.Unlock()
	return made
}

// retireLocked asks the writer to give up the active segment if all of it is
// delivered: its room is wanted.
func (s *Spool) retireLocked() {
	if !s.deliveredLocked() || s.closed {
		return
	}
	s.retiring = true
	s.kickLocked()
}

// deliveredLocked says whether the active segment has records, and none that is
// still needed.
func (s *Spool) deliveredLocked() bool {
	g := s.segments[len(s.segments)-1]
	return g.end > segmentHeader && s.keepFrom.Compare(record.Position{Segment: g.number, Offset: g.end}) >= 0
}

// age is called once per segment_age. A segment that has records at one call is
// old at the next, and the writer is asked to go on in another, so that what is
// delivered does not stay on disk while traffic is low. It waits for delivery
// to reach the segment: as long as the store is away, segments fill up. It
// returns whether the next segment is to be made for that.
func (s *Spool) age() (prepare bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.segments[len(s.segments)-1]
	switch {
	case s.closed || g.end <= segmentHeader || s.acked.Segment < g.number:
	case s.marked != g.number:
		s.marked = g.number
		prepare = s.prepared == nil && !s.preparing
		s.preparing = s.preparing || prepare
	default:
		s.old = true
		s.kickLocked()
	}
	return prepare
}

// kickLocked wakes the writer if it waits.
func (s *Spool) kickLocked() {
	if s.idle {
		s.idle = false
		s.kick <- struct{}{} // has room: idle is set once per receive
	}
}

// retire does what retireLocked and age asked for. It is the writer's.
func (s *Spool) retire() {
	s.mu.Lock()
	delivered := s.retiring && s.pending == nil && s.deliveredLocked()
	due := delivered || s.old && s.active.seg.number == s.marked
	s.retiring, s.old = false, false
	s.mu.Unlock()
	if !due {
		return
	}
	err := s.rotate()
	switch {
	case err != nil && !delivered:
		s.opts.Log.Warn("spool: the next segment", "err", err)
		return
	case err != nil:
		s.mu.Lock()
		s.number++
		s.sealed = append(s.sealed, sealed{file: s.active.file, end: s.active.offset})
		s.activateLocked(s.newVacant(s.number))
		s.mu.Unlock()
	}
	s.noteSync(s.removeDelivered())
	s.mu.Lock()
	s.publishLocked()    // a reader goes on to the next segment and closes this one
	s.wakeSyncerLocked() // which closes the writer's file
	s.mu.Unlock()
}

// removeDelivered deletes the segments of which nothing is needed any more.
func (s *Spool) removeDelivered() error {
	s.mu.Lock()
	dead := s.dropSegmentsLocked()
	s.mu.Unlock()
	var errs []error
	for _, g := range dead {
		if err := os.Remove(g.path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
