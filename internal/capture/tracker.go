package capture

import (
	"bytes"
	"errors"
	"slices"

	"github.com/google/uuid"

	"docket/internal/record"
)

// location is where a record lies, and how long it is. The zero location is
// none.
type location struct {
	pos  record.Position
	size int64
	part int // not in the spool, but this part of the exchange's file, from 1; see carry.go
}

func (l location) isZero() bool { return l == location{} }

// openExchange is an exchange without an end, by where its records lie.
type openExchange struct {
	id                   uuid.UUID
	life                 uint64
	begin, request, done location
	carried              bool // it has a file of its own, which holds some of these
}

// has says whether the exchange's file holds the record of that kind, of which
// there is at most one. A crash may have come between index and file.
func (o openExchange) has(kind byte) bool {
	at := map[byte]location{KindBegin: o.begin, KindRequest: o.request, KindDone: o.done}[kind]
	return at.part > 0 && at.size > 0
}

// oldest is the first position in the spool that is needed for the exchange.
func (o openExchange) oldest() (pos record.Position, ok bool) {
	for _, at := range []location{o.begin, o.request, o.done} {
		if at.isZero() || at.part > 0 {
			continue
		}
		if !ok || at.pos.Compare(pos) < 0 {
			pos, ok = at.pos, true
		}
	}
	return pos, ok
}

// Kinds of rows.
type refKind byte

const (
	refExchange refKind = iota
	refGaps             // a gap record
	refCorrupt          // a stretch that cannot be read
)

// ref is one thing to be stored, by where it lies.
type ref struct {
	kind refKind
	open openExchange
	end  location // the end record; zero: it died. The gap record or corrupt stretch of the other kinds
}

// rowBytes is about what the rows of an exchange take in memory beside its
// bodies.
const rowBytes = 2 << 10

// bytes is what a ref counts for in the limits of a batch.
func (r ref) bytes() int64 {
	return rowBytes + r.open.begin.size + r.open.request.size + r.open.done.size + r.end.size
}

// tracker follows the exchanges through the spool. What it returns depends on
// the records alone.
type tracker struct {
	open map[uuid.UUID]openExchange
}

func newTracker() *tracker { return &tracker{open: make(map[uuid.UUID]openExchange)} }

// next takes the next record and returns the rows that it completes.
func (t *tracker) next(rec record.SpoolRecord) []ref {
	at := location{pos: rec.Pos, size: int64(len(rec.Data))}
	if rec.Kind == KindGap {
		return []ref{{kind: refGaps, end: at}}
	}
	head, _, err := splitRecord(rec.Data)
	if err != nil {
		return []ref{{kind: refCorrupt, end: at}}
	}
	if rec.Kind == KindBoot {
		return t.boot(head)
	}
	id, err := firstID(head)
	if err != nil {
		return []ref{{kind: refCorrupt, end: at}}
	}
	o, known := t.open[id]
	switch {
	case known && o.carried && o.has(rec.Kind): // its file has it: the spool need not keep it
	case rec.Kind == KindBegin:
		t.open[id] = openExchange{id: id, life: lifeOf(head), begin: at}
	case !known: // its begin is lost, or it is stored already
	case rec.Kind == KindRequest:
		o.request = at
		t.open[id] = o
	case rec.Kind == KindDone:
		o.done = at
		t.open[id] = o
	case rec.Kind == KindEnd:
		delete(t.open, id)
		return []ref{{open: o, end: at}}
	}
	return nil
}

// boot ends the exchanges of other lives, in the order of their ids, which is that of time.
func (t *tracker) boot(head []byte) []ref {
	life := lifeOf(head)
	var died []ref
	for id, o := range t.open {
		if o.life != life {
			died = append(died, ref{open: o})
			delete(t.open, id)
		}
	}
	slices.SortFunc(died, func(a, b ref) int { return bytes.Compare(a.open.id[:], b.open.id[:]) })
	return died
}

// keepFrom is the oldest position that is still needed, or to.
func (t *tracker) keepFrom(to record.Position) record.Position {
	for _, o := range t.open {
		if pos, ok := o.oldest(); ok && pos.Compare(to) < 0 {
			to = pos
		}
	}
	return to
}

var errFound = errors.New("found")

// lifeOf reads which process wrote a begin or boot record.
func lifeOf(head []byte) (life uint64) {
	// It is the second field, behind the id.
	_ = eachField(head[:min(len(head), 48)], func(f field) error {
		if f.tag == tagLife {
			life = f.num
			return errFound
		}
		return nil
	})
	return life
}
