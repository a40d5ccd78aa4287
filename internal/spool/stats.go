package spool

import (
	"maps"
	"time"

	"docket/internal/record"
)

// Stats is the state of a Spool. Counters count since Open.
type Stats struct {
	Bytes           int64             // of records on disk or about to be
	Backlog         int64             // of them, not acknowledged
	Queued          int64             // bytes in memory that wait for a stalled disk
	Segments        int               // files
	QuarantineBytes int64             // of the quarantine's files
	OldestUnacked   time.Time         // append of the first record not acknowledged; zero if there is none
	Appends         uint64            // records written
	Stalls          uint64            // appends that returned Stalled
	Drops           map[string]uint64 // appends that returned another error, by reason
	Lost            map[string]uint64 // records lost after their append returned Stalled, by reason
	SyncErrors      uint64            // failures to force records to disk
	Torn            int64             // bytes of torn records that Open cut off
}

// counters is the part of Stats that is counted.
type counters struct {
	appends, stalls, syncErrors uint64
	drops, lost                 map[string]uint64
	torn                        int64
}

// Stats reads the state. It reads one record's header from disk.
func (s *Spool) Stats() Stats {
	s.quarantine.mu.Lock()
	quarantined := s.quarantine.bytes
	s.quarantine.mu.Unlock()

	s.mu.Lock()
	st := Stats{
		Bytes: s.used, Queued: s.queued, Segments: len(s.segments), QuarantineBytes: quarantined,
		Appends: s.stats.appends, Stalls: s.stats.stalls, SyncErrors: s.stats.syncErrors, Torn: s.stats.torn,
		Drops: maps.Clone(s.stats.drops), Lost: maps.Clone(s.stats.lost),
	}
	for _, g := range s.segments {
		st.Backlog += max(0, g.end-s.behindLocked(g))
	}
	acked, closed := s.acked, s.closed
	s.mu.Unlock()
	if st.Backlog > 0 && !closed {
		st.OldestUnacked = s.timeOf(acked)
	}
	return st
}

// behindLocked is the offset in g up to which its records are acknowledged.
func (s *Spool) behindLocked(g *segment) int64 {
	switch {
	case g.number < s.acked.Segment:
		return g.end
	case g.number == s.acked.Segment:
		return max(s.acked.Offset, segmentHeader)
	}
	return segmentHeader
}

// timeOf is when the first record at or after pos was appended; zero if it
// cannot be read.
func (s *Spool) timeOf(pos record.Position) time.Time {
	r := Reader{s: s, pos: pos}
	defer r.Close()
	end, wait, err := r.locate()
	if err != nil || wait != nil {
		return time.Time{}
	}
	r.scan.ahead = frameHeader
	f, err := r.scan.header(r.pos.Offset, end)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(f.micros).UTC()
}
