package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"docket/internal/record"
)

// maxUnreadable is how often a batch that cannot be read is tried, over some
// minutes, before what cannot be read is given up and counted.
const maxUnreadable = 10

// exchange is all that the spool holds of one exchange.
type exchange struct {
	begin    beginHead
	end      endHead // of the end record, else of the done record, else empty
	ended    bool    // there is an end record
	request  []byte
	sent     bodyInfo // what is known of the request body
	response []byte

	unsearched bool // a body is left out, as rules could not be applied to it
}

// state is the terminal state.
func (x *exchange) state() string {
	switch {
	case x.ended:
		return x.end.State
	case x.end.EndEvent:
		return record.StateComplete
	default:
		return record.StateProxyDied
	}
}

// build reads the rows of one piece of a batch from the spool.
func (d *Drainer) build(ctx context.Context, p *plan, s span) (record.Batch, error) {
	n := s.hi - s.lo
	b := record.Batch{
		Token: p.token(d.opts.Spool.ID(), s), FirstSent: p.FirstSent, Piece: n < len(p.refs) || p.Compare,
		Inferences: make([]record.Inference, 0, n), Bodies: make([]record.Body, 0, n), Spans: make([]record.Span, 0, 2*n),
	}
	var links []pending
	for _, r := range p.refs[s.lo:s.hi] {
		err := d.addRef(&b, &links, r)
		switch {
		case err == nil:
		case isLost(err) || d.unreadable >= maxUnreadable:
			d.metrics.corrupt.Inc()
			b.Gaps = append(b.Gaps, record.Gap{
				Time: p.FirstSent, Reason: record.GapCorrupt, Count: 1, Bytes: uint64(r.bytes()), Detail: err.Error(),
			})
		default:
			d.unreadable++
			return b, fmt.Errorf("read a batch from the spool: %w", err)
		}
	}
	d.unreadable = 0
	return b, d.link(ctx, &b, links)
}

// isLost says whether a record can never be read.
func isLost(err error) bool {
	var corrupt corruption
	return errors.As(err, &corrupt) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errMalformed)
}

func (d *Drainer) addRef(b *record.Batch, links *[]pending, r ref) error {
	switch r.kind {
	case refCorrupt:
		return corruptStretch{r.end}
	case refGaps:
		rec, err := d.opts.Spool.ReadAt(r.end.pos)
		if err != nil {
			return err
		}
		gaps, err := decodeGaps(rec.Data)
		if err != nil {
			return fmt.Errorf("%w: gaps: %w", errMalformed, err)
		}
		d.redactGaps(gaps)
		b.Gaps = append(b.Gaps, gaps...)
		return nil
	}
	x, err := d.load(r)
	if err != nil {
		return err
	}
	d.addExchange(b, links, x)
	return nil
}

// load reads the records of one exchange.
func (d *Drainer) load(r ref) (*exchange, error) {
	x := &exchange{}
	o := &r.open
	rest, err := d.read(o, o.begin, x.begin.read)
	if err != nil {
		return nil, err
	}
	x.sent = x.begin.Request
	if x.sent.Present {
		x.request = rest
	}
	if !o.request.isZero() {
		var h requestHead
		if x.request, err = d.read(o, o.request, h.read); err != nil {
			return nil, err
		}
		x.sent = h.Request
	}
	if !o.done.isZero() {
		if x.response, err = d.read(o, o.done, x.end.read); err != nil {
			return nil, err
		}
	}
	if r.end.isZero() {
		return x, nil
	}
	return x, d.loadEnd(x, o, r.end)
}

func (d *Drainer) loadEnd(x *exchange, o *openExchange, at location) error {
	done := x.end
	x.end, x.ended = endHead{}, true
	rest, err := d.read(o, at, x.end.read)
	if err != nil {
		return err
	}
	if x.end.Headers == nil { // an end that had to be appended without them
		x.end.Headers = done.Headers
	}
	if n := x.end.RequestLen; n > 0 && n <= len(rest) {
		x.request, rest = rest[:n:n], rest[n:]
	}
	x.sent = x.end.Request
	if len(x.response) == 0 {
		x.response = rest
	} else if len(rest) > 0 {
		x.response = append(x.response[:len(x.response):len(x.response)], rest...)
	}
	return nil
}

// read returns what lies behind the head of a record.
func (d *Drainer) read(o *openExchange, at location, head func([]byte) error) ([]byte, error) {
	data, err := d.readRaw(o, at)
	if err != nil {
		return nil, err
	}
	h, rest, err := splitRecord(data)
	if err != nil {
		return nil, err
	}
	return rest, head(h)
}

// duration of the exchange; 0 when nobody saw its end.
func (x *exchange) duration() time.Duration {
	if x.end.Duration > 0 || !x.end.EndEvent {
		return x.end.Duration
	}
	return max(x.end.Time.Sub(x.begin.Time), 0)
}
