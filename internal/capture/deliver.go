package capture

import (
	"context"
	"errors"
	"fmt"

	"docket/internal/record"
)

// fill reads on until the batch is full, or its time is over, or ctx ends.
func (d *Drainer) fill(ctx context.Context) error {
	if d.plan == nil {
		at := d.opts.Spool.Acked()
		d.plan = &plan{edges: edges{From: at, To: at, MaxBytes: int64(d.cfg.BatchBytes), MaxRows: d.cfg.BatchExchanges, Rules: d.rules.Version(), Compare: d.compare}}
	}
	p := d.plan
	timed := p.To != p.From
	for !p.full() {
		rec, err := d.reader.Next(ctx)
		var corrupt corruption
		switch {
		case errors.As(err, &corrupt):
			pos, end := corrupt.Corrupt()
			d.takeCorrupt(p, pos, end)
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read the spool: %w", err)
		default:
			d.take(p, d.tracker, rec)
		}
		if !timed {
			timed = true
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, d.cfg.BatchInterval)
			defer cancel()
		}
	}
	return nil
}

// deliver sends the batch and acknowledges it. When ctx ends in between it goes
// on, next time, with the piece that was not accepted.
func (d *Drainer) deliver(ctx context.Context) error {
	p := d.plan
	if err := ctx.Err(); err != nil {
		return err
	}
	if !d.fixed && len(p.refs) > 0 {
		p.FirstSent = d.opts.Clock().UTC()
		data, err := p.encode()
		if err != nil {
			return err
		}
		if err := d.opts.Spool.SaveMeta(edgesMeta, data); err != nil {
			return err
		}
	}
	d.fixed = true
	pieces := p.spans()
	for p.sent < len(pieces) {
		if err := d.send(ctx, p, pieces[p.sent]); err != nil {
			p.resumed = true
			return err
		}
		p.sent++
	}
	if err := d.acknowledge(p); err != nil {
		return fmt.Errorf("acknowledge the batch: %w", err)
	}
	return nil
}

// acknowledge lets the spool forget the batch, in the order that carry.go
// explains.
func (d *Drainer) acknowledge(p *plan) error {
	if err := d.carryOld(p.To); err != nil {
		return err
	}
	keep := d.tracker.keepFrom(p.To)
	for _, r := range p.refs {
		if r.open.carried {
			d.ended = append(d.ended, r.open.id)
			keep = minPosition(keep, p.From)
		}
	}
	if err := d.opts.Spool.Ack(p.To, keep); err != nil {
		return err
	}
	d.acked.Add(p.records)
	ended := d.ended
	d.ended = nil
	return d.dropCarried(ended)
}

func minPosition(a, b record.Position) record.Position {
	if b.Compare(a) < 0 {
		return b
	}
	return a
}

// send delivers one piece, and tries again until it is stored or ctx ends. A
// piece that the sink refuses is halved; a single row that it refuses goes into
// quarantine.
func (d *Drainer) send(ctx context.Context, p *plan, s span) error {
	b, err := d.build(ctx, p, s)
	if err != nil {
		return err
	}
	err = d.store(ctx, b, p.resumed)
	switch {
	case err == nil:
		d.metrics.stored.Add(float64(len(b.Inferences)))
		return nil
	case !isRefused(err):
		return err
	case s.hi-s.lo == 1:
		return d.quarantine(ctx, p, b, err)
	}
	mid := s.lo + (s.hi-s.lo)/2
	if err := d.send(ctx, p, span{s.lo, mid}); err != nil {
		return err
	}
	return d.send(ctx, p, span{mid, s.hi})
}

// store writes a batch, again and again until the sink accepts or refuses it.
func (d *Drainer) store(ctx context.Context, b record.Batch, resumed bool) error {
	wait := backoff{}
	b.Resend = resumed
	if !resumed {
		d.export(b.Spans)
	}
	for {
		attempt, cancel := context.WithTimeout(ctx, writeTimeout)
		err := d.opts.Sink.Write(attempt, b)
		cancel()
		if err == nil {
			d.metrics.batches.Inc()
			d.quiet.recovered("storing works again")
			return nil
		}
		if isRefused(err) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("store batch %s: %w", b.Token, errors.Join(ctx.Err(), err))
		}
		d.metrics.retries.Inc()
		d.quiet.warn("batch not stored, trying again", err)
		b.Resend = true
		wait.sleep(ctx)
	}
}

func isRefused(err error) bool {
	var refused interface{ Refused() bool }
	return errors.As(err, &refused) && refused.Refused()
}

// quarantine puts the row of a batch of one aside, and stores the gap in its
// stead.
func (d *Drainer) quarantine(ctx context.Context, p *plan, b record.Batch, cause error) error {
	gap := record.Gap{Time: p.FirstSent, Reason: record.GapPoisonRow, Count: 1, Detail: bounded(cause.Error(), maxDetailBytes)}
	name, kept := b.Token, "it is in quarantine"
	for i, inf := range b.Inferences {
		gap.Time, gap.Instance, gap.Project = inf.Time, inf.Instance, inf.Project
		gap.Bytes = inf.RequestBytes + inf.ResponseBytes
		name = inf.ID
		if err := d.keepAside(b, i, cause); err != nil {
			kept = "and it could not be put into quarantine: " + err.Error()
		}
	}
	d.metrics.refused.Inc()
	d.quiet.warn("the store refuses a row for good; "+kept, fmt.Errorf("%s: %w", name, cause))
	if len(b.Inferences) == 0 {
		return nil // a gap record: counted in the metric, nothing more can be done
	}
	err := d.store(ctx, record.Batch{Token: b.Token + ":refused", FirstSent: p.FirstSent, Gaps: []record.Gap{gap}}, p.resumed)
	if err != nil && !isRefused(err) {
		return err
	}
	return nil
}
