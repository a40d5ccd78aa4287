package judge_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
)

func TestMetrics(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	s.Next(judgetest.Response{Status: 503}, judgetest.Response{Status: 400})
	reg := prometheus.NewRegistry()
	o := judgetest.Options(t, nil)
	o.Meter = reg
	b := s.Backend()
	b.InputUSD, b.OutputUSD = ptr(1.0), ptr(1.0)
	cfg := judge.DefaultConfig()
	cfg.Backends = map[string]judge.BackendConfig{"main": b}
	j, err := judge.New(cfg, map[string]judge.Rubric{"r": first()}, o)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // an error after a retry, an answer, the same answer again
		j.Judge(t.Context(), "r", judgetest.Unit())
	}
	got := map[string]float64{}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"docket_judge_requests_total main ok": 1, "docket_judge_requests_total main cached": 1,
		"docket_judge_requests_total main judge_error": 1, "docket_judge_attempts_total main": 3,
		"docket_judge_tokens_total main input": 300, "docket_judge_tokens_total main output": 4, "docket_judge_cost_usd_total main": 0.000304,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if _, err := judge.New(cfg, nil, o); err == nil {
		t.Error("two judges on one registry, and no error")
	}
}
