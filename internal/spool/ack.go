package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"docket/internal/record"
)

const ackFile = "acked"

// Acked is the position up to which Ack was called.
func (s *Spool) Acked() record.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

// KeepFrom is the oldest position that is still needed, as Ack was told.
func (s *Spool) KeepFrom() record.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keepFrom
}

// Ack says that every record before pos is delivered, and that none before
// keepFrom is needed any more. It is on disk when Ack returns. Segments wholly
// before keepFrom are deleted. Both positions only go forward.
func (s *Spool) Ack(pos, keepFrom record.Position) error {
	s.ackMu.Lock()
	defer s.ackMu.Unlock()
	if err := s.checkAck(pos, keepFrom); err != nil {
		return err
	}
	if err := s.replace(filepath.Join(s.cfg.Dir, ackFile), fmt.Appendf(nil, "%v %v\n", pos, keepFrom)); err != nil {
		return fmt.Errorf("ack %v: %w", pos, err)
	}
	s.mu.Lock()
	s.acked, s.keepFrom = pos, keepFrom
	if s.lowDisk || s.pressed {
		s.retireLocked()
	}
	s.mu.Unlock()
	return s.removeDelivered()
}

func (s *Spool) checkAck(pos, keepFrom record.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.segments[len(s.segments)-1]
	end := record.Position{Segment: last.number, Offset: last.end}
	switch {
	case s.closed:
		return ErrClosed
	case pos.Compare(s.acked) < 0 || keepFrom.Compare(s.keepFrom) < 0:
		return fmt.Errorf("ack %v, keep from %v: already at %v, %v", pos, keepFrom, s.acked, s.keepFrom)
	case keepFrom.Compare(pos) > 0 || pos.Compare(end) > 0:
		return fmt.Errorf("ack %v, keep from %v: want keep from <= ack <= %v", pos, keepFrom, end)
	}
	return nil
}

// dropSegmentsLocked takes the segments before keepFrom off the list. The one
// that is written stays.
func (s *Spool) dropSegmentsLocked() []*segment {
	n := 0
	for n < len(s.segments)-1 {
		g := s.segments[n]
		if s.keepFrom.Compare(record.Position{Segment: g.number, Offset: g.end}) < 0 {
			break
		}
		s.used -= g.end
		n++
	}
	dead := append([]*segment(nil), s.segments[:n]...)
	s.segments = append([]*segment(nil), s.segments[n:]...)
	return dead
}

// loadAck reads what Ack saved. A folder without it has delivered nothing.
func (s *Spool) loadAck() error {
	path := filepath.Join(s.cfg.Dir, ackFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var pos, keepFrom string
	if _, err := fmt.Sscan(string(data), &pos, &keepFrom); err == nil {
		s.acked, err = record.ParsePosition(pos)
		if err == nil {
			s.keepFrom, err = record.ParsePosition(keepFrom)
		}
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s is damaged: restore it, or move the folder away", path)
}
