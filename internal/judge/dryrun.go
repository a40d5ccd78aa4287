package judge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is a request as it would be sent, without its secrets.
type Request struct {
	URL    string
	Header http.Header
	Body   string
}

// DryRun returns the exact requests that judging the unit would send first, and
// sends nothing. What a second request would depend on (a fallback, a server
// without log-probabilities) is not among them.
func (j *Judge) DryRun(ctx context.Context, rubric string, u Unit) ([]Request, error) {
	p, ok := j.rubrics[rubric]
	if !ok {
		return nil, j.CheckCriteria(rubric, nil)
	}
	rec := &recording{}
	o := j.options
	o.Client = &http.Client{Transport: rec}
	o.Sleep = func(context.Context, time.Duration) error { return errDryRun }
	alone := p.rubric
	alone.Backend, alone.Fallbacks, alone.Reasons = p.chain[0].name, nil, ""
	alone.MaxCallsPerDay, alone.MaxUSDPerDay = 0, 0
	cfg := j.config
	cfg.CacheWindow = 0
	o.Log, o.Meter = nil, nil
	dry, err := New(cfg, map[string]Rubric{rubric: alone}, o)
	if err != nil {
		return nil, err
	}
	dry.Judge(ctx, rubric, u)
	for i := range rec.requests {
		rec.requests[i].hide(p.chain[0].config)
	}
	slices.SortStableFunc(rec.requests, func(a, b Request) int { return strings.Compare(a.Body, b.Body) })
	return rec.requests, nil
}

var errDryRun = errors.New("nothing is sent in a dry run")

// hide masks what authenticates the request.
func (r *Request) hide(c BackendConfig) {
	if query := queryOf(r.URL); query != "" {
		r.URL = strings.ReplaceAll(r.URL, query, "***")
	}
	for _, values := range r.Header {
		for i := range values {
			for _, secret := range append([]string{c.Key.Reveal()}, headerValues(c.Headers)...) {
				if secret != "" {
					values[i] = strings.ReplaceAll(values[i], secret, "***")
				}
			}
		}
	}
}

// recording keeps requests and answers none.
type recording struct {
	mu       sync.Mutex // guards requests
	requests []Request
}

func (r *recording) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	again := func(known Request) bool { return bytes.Equal([]byte(known.Body), body) }
	if !slices.ContainsFunc(r.requests, again) {
		r.requests = append(r.requests, Request{URL: req.URL.String(), Header: req.Header.Clone(), Body: string(body)})
	}
	return nil, errDryRun
}
