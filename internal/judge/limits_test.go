package judge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

// held is a transport in which every call waits until it is let go. It answers
// in the process, so that a synctest bubble knows when all calls wait.
type held struct {
	server http.Handler
	calls  chan chan struct{} // the calls under way; closing one lets it go
}

func (h held) RoundTrip(r *http.Request) (*http.Response, error) {
	letGo := make(chan struct{})
	h.calls <- letGo
	<-letGo
	w := httptest.NewRecorder()
	h.server.ServeHTTP(w, r)
	return w.Result(), nil
}

// TestLimits checks that as many calls as a backend allows are under way at the
// same time, and no more. A bubble's Wait returns when every goroutine that
// could start a call has started it or is kept from it.
func TestLimits(t *testing.T) {
	const limit, questions = 2, 12
	s := judgetest.NewServer(t, formatNamed(t, "chat-structured"))
	b := s.Backend()
	b.MaxConcurrent = limit
	cfg := judge.DefaultConfig()
	cfg.CacheWindow, cfg.Backends = 0, map[string]judge.BackendConfig{"main": b}
	var criteria []judge.Criterion
	for i := range questions {
		criteria = append(criteria, judge.Criterion{Text: fmt.Sprint("Criterion ", i)})
	}
	synctest.Test(t, func(t *testing.T) {
		calls := make(chan chan struct{}, questions) // room for all, so that one too many is seen
		o := judgetest.Options(t, nil)
		o.Client = &http.Client{Transport: held{s, calls}}
		j, err := judge.New(cfg, map[string]judge.Rubric{"r": {Criteria: criteria}}, o)
		if err != nil {
			t.Fatal(err)
		}
		judged := make(chan judge.Result, 1)
		go func() { judged <- j.Judge(t.Context(), "r", judgetest.Unit()) }()
		for synctest.Wait(); len(judged) == 0; synctest.Wait() {
			if len(calls) != limit {
				t.Errorf("%d calls are under way, want %d", len(calls), limit)
			}
			close(<-calls)
			for range len(calls) {
				close(<-calls)
			}
		}
		if got := <-judged; got.Outcome != record.OutcomePass || len(got.Calls) != questions {
			t.Errorf("%s with %d calls", got.Outcome, len(got.Calls))
		}
	})
}
