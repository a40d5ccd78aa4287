package spool

import (
	"errors"
	"runtime"
	"time"

	"docket/internal/record"
)

// active is the segment that is written. It is the writer's, once activated.
type active struct {
	seg    *segment
	file   segmentFile
	offset int64 // where the next record goes
	filled int64 // allocated ahead up to here
	broken bool  // not to be written any more

	runs  []run  // what is being written; kept for its memory
	piece []byte // of a large record; so is this
}

// newActive makes the file of segment number, filled ahead if there is room.
func (s *Spool) newActive(number uint64, fill int64) (*active, error) {
	file, err := createSegment(s.hooks.create, s.cfg.Dir, number, fill)
	if err != nil && fill > 0 {
		fill = 0
		file, err = createSegment(s.hooks.create, s.cfg.Dir, number, fill)
	}
	if err != nil {
		return nil, err
	}
	return &active{
		seg: &segment{
			number: number, path: segmentPath(s.cfg.Dir, number),
			seed: frameSeed(s.salt, number), end: segmentHeader,
		},
		file: file, offset: segmentHeader, filled: max(fill, segmentHeader),
	}, nil
}

// activateLocked makes a the segment that is written.
func (s *Spool) activateLocked(a *active) {
	s.active = a
	s.segments = append(s.segments, a.seg)
	s.unsynced = a.file
	s.used += segmentHeader
	s.room = a.filled - a.offset
	s.preparing = false
}

// write is the writer goroutine: it writes batch after batch until Close, and
// what is pending then.
func (s *Spool) write() {
	for {
		s.retire()
		b, end := s.take()
		switch {
		case end:
			return
		case b == nil:
			select {
			case <-s.kick:
			case <-s.stop:
			}
		default:
			s.writeBatch(b)
			s.finish(b)
		}
		// Let the goroutines that are ready to append do so first. Under
		// load this makes one write of a dozen records (see doc.go).
		runtime.Gosched()
	}
}

// take makes the pending batch the one in flight and arms the watchdog.
func (s *Spool) take() (b *batch, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b = s.pending
	if b == nil {
		s.idle = !s.closed
		return nil, s.closed
	}
	s.pending, s.inflight = nil, b
	s.lastLength = len(b.recs)
	b.takeLocked()
	if s.cfg.Sync == SyncAlways {
		return b, false
	}
	start := b.first
	if b.stalled {
		start = time.Now() // nobody waits for it, but for the next one
	}
	s.deadline = start.Add(s.cfg.MaxWait)
	if !s.armed {
		s.armed = true
		s.watchdog.Reset(time.Until(s.deadline))
	}
	return b, false
}

// writeBatch writes the records, each whole in one segment.
func (s *Spool) writeBatch(b *batch) {
	for from := 0; from < len(b.recs); {
		to := s.fit(b, from)
		var err error
		if to == from {
			err = s.rotate()
		} else {
			to, err = s.writeRecords(b, from, to)
			s.settle(b, from, to)
			from = to
		}
		if err != nil {
			s.fail(b, from, &AppendError{Reason: reasonOf(err), Err: err})
			return
		}
	}
}

// fit returns the end of the records from from on that fit into the active
// segment.
func (s *Spool) fit(b *batch, from int) int {
	room := int64(s.cfg.SegmentBytes) - s.active.offset
	if s.active.broken {
		room = 0
	}
	to := from
	for ; to < len(b.recs); to++ {
		if room -= int64(b.recs[to].size); room < 0 || s.active.broken {
			break
		}
	}
	return to
}

// writeRecords writes b.recs[from:to] at the end of the active segment. It
// returns the end of those that are written whole. After an error the file is
// cut behind the last of them, so that no half record lies before later ones.
func (s *Spool) writeRecords(b *batch, from, to int) (int, error) {
	a := s.active
	at := a.offset
	for i := from; i < to; i++ {
		r := &b.recs[i]
		if r.size > 0 {
			sealHeader(b.buf[r.at:], a.seg.seed, at)
		}
		r.pos = record.Position{Segment: a.seg.number, Offset: at}
		at += int64(r.size)
	}
	a.runs = b.runs(a.runs[:0], from, to)
	written, err := a.writeRuns()
	clear(a.runs)
	if err == nil && s.cfg.Sync == SyncAlways {
		if err = a.file.Sync(); err != nil {
			a.broken, written = true, 0
		}
	}
	if err == nil {
		a.offset = at
		return to, nil
	}
	for ; from < to && int64(b.recs[from].size) <= written; from++ {
		written -= int64(b.recs[from].size)
		a.offset += int64(b.recs[from].size)
	}
	if cut := a.file.Truncate(a.offset); cut != nil {
		a.broken, err = true, errors.Join(err, cut)
	}
	a.filled = a.offset
	return from, err
}

