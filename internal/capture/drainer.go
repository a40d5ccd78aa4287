package capture

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"docket/internal/price"
	"docket/internal/redact"
)

const (
	minBackoff   = 200 * time.Millisecond
	maxBackoff   = 30 * time.Second
	writeTimeout = time.Minute // of one attempt to store a batch
	logInterval  = 30 * time.Second
)

// DrainerOptions are what the wiring gives a Drainer.
type DrainerOptions struct {
	Spool    Spool
	Sink     Sink
	Exporter SpanExporter // nil: no OTLP export
	Prices   *price.Table // nil: that of the settings

	// Conversations are those of other proxies and of earlier processes; nil:
	// only calls that this Drainer has seen are linked.
	Conversations Conversations

	Recorder   *Recorder // of the same spool, for the backlog metric; may be nil
	Clock      func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Version    string // of Docket, on spans
}

// Drainer turns the spool into records and delivers them.
type Drainer struct {
	cfg     Config
	opts    DrainerOptions
	metrics *drainerMetrics
	acked   atomic.Int64 // spool records of this life that are delivered
	exports sync.WaitGroup
	busy    atomic.Bool // an export is on its way
	quiet   quietLog

	// The rest belongs to whoever runs Run or Flush.
	tracker *tracker
	reader  SpoolReader
	plan    *plan // being filled or delivered; nil between batches
	fixed   bool  // its edges are saved
	compare bool  // the edges of an open batch are lost

	ended      []uuid.UUID // exchanges whose files can go
	unreadable int         // failed attempts to read the batch
	linker     *linker
	rules      *redact.Rules // nil when nothing is redacted
	unruly     error         // why the rules cannot be applied: then nothing is delivered

	lastResource map[string]string
}

// NewDrainer returns a Drainer. There is one per spool.
func NewDrainer(cfg Config, opts DrainerOptions) *Drainer {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Prices == nil {
		prices, err := price.New(cfg.Price)
		if err != nil {
			opts.Log.Error("costs are not recorded", "error", err)
		}
		opts.Prices = prices
	}
	d := &Drainer{cfg: cfg, opts: opts}
	d.rules, d.unruly = redact.NewRules(cfg.Redact)
	d.linker = newLinker(d.rules.Key())
	d.quiet = quietLog{log: opts.Log, clock: opts.Clock, every: logInterval}
	d.metrics = newDrainerMetrics(opts.Registerer, d)
	return d
}

// Run delivers until ctx ends, and then returns nil. Whatever goes wrong is
// tried again. What it was doing is taken up by Flush, or by the next process.
func (d *Drainer) Run(ctx context.Context) error {
	wait := backoff{}
	for ctx.Err() == nil {
		err := d.step(ctx, ctx)
		if err == nil || ctx.Err() != nil {
			wait = backoff{}
			continue
		}
		d.quiet.warn("draining the spool", err)
		d.reset()
		wait.sleep(ctx)
	}
	return nil
}

// Flush delivers what is in the spool now, after Run has returned and nothing
// is appended any more. It returns an error when ctx ends before that is done:
// the rest stays in the spool for the next start.
func (d *Drainer) Flush(ctx context.Context) error {
	defer d.close()
	noWait, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		before := d.opts.Spool.Acked()
		if err := d.step(ctx, noWait); err != nil {
			return fmt.Errorf("deliver the rest of the spool (%d bytes are left for the next start): %w", d.opts.Spool.BacklogBytes(), err)
		}
		if d.opts.Spool.Acked() == before {
			return nil
		}
	}
}

// close waits for exports and ends the reading.
func (d *Drainer) close() {
	d.exports.Wait()
	d.reset()
}

// reset forgets what is known of the spool: the next step reads it anew.
func (d *Drainer) reset() {
	if d.reader != nil {
		if err := d.reader.Close(); err != nil {
			d.quiet.warn("closing the reader of the spool", err)
		}
	}
	d.reader, d.tracker, d.plan, d.fixed, d.ended = nil, nil, nil, false, nil
}

// Backlog is how many spool records are not delivered yet, the open batch
// included. It is 0 only when everything that ended is stored. Records of
// earlier processes count as one while there are any.
func (d *Drainer) Backlog() int64 {
	var n int64
	if d.opts.Recorder != nil {
		n = d.opts.Recorder.appended.Load() - d.acked.Load()
	}
	if n <= 0 && d.opts.Spool.BacklogBytes() > 0 {
		return 1
	}
	return max(n, 0)
}

// step delivers one batch. Reading waits for records until read ends, sending
// until ctx ends.
func (d *Drainer) step(ctx, read context.Context) error {
	if d.unruly != nil {
		return fmt.Errorf("capture.redact.%w", d.unruly)
	}
	if d.tracker == nil {
		if err := d.open(ctx); err != nil {
			return err
		}
	}
	if !d.fixed {
		if err := d.fill(read); err != nil {
			return err
		}
		if d.plan.To == d.plan.From {
			return nil
		}
	}
	if err := d.deliver(ctx); err != nil {
		return err
	}
	d.plan, d.fixed = nil, false
	return nil
}
