package judge_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
)

// atOnce is a judge that answers without a network.
type atOnce string

func (a atOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a))), Request: r}, nil
}

// BenchmarkJudge is the judge's own work for one unit of three criteria, with a
// decision model that answers at once.
func BenchmarkJudge(b *testing.B) {
	o := judgetest.Options(b, nil)
	o.Client = &http.Client{Transport: atOnce(`{"model":"m","answers":{"q1":{"type":"noul","noul":0.9},"q2":{"type":"noul","noul":0.2},"q3":{"type":"noul","noul":0.7}},"usage":{"input_tokens":300,"output_tokens":4}}`)}
	cfg := judge.DefaultConfig()
	cfg.CacheWindow = 0
	cfg.Backend, cfg.URL, cfg.Model = "systemone", "http://127.0.0.1:1", "m"
	j, err := judge.New(cfg, map[string]judge.Rubric{"r": {Criteria: judgetest.Three()}}, o)
	if err != nil {
		b.Fatal(err)
	}
	u := judgetest.Unit()
	b.ReportAllocs()
	verdicts := 0
	for b.Loop() {
		verdicts += len(j.Judge(b.Context(), "r", u).Verdicts)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(verdicts), "µs/verdict")
}
