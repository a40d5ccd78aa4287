package spool

import (
	"bytes"
	"context"
	"errors"
	"syscall"
	"time"

	"docket/internal/record"
)

// reserve is what AppendReserved may use beyond max_bytes.
const reserve = 64 << 10

// Append writes one record, the concatenation of parts, and returns where it
// is. When it returns nil, the record is in the page cache and survives the
// death of the process; with sync: always it is on disk.
//
// After max_wait Append returns an AppendError with Stalled: the record is
// queued in memory. With sync: always there is no such bound; instead ctx ends
// the wait, with the same error. Otherwise ctx is not looked at, since a
// record is worth the same when its client has gone. Any other error means
// that the record is not kept. Parts may be used again as soon as Append
// returns.
func (s *Spool) Append(ctx context.Context, kind byte, parts ...[]byte) (record.Position, error) {
	return s.append(ctx, kind, parts, 0)
}

// AppendReserved is Append for the few small records that say what was lost:
// they go in although the quota is used up or the disk is low. On a full disk
// they cost the ballast.
func (s *Spool) AppendReserved(ctx context.Context, kind byte, parts ...[]byte) (record.Position, error) {
	pos, err := s.append(ctx, kind, parts, reserve)
	var full *AppendError
	if errors.As(err, &full) && full.Reason == ReasonNoSpace && s.dropBallast() {
		return s.append(ctx, kind, parts, reserve)
	}
	return pos, err
}

func (s *Spool) append(ctx context.Context, kind byte, parts [][]byte, extra int64) (record.Position, error) {
	length := 0
	for _, p := range parts {
		length += len(p)
	}
	sum := payloadSum(parts)

	s.mu.Lock()
	if err := s.admitLocked(int64(length), extra); err != nil {
		s.mu.Unlock()
		return record.Position{}, err
	}
	b := s.pending
	if b == nil {
		b = s.newBatchLocked()
	}
	i := b.add(kind, parts, length, sum)
	large := b.recs[i].large
	if b.stalled && large == nil {
		s.queueLocked(b, int64(frameHeader+length))
	}
	wake := s.idle
	s.idle = false
	s.mu.Unlock()
	if wake {
		s.kick <- struct{}{} // has room: idle is set once per receive
	}
	return s.wait(ctx, b, i, large)
}

// admitLocked counts a record in, or says why it cannot be.
func (s *Spool) admitLocked(length, extra int64) error {
	size := frameHeader + length
	reason := ""
	switch {
	case s.closed:
		return ErrClosed
	case segmentHeader+size > int64(s.cfg.SegmentBytes):
		reason = ReasonTooLarge
	case s.used+size > int64(s.cfg.MaxBytes)+extra:
		reason = ReasonQuota
	case s.lowDisk && extra == 0:
		reason = ReasonMinFree
		s.wakeSyncerLocked() // it looks again
	case s.stalled && s.queued+size > int64(s.cfg.QueueBytes),
		s.queued > int64(s.cfg.QueueBytes):
		reason = ReasonQueue
	}
	if reason != "" {
		s.stats.drops[reason]++
		return &AppendError{Reason: reason}
	}
	s.used += size
	return nil
}

// newBatchLocked starts the pending batch. While the disk stalls nobody waits
// for it.
func (s *Spool) newBatchLocked() *batch {
	b := &batch{
		ready: make(chan struct{}),
		first: time.Now(),
		recs:  make([]pendingRecord, 0, s.lastLength+1),
		buf:   s.spare[:0],
	}
	s.spare = nil
	if s.stalled {
		s.releaseLocked(b)
	}
	s.pending = b
	return b
}

// wait returns the result of record i of b.
func (s *Spool) wait(ctx context.Context, b *batch, i int, large *largeRecord) (record.Position, error) {
	var cause error
	if s.cfg.Sync == SyncAlways {
		select {
		case <-b.ready:
		case <-ctx.Done():
			cause = context.Cause(ctx)
		}
	} else {
		<-b.ready
	}
	if cause == nil && !b.stalled {
		return b.recs[i].pos, b.recs[i].err
	}
	if large != nil {
		return s.leaveLarge(b, i, large, cause)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < b.through {
		return b.recs[i].pos, b.recs[i].err
	}
	if !b.stalled { // a stalled batch is counted as a whole
		s.queueLocked(b, int64(b.recs[i].size))
	}
	b.recs[i].left = true
	s.stats.stalls++
	return record.Position{}, &AppendError{Reason: ReasonStalled, Err: cause}
}

// leaveLarge lets the caller of a large record go before it is written: the
// payload is copied into the queue, if there is room.
func (s *Spool) leaveLarge(b *batch, i int, large *largeRecord, cause error) (record.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < b.through {
		return b.recs[i].pos, b.recs[i].err
	}
	size := int64(frameHeader + large.length)
	if s.queued+size > int64(s.cfg.QueueBytes) {
		large.given = true
		large.leave()
		if !large.taken {
			s.used -= size // else its room is used up, by a void frame
		}
		s.stats.drops[ReasonQueue]++
		return record.Position{}, &AppendError{Reason: ReasonQueue, Err: cause}
	}
	s.queueLocked(b, size)
	s.mu.Unlock()
	large.leave(bytes.Join(large.parts, nil)) // only the caller changes parts, and the caller is here
	s.mu.Lock()
	if i < b.through {
		return b.recs[i].pos, b.recs[i].err
	}
	b.recs[i].left = true
	s.stats.stalls++
	return record.Position{}, &AppendError{Reason: ReasonStalled, Err: cause}
}

// queueLocked counts bytes whose caller does not wait for them any more.
func (s *Spool) queueLocked(b *batch, size int64) {
	b.queued += size
	s.queued += size
}

// stall is the watchdog's: it lets the callers go on when the write in flight
// has not ended by its deadline.
func (s *Spool) stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	if s.inflight == nil {
		return
	}
	if wait := time.Until(s.deadline); wait > 0 {
		s.armed = true
		s.watchdog.Reset(wait)
		return
	}
	s.stalled = true
	s.releaseLocked(s.inflight)
	if s.pending != nil {
		s.releaseLocked(s.pending)
	}
}

// releaseLocked ends the wait of a batch's callers before its write has ended.
func (s *Spool) releaseLocked(b *batch) {
	if b.stalled {
		return
	}
	b.stalled = true
	for i := range b.recs {
		if b.recs[i].large == nil && !b.recs[i].left {
			s.queueLocked(b, int64(b.recs[i].size))
		}
	}
	close(b.ready)
}

// reasonOf tells a full disk from a broken one.
func reasonOf(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return ReasonNoSpace
	}
	return ReasonIO
}
