package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/google/uuid"

	"docket/internal/record"
)

// open takes up the work where the last process, or an error, left it: it finds
// the exchanges that are open at the acknowledged position, and the batch that
// was being sent.
func (d *Drainer) open(ctx context.Context) error {
	acked := d.opts.Spool.Acked()
	t := newTracker()
	old, err := d.loadCarried(t)
	if err != nil {
		return fmt.Errorf("read the open exchanges: %w", err)
	}
	if err := d.scan(ctx, record.Position{}, acked, func(rec record.SpoolRecord) { t.next(rec) }, func(_, _ record.Position) {}); err != nil {
		return err
	}
	d.ended = slices.DeleteFunc(old, func(id uuid.UUID) bool { _, open := t.open[id]; return open })
	saved, ok, err := d.savedEdges(acked)
	if err != nil {
		return err
	}
	from := acked
	if ok {
		p := &plan{edges: saved, resumed: true}
		err := d.scan(ctx, saved.From, saved.To,
			func(rec record.SpoolRecord) { d.take(p, t, rec) },
			func(pos, end record.Position) { d.takeCorrupt(p, pos, end) })
		if err != nil {
			return err
		}
		d.plan, d.fixed, from = p, true, saved.To
	}
	reader, err := d.opts.Spool.Reader(from)
	if err != nil {
		return fmt.Errorf("read the spool: %w", err)
	}
	d.tracker, d.reader = t, reader
	return nil
}

// scan reads the records from one position to another, as far as they are
// there.
func (d *Drainer) scan(ctx context.Context, from, to record.Position, each func(record.SpoolRecord), lost func(from, to record.Position)) error {
	reader, err := d.opts.Spool.Reader(from)
	if err != nil {
		return fmt.Errorf("read the spool: %w", err)
	}
	defer reader.Close()
	noWait, cancel := context.WithCancel(context.Background())
	cancel()
	for ctx.Err() == nil {
		rec, err := reader.Next(noWait)
		var corrupt corruption
		switch {
		case errors.As(err, &corrupt):
			if pos, end := corrupt.Corrupt(); pos.Compare(to) < 0 {
				lost(pos, end)
			}
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return fmt.Errorf("read the spool: %w", err)
		case rec.Pos.Compare(to) >= 0:
			return nil
		default:
			each(rec)
		}
	}
	return ctx.Err()
}

// savedEdges are those of a batch that starts at acked and was never
// acknowledged.
func (d *Drainer) savedEdges(acked record.Position) (edges, bool, error) {
	data, err := d.opts.Spool.LoadMeta(edgesMeta)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return edges{}, false, fmt.Errorf("read the open batch: %w", err)
	}
	if len(data) == 0 {
		return edges{}, false, nil
	}
	e, err := decodeEdges(data)
	if err != nil {
		d.opts.Log.Warn("the open batch is not known any more; rows are compared with what is stored", "error", err)
		d.compare = true
		return edges{}, false, nil
	}
	if e.Rules != d.rules.Version() { // other rules make rows of other sizes, and so other edges of inserts
		e.Compare = true
	}
	return e, e.From == acked && e.To.Compare(acked) > 0, nil
}

// take adds one record to a plan.
func (d *Drainer) take(p *plan, t *tracker, rec record.SpoolRecord) {
	p.add(t.next(rec))
	p.To = maxPosition(p.To, rec.End)
	if r := d.opts.Recorder; r != nil && r.ofThisLife(rec.Pos) {
		p.records++
	}
}

func maxPosition(a, b record.Position) record.Position {
	if a.Compare(b) < 0 {
		return b
	}
	return a
}

// takeCorrupt adds a stretch that cannot be read to a plan.
func (d *Drainer) takeCorrupt(p *plan, pos, end record.Position) {
	p.add([]ref{{kind: refCorrupt, end: location{pos: pos, size: max(end.Offset-pos.Offset, 0)}}})
	p.To = maxPosition(p.To, end)
	if r := d.opts.Recorder; r != nil && r.ofThisLife(pos) {
		p.records++
	}
}

// corruption is an error that tells which part of the spool is lost.
type corruption interface {
	error
	Corrupt() (pos, end record.Position)
}

// corruptStretch is such an error.
type corruptStretch struct{ location }

func (e corruptStretch) Error() string {
	return fmt.Sprintf("%d bytes at %v of the spool are corrupt", e.size, e.pos)
}

func (e corruptStretch) Corrupt() (pos, end record.Position) {
	return e.pos, record.Position{Segment: e.pos.Segment, Offset: e.pos.Offset + e.size}
}
