package fieldcases

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"docket/internal/capture"
	"docket/internal/record"
	"docket/internal/sampling"
	"docket/internal/spool"
)

// pipeline is what lies behind the proxy, in this process: for rows that no
// client can make, such as those of another time.
type pipeline struct {
	spool    *spool.Spool
	recorder *capture.Recorder
	drainer  *capture.Drainer
}

// exchange is one call.
type exchange struct {
	start           time.Time
	user            string
	request, answer string
}

func newPipeline(t *testing.T, s *suite, project string) *pipeline {
	t.Helper()
	cfg := spool.DefaultConfig()
	cfg.Dir, cfg.MaxWait = t.TempDir(), time.Minute
	sp, err := spool.Open(cfg, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sp.Close() })
	settings := capture.DefaultConfig()
	settings.Project = project
	queue := spoolPort{sp}
	p := &pipeline{spool: sp, recorder: capture.NewRecorder(settings, capture.Options{Spool: queue, Instance: "test", SampleValue: sampling.Value})}
	p.drainer = capture.NewDrainer(settings, capture.DrainerOptions{Spool: queue, Sink: s.store, Recorder: p.recorder})
	return p
}

// record plays one exchange.
func (p *pipeline) record(t *testing.T, e exchange) {
	t.Helper()
	x := p.recorder.Begin(capture.Begin{
		Upstream: "test", API: "openai", Method: http.MethodPost, Path: "/v1/chat/completions", Start: e.start,
		Header: http.Header{"Docket-User": {e.user}}, ContentLength: int64(len(e.request)),
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SpanID: "00f067aa0ba902b7", UpstreamSpanID: "00f067aa0ba902b8",
	})
	defer x.End("")
	body := x.RequestBody(io.NopCloser(strings.NewReader(e.request)))
	if err := x.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Fatal(err)
	}
	res := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(e.answer)), Body: io.NopCloser(strings.NewReader(e.answer)),
	}
	x.Response(res)
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
}

// flush stores all that was recorded.
func (p *pipeline) flush(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.drainer.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// spoolPort gives capture the spool in the form that it asks for.
type spoolPort struct{ *spool.Spool }

// Reader starts at from.
func (p spoolPort) Reader(from record.Position) (capture.SpoolReader, error) {
	r, err := p.Spool.Reader(from)
	if err != nil {
		return nil, err
	}
	return readerPort{r}, nil
}

// BacklogBytes is what is not delivered.
func (p spoolPort) BacklogBytes() int64 { return p.Stats().Backlog }

type readerPort struct{ *spool.Reader }

// Close ends the reading.
func (p readerPort) Close() error {
	p.Reader.Close()
	return nil
}
