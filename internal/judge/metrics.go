package judge

import (
	"github.com/prometheus/client_golang/prometheus"
)

// meter holds the metrics of the judges.
type meter struct {
	requests *prometheus.CounterVec
	attempts *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	cost     *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMeter(reg prometheus.Registerer) (*meter, error) {
	m := &meter{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_judge_requests_total", Help: "Requests to judges by result: ok, cached, or why there was no answer.",
		}, []string{"backend", "result"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_judge_attempts_total", Help: "Attempts of requests to judges, repeated ones included.",
		}, []string{"backend"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_judge_tokens_total", Help: "Tokens that judges reported.",
		}, []string{"backend", "kind"}),
		cost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "docket_judge_cost_usd_total", Help: "Cost of judging, where it is known. Never part of the cost of traffic.",
		}, []string{"backend"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "docket_judge_request_seconds", Help: "Time of one request to a judge, retries included.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
		}, []string{"backend"}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.attempts, m.tokens, m.cost, m.seconds} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *meter) asked(c *call) {
	name := c.member.name
	if c.cached {
		m.requests.WithLabelValues(name, "cached").Inc()
		return
	}
	result := "ok"
	if c.reply.err != nil {
		result = c.reply.err.reason
	}
	m.requests.WithLabelValues(name, result).Inc()
	m.attempts.WithLabelValues(name).Add(float64(c.reply.attempts))
	m.tokens.WithLabelValues(name, "input").Add(float64(deref(c.reply.inputTokens, 0)))
	m.tokens.WithLabelValues(name, "output").Add(float64(deref(c.reply.outputTokens, 0)))
	m.cost.WithLabelValues(name).Add(float64(deref(c.cost, 0)) / 1e9)
	m.seconds.WithLabelValues(name).Observe(c.reply.latency.Seconds())
}
