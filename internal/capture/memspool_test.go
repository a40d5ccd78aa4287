package capture_test

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"docket/internal/capture"
	"docket/internal/record"
)

// perSegment is how many records a segment of memSpool holds.
const perSegment = 7

// memSpool is a spool in memory. What it holds survives the "process", which is
// the Recorder and Drainer on top of it.
type memSpool struct {
	mu       sync.Mutex
	recs     []record.SpoolRecord
	corrupt  map[record.Position]bool
	next     int
	acked    record.Position
	keep     record.Position
	meta     map[string][]byte
	aside    map[string][]byte
	more     chan struct{}
	fail     func(kind byte) error // error of an append; one that says Stalled keeps the record
	appends  []byte                // kinds, in order
	reserved error                 // of AppendReserved

	unreadable map[record.Position]bool // ReadAt fails, for no reason that lasts
	hidden     bool                     // the backlog is not shown
	writes     int                      // of small files and Ack until they fail; -1: they do not
}

func newMemSpool() *memSpool {
	return &memSpool{
		meta: map[string][]byte{}, aside: map[string][]byte{}, corrupt: map[record.Position]bool{}, more: make(chan struct{}), writes: -1,
	}
}

func position(n int) record.Position {
	return record.Position{Segment: uint64(n/perSegment) + 1, Offset: int64(n % perSegment * 100)}
}

// endOf is where record n ends: in its own segment, as in the real spool.
func endOf(n int) record.Position {
	p := position(n)
	p.Offset += 100
	return p
}

func (s *memSpool) ID() string { return "mem" }

func (s *memSpool) Append(_ context.Context, kind byte, parts ...[]byte) (record.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.fail != nil {
		err = s.fail(kind)
	}
	if err != nil {
		if st, ok := err.(interface{ Stalled() bool }); !ok || !st.Stalled() {
			return record.Position{}, err
		}
	}
	return s.appendLocked(kind, parts), err
}

func (s *memSpool) AppendReserved(_ context.Context, kind byte, parts ...[]byte) (record.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reserved != nil {
		return record.Position{}, s.reserved
	}
	return s.appendLocked(kind, parts), nil
}

func (s *memSpool) appendLocked(kind byte, parts [][]byte) record.Position {
	n := s.next
	s.next++
	s.recs = append(s.recs, record.SpoolRecord{Pos: position(n), End: endOf(n), Kind: kind, Data: bytes.Join(parts, nil)})
	s.appends = append(s.appends, kind)
	close(s.more)
	s.more = make(chan struct{})
	return position(n)
}

func (s *memSpool) kinds() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.appends)
}

// raw is all bytes that were appended.
func (s *memSpool) raw() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []byte
	for _, r := range s.recs {
		all = append(all, r.Data...)
	}
	return all
}

func (s *memSpool) Reader(from record.Position) (capture.SpoolReader, error) {
	return &memReader{s: s, from: from}, nil
}

func (s *memSpool) ReadAt(pos record.Position) (record.SpoolRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.findLocked(pos)
	switch {
	case !ok:
		return record.SpoolRecord{}, fs.ErrNotExist
	case s.unreadable[pos]:
		return record.SpoolRecord{}, errReset
	case s.corrupt[pos]:
		return record.SpoolRecord{}, corruptError{pos}
	}
	r := s.recs[i]
	r.Data = bytes.Clone(r.Data)
	return r, nil
}

// findLocked is the index of the first record at or behind pos.
func (s *memSpool) findLocked(pos record.Position) (i int, exact bool) {
	return slices.BinarySearchFunc(s.recs, pos, func(r record.SpoolRecord, p record.Position) int { return r.Pos.Compare(p) })
}

func (s *memSpool) Acked() record.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

func (s *memSpool) Ack(pos, keepFrom record.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stoppedLocked() {
		return errReset
	}
	if pos.Compare(s.acked) < 0 || keepFrom.Compare(s.keep) < 0 || keepFrom.Compare(pos) > 0 {
		panic("ack goes backwards")
	}
	s.acked, s.keep = pos, keepFrom
	s.recs = slices.DeleteFunc(s.recs, func(r record.SpoolRecord) bool { return r.Pos.Segment < keepFrom.Segment })
	return nil
}

// stopAfter makes all writes but the next n fail, as those of a process that
// died do.
func (s *memSpool) stopAfter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = n
}

func (s *memSpool) stoppedLocked() bool {
	if s.writes > 0 {
		s.writes--
		return false
	}
	return s.writes == 0
}

// metaNames lists the small files.
func (s *memSpool) metaNames(prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.meta)), func(n string) bool { return !strings.HasPrefix(n, prefix) })
}

func (s *memSpool) SaveMeta(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stoppedLocked() {
		return errReset
	}
	s.meta[name] = bytes.Clone(data)
	return nil
}

func (s *memSpool) LoadMeta(name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.meta[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

func (s *memSpool) RemoveMeta(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stoppedLocked() {
		return errReset
	}
	delete(s.meta, name)
	return nil
}

func (s *memSpool) Quarantine(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aside[name] = bytes.Clone(data)
	return nil
}

func (s *memSpool) quarantined() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.aside))
}

func (s *memSpool) BacklogBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int64
	if s.hidden {
		return 0
	}
	for _, r := range s.recs {
		if r.Pos.Compare(s.acked) >= 0 {
			n += 100
		}
	}
	return n
}

// memReader reads a memSpool.
type memReader struct {
	s    *memSpool
	from record.Position
}

func (r *memReader) Next(ctx context.Context) (record.SpoolRecord, error) {
	for {
		r.s.mu.Lock()
		more := r.s.more
		if i, _ := r.s.findLocked(r.from); i < len(r.s.recs) {
			rec := r.s.recs[i]
			r.from = rec.End
			bad := r.s.corrupt[rec.Pos]
			r.s.mu.Unlock()
			if bad {
				return record.SpoolRecord{}, corruptError{rec.Pos}
			}
			return rec, nil
		}
		r.s.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return record.SpoolRecord{}, ctx.Err()
		}
	}
}

func (r *memReader) Close() error { return nil }

// spoolError is an error as the spool gives it.
type spoolError struct{ full, stalled, disk bool }

func (e spoolError) Error() string  { return "spool append" }
func (e spoolError) Full() bool     { return e.full }
func (e spoolError) Stalled() bool  { return e.stalled }
func (e spoolError) DiskFull() bool { return e.disk }

// corruptError is a record that does not check.
type corruptError struct{ pos record.Position }

func (e corruptError) Error() string { return "corrupt" }

func (e corruptError) Corrupt() (pos, end record.Position) {
	return e.pos, record.Position{Segment: e.pos.Segment, Offset: e.pos.Offset + 100}
}
