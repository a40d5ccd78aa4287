package proxy

import (
	"cmp"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"docket/internal/record"
)

// metrics are the proxy's own figures. Their labels have few values: names of
// upstreams, statuses and states.
type metrics struct {
	running *prometheus.GaugeVec
	answers *prometheus.CounterVec
	ended   *prometheus.CounterVec
	refused *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "docket_proxy_running_calls", Help: "Calls that are on their way.",
		}, []string{"upstream"}),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_proxy_answers_total", Help: "Answers by status, our own for an unreachable upstream included.",
		}, []string{"upstream", "status"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_proxy_calls_total", Help: "Calls that ended, by how they ended.",
		}, []string{"upstream", "state"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_proxy_refused_total", Help: "Requests that were not forwarded, by reason.",
		}, []string{"reason"}),
	}
	if r != nil {
		r.MustRegister(m.running, m.answers, m.ended, m.refused)
	}
	return m
}

func (m *metrics) begin(upstream string) { m.running.WithLabelValues(upstream).Inc() }

func (m *metrics) answer(upstream string, status int) {
	m.answers.WithLabelValues(upstream, strconv.Itoa(status)).Inc()
}

func (m *metrics) end(upstream, state string) {
	m.running.WithLabelValues(upstream).Dec()
	m.ended.WithLabelValues(upstream, cmp.Or(state, record.StateComplete)).Inc()
}
