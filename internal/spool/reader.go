package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"docket/internal/record"
)

// Reader reads records in order. It is for one goroutine.
type Reader struct {
	s    *Spool
	pos  record.Position
	seg  *segment // acquired, or nil
	file *os.File
	scan *scanner
}

// Reader returns a reader of the records at and after from; the zero Position
// is before all. Close it after use.
func (s *Spool) Reader(from record.Position) (*Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	return &Reader{s: s, pos: from}, nil
}

// Close gives the reader's file back.
func (r *Reader) Close() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.leaveLocked()
	return nil
}

func (r *Reader) leaveLocked() {
	if r.seg != nil {
		r.seg.releaseLocked()
		r.seg, r.file, r.scan = nil, nil, nil
	}
}

// Next returns the next record. It blocks until there is one, ctx ends or the
// Spool is closed. The record's data is valid until the next call. Bytes that
// are no record are reported once as *CorruptError; the call after that goes
// on behind them. Records deleted meanwhile are passed over.
func (r *Reader) Next(ctx context.Context) (record.SpoolRecord, error) {
	for {
		end, wait, err := r.locate()
		if err != nil {
			return record.SpoolRecord{}, err
		}
		if wait != nil {
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return record.SpoolRecord{}, context.Cause(ctx)
			}
		}
		f, err := r.scan.frame(r.pos.Offset, end)
		if err != nil {
			if err = r.skip(f.size, end, err); err != nil {
				return record.SpoolRecord{}, err
			}
			continue
		}
		pos := r.pos
		r.pos.Offset += f.size
		if f.void {
			continue
		}
		return record.SpoolRecord{Pos: pos, End: r.pos, Kind: f.kind, Data: f.data}, nil
	}
}

// locate finds the segment of the reader's position and where its records end.
// wait is set when there is no record yet.
func (r *Reader) locate() (end int64, wait <-chan struct{}, err error) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.closed {
			return 0, nil, ErrClosed
		}
		g := r.seg // perhaps deleted meanwhile, but still open
		if g == nil || g.number != r.pos.Segment {
			r.leaveLocked()
			if g = s.segmentLocked(r.pos.Segment); g == nil {
				return 0, s.waitLocked(), nil
			}
			if g.number > r.pos.Segment {
				r.pos = g.start()
			}
		}
		r.pos.Offset = max(r.pos.Offset, segmentHeader)
		if r.pos.Offset < g.end {
			return g.end, nil, r.enterLocked(g)
		}
		if g.number == s.segments[len(s.segments)-1].number {
			return 0, s.waitLocked(), nil
		}
		r.pos = record.Position{Segment: g.number + 1}
	}
}

// enterLocked opens the segment, unless the reader is in it already.
func (r *Reader) enterLocked(g *segment) error {
	if r.seg == g {
		return nil
	}
	f, err := g.acquireLocked()
	if errors.Is(err, fs.ErrNotExist) {
		lost := &CorruptError{Pos: r.pos, Bytes: g.end - r.pos.Offset, Err: err}
		r.pos.Offset = g.end
		return lost
	}
	if err != nil {
		return fmt.Errorf("open spool segment: %w", err)
	}
	r.seg, r.file, r.scan = g, f, newScanner(f, g.seed, readChunk)
	return nil
}

// skip passes over what is no record. It returns nil if that was only room
// allocated ahead.
func (r *Reader) skip(size, end int64, cause error) error {
	lost := &CorruptError{Pos: r.pos}
	next := end
	if errors.Is(cause, errBadFrame) {
		if zero, err := r.scan.zeros(r.pos.Offset, end); err == nil && zero {
			r.pos.Offset = end
			return nil
		}
		next, cause = r.scan.resync(r.pos.Offset, size, end)
	}
	lost.Bytes, lost.Err = next-r.pos.Offset, cause
	r.pos.Offset = next
	return lost
}

// segmentLocked returns the first segment that is numbered number or higher.
func (s *Spool) segmentLocked(number uint64) *segment {
	for _, g := range s.segments {
		if g.number >= number {
			return g
		}
	}
	return nil
}

// waitLocked returns what is closed when records are published.
func (s *Spool) waitLocked() <-chan struct{} {
	if s.published == nil {
		s.published = make(chan struct{})
	}
	return s.published
}

// ReadAt returns the record at pos, with data of its own. It returns
// ErrNotFound when the segment is gone or pos is behind the last record, and
// *CorruptError when the record does not check.
func (s *Spool) ReadAt(pos record.Position) (record.SpoolRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return record.SpoolRecord{}, ErrClosed
	}
	g := s.segmentLocked(pos.Segment)
	if g == nil || g.number != pos.Segment || pos.Offset < segmentHeader || pos.Offset >= g.end {
		return record.SpoolRecord{}, fmt.Errorf("read %v: %w", pos, ErrNotFound)
	}
	file, err := g.acquireLocked()
	if err != nil {
		return record.SpoolRecord{}, fmt.Errorf("read %v: %w", pos, err)
	}
	defer g.releaseLocked()
	end := g.end
	s.mu.Unlock()
	f, err := newScanner(file, g.seed, pageSize).frame(pos.Offset, end)
	s.mu.Lock()
	switch {
	case errors.Is(err, errBadFrame):
		return record.SpoolRecord{}, &CorruptError{Pos: pos, Bytes: f.size}
	case err != nil:
		return record.SpoolRecord{}, fmt.Errorf("read %v: %w", pos, err)
	case f.void:
		return record.SpoolRecord{}, fmt.Errorf("read %v: %w", pos, ErrNotFound)
	}
	next := record.Position{Segment: pos.Segment, Offset: pos.Offset + f.size}
	return record.SpoolRecord{Pos: pos, End: next, Kind: f.kind, Data: f.data}, nil
}
