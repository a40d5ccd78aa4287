package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"docket/internal/record"
)

// open takes up the work where the last process, or an error, left it: it finds
// the exchanges that are open at the acknowledged position, and the batch that
// was being sent.
func (d *Drainer) open(ctx context.Context) error {
	acked := d.opts.Spool.Acked()
	t := newTracker()
	if err := d.scan(ctx, record.Position{}, acked, func(rec record.SpoolRecord) { t.next(rec) }, func(*CorruptError) {}); err != nil {
		return err
	}
	saved, ok, err := d.savedEdges(acked)
	if err != nil {
		return err
	}
	from := acked
	if ok {
		p := &plan{edges: saved, resumed: true}
		err := d.scan(ctx, saved.From, saved.To,
			func(rec record.SpoolRecord) { d.take(p, t, rec) },
			func(lost *CorruptError) { p.add(corruptRef(lost)) })
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
func (d *Drainer) scan(ctx context.Context, from, to record.Position, each func(record.SpoolRecord), lost func(*CorruptError)) error {
	reader, err := d.opts.Spool.Reader(from)
	if err != nil {
		return fmt.Errorf("read the spool: %w", err)
	}
	defer reader.Close()
	noWait, cancel := context.WithCancel(context.Background())
	cancel()
	for ctx.Err() == nil {
		rec, err := reader.Next(noWait)
		var corrupt *CorruptError
		switch {
		case errors.As(err, &corrupt):
			if corrupt.Pos.Compare(to) < 0 {
				lost(corrupt)
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
		return e, false, err
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

func corruptRef(lost *CorruptError) []ref {
	return []ref{{kind: refCorrupt, end: location{lost.Pos, lost.Bytes}}}
}
