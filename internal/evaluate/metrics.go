package evaluate

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"docket/internal/record"
)

// meter holds the metrics of the loop.
type meter struct {
	decisions *prometheus.CounterVec
	verdicts  *prometheus.CounterVec
	duration  prometheus.Histogram
	lagging   prometheus.Gauge
	units     prometheus.Gauge
	refused   prometheus.Counter
}

func newMeter(reg prometheus.Registerer) (*meter, error) {
	m := &meter{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_evaluator_decisions_total", Help: "Candidates by rule and what the rule said: sampled, not_sampled, expired, or why not eligible.",
		}, []string{"rule", "reason"}),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_evaluator_verdicts_total", Help: "Verdicts written, by criterion, outcome and reason.",
		}, []string{"rubric", "criterion", "outcome", "reason"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "docket_evaluator_judge_seconds", Help: "Time to judge one unit, retries included.",
			Buckets: []float64{.005, .02, .1, .5, 1, 2, 5, 10, 30, 60, 120},
		}),
		lagging: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "docket_evaluator_lag_seconds", Help: "Age of the oldest candidate of the page that is read; 0 when there is none.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "docket_evaluator_refused_units_total", Help: "Judged units whose verdicts the store refuses for good.",
		}),
		units: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "docket_evaluator_open_units", Help: "Chosen inferences whose verdicts are not written yet.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.decisions, m.verdicts, m.duration, m.lagging, m.units, m.refused} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *meter) decided(rule, reason string) { m.decisions.WithLabelValues(rule, reason).Inc() }

func (m *meter) judged(took time.Duration) { m.duration.Observe(took.Seconds()) }

func (m *meter) wrote(verdicts []record.Verdict) {
	for _, v := range verdicts {
		m.verdicts.WithLabelValues(v.Rubric, v.Criterion, v.Outcome, v.Reason).Inc()
	}
}

func (m *meter) open(n int) { m.units.Set(float64(n)) }

func (m *meter) lag(now time.Time, rows []record.Candidate) {
	if len(rows) == 0 {
		m.lagging.Set(0)
		return
	}
	m.lagging.Set(now.Sub(rows[0].InsertedAt).Seconds())
}