// writeRuns writes the runs one after the other at the active offset. Few calls
// are needed: what was copied into the batch is one run. A large payload is
// copied before it is written, since its caller may leave during the call.
func (a *active) writeRuns() (int64, error) {
	var written int64
	for _, r := range a.runs {
		if r.large == nil {
			if err := a.writeAt(r.bytes, &written); err != nil {
				return written, err
			}
			continue
		}
		for at := 0; at < r.large.length; at += pieceLimit {
			n := min(r.large.length-at, pieceLimit)
			if n > len(a.piece) {
				a.piece = make([]byte, pieceLimit)
			}
			r.large.piece(a.piece[:n], at)
			if err := a.writeAt(a.piece[:n], &written); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// writeAt writes p behind what was written since the active offset.
func (a *active) writeAt(p []byte, written *int64) error {
	n, err := a.file.WriteAt(p, a.offset+*written)
	*written += int64(n)
	if err != nil {
		a.broken = reasonOf(err) != ReasonNoSpace
	}
	return err
}

// settle publishes the written records from..to. A large one that was given up
// during the write becomes a void frame.
func (s *Spool) settle(b *batch, from, to int) {
	s.mu.Lock()
	b.through = to
	var void []*pendingRecord
	for i := from; i < to && len(b.large) > 0; i++ {
		if r := &b.recs[i]; r.large != nil && r.size > 0 && r.large.given {
			void = append(void, r)
		}
	}
	s.mu.Unlock()
	for _, r := range void {
		r.err = s.voidFrame(b.buf[r.at:r.at+frameHeader], r.pos.Offset)
	}
	s.mu.Lock()
	s.active.seg.end = s.active.offset
	s.room = max(0, s.active.filled-s.active.offset)
	s.publishLocked()
	s.mu.Unlock()
}

// voidFrame marks the frame at offset as one that readers pass over.
func (s *Spool) voidFrame(head []byte, offset int64) error {
	head[3] |= flagVoid
	sealHeader(head, s.active.seg.seed, offset)
	if _, err := s.active.file.WriteAt(head, offset); err != nil {
		return &AppendError{Reason: reasonOf(err), Err: err}
	}
	return nil
}

// fail gives all records from from on the same error.
func (s *Spool) fail(b *batch, from int, err *AppendError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := from; i < len(b.recs); i++ {
		b.recs[i].err = err
		s.used -= int64(b.recs[i].size)
	}
	b.through = len(b.recs)
	if err.Reason == ReasonNoSpace {
		s.pressed = true
	}
}

// publishLocked wakes the readers that wait for records.
func (s *Spool) publishLocked() {
	if s.published != nil {
		close(s.published)
		s.published = nil
	}
}

// finish counts the batch and releases its callers.
func (s *Spool) finish(b *batch) {
	var losses []Loss
	s.mu.Lock()
	s.inflight, s.stalled = nil, false
	s.queued -= b.queued
	for i := range b.recs {
		losses = s.countLocked(losses, b, &b.recs[i])
	}
	if cap(b.buf) <= 2*copiedLimit {
		s.spare = b.buf
	}
	s.wakeSyncerLocked()
	s.wakePreparerLocked()
	s.mu.Unlock()
	if !b.stalled { // nobody changes it any more
		close(b.ready)
	}
	for _, l := range losses {
		s.opts.Log.Warn("spool: lost a record after a stall", "kind", l.Kind, "bytes", l.Bytes, "reason", l.Reason)
		if s.opts.OnLost != nil {
			s.opts.OnLost(l)
		}
	}
}

// countLocked counts one finished record, and adds it to losses if its caller
// was told that it would still be written.
func (s *Spool) countLocked(losses []Loss, b *batch, r *pendingRecord) []Loss {
	if r.large != nil && r.large.given {
		return losses // counted when it was given up
	}
	if r.err == nil {
		s.stats.appends++
		return losses
	}
	reason := ReasonIO
	var failed *AppendError
	if errors.As(r.err, &failed) {
		reason = failed.Reason
	}
	if !r.left {
		s.stats.drops[reason]++
		return losses
	}
	s.stats.lost[reason]++
	return append(losses, Loss{Kind: b.buf[r.at+2], Bytes: r.size - frameHeader, Reason: reason})
}

// rotate seals the active segment and goes on in the next one.
func (s *Spool) rotate() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.prepared
	s.prepared = nil
	if next == nil {
		s.number++
		number := s.number
		s.mu.Unlock()
		var err error
		next, err = s.newActive(number, 0)
		s.mu.Lock()
		if err != nil {
			return err
		}
	}
	s.sealed = append(s.sealed, sealed{file: s.active.file, end: s.active.offset})
	s.activateLocked(next)
	return nil
}
