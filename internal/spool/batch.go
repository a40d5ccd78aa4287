package spool

import (
	"sync"
	"time"

	"docket/internal/record"
)

// copyLimit is the largest record that Append copies into the batch, and
// copiedLimit how much a batch copies in all. What is larger stays with its
// caller, who waits anyway, until the writer copies it piece by piece.
const (
	copyLimit   = 16 << 10
	copiedLimit = 1 << 20
	pieceLimit  = 256 << 10
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

// largeRecord is a payload that was not copied into the batch.
type largeRecord struct {
	length int
	given  bool // given up: not to be written (the Spool's mutex)
	taken  bool // the writer has decided what to write (the Spool's mutex)

	mu    sync.Mutex // guards parts; taken after the Spool's
	parts [][]byte   // the caller's; when he has left, a copy, or nothing if it was given up
}

// leave puts a copy in the place of the caller's bytes, which are not read any
// more when it returns.
func (l *largeRecord) leave(parts ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parts = parts
}

// piece copies the payload from offset at into p, as far as there is any; the
// rest is zero.
func (l *largeRecord) piece(p []byte, at int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, part := range l.parts {
		if at >= len(part) {
			at -= len(part)
			continue
		}
		n := copy(p, part[at:])
		p, at = p[n:], 0
	}
	clear(p)
}

// add puts a record in; sum is the payload's checksum.
func (b *batch) add(kind byte, parts [][]byte, length int, sum uint32) int {
	r := pendingRecord{at: len(b.buf), size: frameHeader + length}
	var head [frameHeader]byte
	putHeader(head[:], kind, 0, length, b.first.UnixMicro(), sum)
	b.buf = append(b.buf, head[:]...)
	if length > copyLimit || len(b.buf)+length > copiedLimit {
		r.large = &largeRecord{length: length, parts: parts}
		b.large = append(b.large, r.large)
	} else {
		for _, p := range parts {
			b.buf = append(b.buf, p...)
		}
	}
	b.recs = append(b.recs, r)
	return len(b.recs) - 1
}

// takeLocked fixes what is written: not the large records that were given up.
func (b *batch) takeLocked() {
	for _, l := range b.large {
		l.taken = true
	}
	for i := range b.recs {
		if l := b.recs[i].large; l != nil && l.given {
			b.recs[i].size = 0
		}
	}
}

// run is what is written at once: bytes of a batch's buf, or a large payload.
type run struct {
	bytes []byte
	large *largeRecord
}

// runs appends to list the records from..to, in order.
func (b *batch) runs(list []run, from, to int) []run {
	start, end := 0, 0 // of the run of buf that is being collected
	flush := func() {
		if end > start {
			list = append(list, run{bytes: b.buf[start:end]})
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
		list = append(list, run{large: r.large})
		start = end
	}
	flush()
	return list
}
