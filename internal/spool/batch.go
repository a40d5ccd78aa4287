package spool

import (
	"time"

	"docket/internal/record"
)

// copyLimit is the largest record that Append copies into the batch, and
// copiedLimit how much a batch copies in all. What is larger stays with its
// caller, who waits anyway.
const (
	copyLimit   = 16 << 10
	copiedLimit = 1 << 20
)

// batch is a group of records that is written together. Until the writer takes
// it, the Spool's mutex guards it; then it is the writer's. A caller may read
// its record's result once ready is closed, if stalled is false.
type batch struct {
	ready chan struct{} // closed when written, or when the wait is over
	first time.Time     // when the first record came
	buf   []byte        // headers, and the payloads that were copied
	recs  []pendingRecord
	large []*largeRecord // of recs, those not copied

	stalled bool  // ready was closed before the records were written (mutex)
	through int   // the records before this one have their result (mutex)
	queued  int64 // what the batch adds to Spool.queued (mutex)
}

// pendingRecord is a record of a batch.
type pendingRecord struct {
	at    int // its header in buf
	size  int // header and payload; 0 when it is not to be written
	large *largeRecord
	left  bool            // the caller was told that it stalled (mutex)
	pos   record.Position // result
	err   error           // result
}

// largeRecord is a payload that was not copied into the batch. The mutex
// guards all but parts.
type largeRecord struct {
	parts  [][]byte // the caller's
	copied []byte   // set when the caller went away before the write ended
	given  bool     // given up: not to be written
	taken  bool     // the writer has decided what to write
	stable bool     // what it decided to write is the copy
}

// add puts a record in; sum is the payload's checksum.
func (b *batch) add(kind byte, parts [][]byte, length int, sum uint32) int {
	r := pendingRecord{at: len(b.buf), size: frameHeader + length}
	var head [frameHeader]byte
	putHeader(head[:], kind, 0, length, b.first.UnixMicro(), sum)
	b.buf = append(b.buf, head[:]...)
	if length > copyLimit || len(b.buf)+length > copiedLimit {
		r.large = &largeRecord{parts: parts}
		b.large = append(b.large, r.large)
	} else {
		for _, p := range parts {
			b.buf = append(b.buf, p...)
		}
	}
	b.recs = append(b.recs, r)
	return len(b.recs) - 1
}

// takeLocked fixes what is written of the large records: the copy if the
// caller is gone already, nothing if it was given up.
func (b *batch) takeLocked() {
	for i := range b.recs {
		l := b.recs[i].large
		if l == nil {
			continue
		}
		l.taken = true
		if l.copied != nil {
			l.parts, l.stable = [][]byte{l.copied}, true
		}
		if l.given {
			b.recs[i].size = 0
		}
	}
}

// runs appends to list the bytes of the records from..to, in order.
func (b *batch) runs(list [][]byte, from, to int) [][]byte {
	start, end := 0, 0 // of the run of buf that is being collected
	flush := func() {
		if end > start {
			list = append(list, b.buf[start:end])
		}
	}
	for i := from; i < to; i++ {
		r := &b.recs[i]
		if r.size == 0 {
			continue
		}
		if r.at != end {
			flush()
			start = r.at
		}
		if r.large == nil {
			end = r.at + r.size
			continue
		}
		end = r.at + frameHeader
		flush()
		for _, p := range r.large.parts {
			if len(p) > 0 {
				list = append(list, p)
			}
		}
		start = end
	}
	flush()
	return list
}
