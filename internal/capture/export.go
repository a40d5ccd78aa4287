package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"docket/internal/record"
)

const (
	exportTimeout = 5 * time.Second
	flagSampled   = 0x01
)

// export sends the sampled spans over OTLP, beside the way to the store. When
// the last ones are still on their way, these are dropped and counted.
func (d *Drainer) export(spans []record.Span) {
	if d.opts.Exporter == nil {
		return
	}
	var sampled []record.Span
	for _, s := range spans {
		if s.Flags&flagSampled != 0 {
			sampled = append(sampled, s)
		}
	}
	if len(sampled) == 0 {
		return
	}
	if !d.busy.CompareAndSwap(false, true) {
		d.metrics.exportFails.Inc()
		return
	}
	d.exports.Go(func() {
		defer d.busy.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), exportTimeout)
		defer cancel()
		if err := d.opts.Exporter.ExportSpans(ctx, sampled); err != nil {
			d.metrics.exportFails.Inc()
		}
	})
}

// keepAside writes one row of a batch into quarantine, as JSON and after
// redaction.
func (d *Drainer) keepAside(b record.Batch, i int, cause error) error {
	inf := b.Inferences[i]
	out := struct {
		Cause     string
		Inference record.Inference
		Bodies    []record.Body
	}{cause.Error(), inf, b.Bodies}
	data, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode inference %s: %w", inf.ID, err)
	}
	return d.opts.Spool.Quarantine(inf.ID+".json", data)
}
