package capture

import "github.com/prometheus/client_golang/prometheus"

// recorderMetrics are the recorder's counters.
type recorderMetrics struct {
	exchanges *prometheus.CounterVec // by level
	gaps      *prometheus.CounterVec // by reason
	begun     prometheus.Counter
	ended     prometheus.Counter
}

func newRecorderMetrics(reg prometheus.Registerer, r *Recorder) *recorderMetrics {
	m := &recorderMetrics{
		exchanges: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_capture_exchanges_total", Help: "Calls seen, by capture level.",
		}, []string{"level"}),
		gaps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_capture_gaps_total", Help: "What could not be kept, or not whole, by reason.",
		}, []string{"reason"}),
		begun: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "docket_capture_begun_total", Help: "Begin records appended to the spool.",
		}),
		ended: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "docket_capture_ended_total", Help: "End records appended to the spool.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.exchanges, m.gaps, m.begun, m.ended,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "docket_capture_buffer_bytes", Help: "Memory in use for the copies of open calls.",
			}, func() float64 { return float64(r.mem.used.Load()) }))
	}
	return m
}

// drainerMetrics are the drainer's counters.
type drainerMetrics struct {
	batches     prometheus.Counter
	stored      prometheus.Counter
	retries     prometheus.Counter
	refused     prometheus.Counter
	corrupt     prometheus.Counter
	exportFails prometheus.Counter
}

func newDrainerMetrics(reg prometheus.Registerer, d *Drainer) *drainerMetrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &drainerMetrics{
		batches:     counter("docket_capture_batches_total", "Batches that the store accepted."),
		stored:      counter("docket_capture_stored_total", "Inferences that the store accepted."),
		retries:     counter("docket_capture_retries_total", "Attempts to store a batch that failed and were repeated."),
		refused:     counter("docket_capture_refused_total", "Rows that the store refuses for good; they are in quarantine."),
		corrupt:     counter("docket_capture_corrupt_total", "Spool records that could not be read."),
		exportFails: counter("docket_capture_otlp_dropped_total", "Batches of spans that were not exported over OTLP."),
	}
	if reg != nil {
		reg.MustRegister(m.batches, m.stored, m.retries, m.refused, m.corrupt, m.exportFails,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "docket_capture_backlog_records", Help: "Spool records that are not stored yet; 0 when all that ended is stored.",
			}, func() float64 { return float64(d.Backlog()) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "docket_capture_backlog_bytes", Help: "Bytes in the spool that are not stored yet.",
			}, func() float64 { return float64(d.opts.Spool.BacklogBytes()) }))
	}
	return m
}
