package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"docket/internal/record"
	"docket/internal/telemetry"
)

// exportWait bounds how long the loop waits for an OTLP receiver.
const exportWait = 5 * time.Second

// export sends verdicts and the judge's own spans over OTLP, when the
// environment names a receiver. What it cannot send is in the store all the same.
type export struct {
	log      *slog.Logger
	spans    *telemetry.SpanExporter    // nil: off
	verdicts *telemetry.VerdictExporter // nil: off
}

func newExport(ctx context.Context, getenv func(string) string, log *slog.Logger) (*export, error) {
	spans, err := telemetry.NewSpanExporter(ctx, getenv)
	if err != nil {
		return nil, err
	}
	verdicts, err := telemetry.NewVerdictExporter(ctx, getenv)
	return &export{log: log, spans: spans, verdicts: verdicts}, err
}

func (e *export) verdictsWritten(ctx context.Context, verdicts []record.Verdict) {
	if e.verdicts == nil {
		return
	}
	e.report("verdicts", e.verdicts.ExportVerdicts(ctx, verdicts))
}

func (e *export) spansWritten(ctx context.Context, spans []record.Span) {
	if e.spans == nil || len(spans) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, exportWait)
	defer cancel()
	e.report("spans", e.spans.ExportSpans(ctx, spans))
}

func (e *export) close() {
	ctx, cancel := context.WithTimeout(context.Background(), exportWait)
	defer cancel()
	var errs []error
	if e.verdicts != nil {
		errs = append(errs, e.verdicts.Close(ctx))
	}
	if e.spans != nil {
		errs = append(errs, e.spans.Close(ctx))
	}
	e.report("the rest", errors.Join(errs...))
}

func (e *export) report(what string, err error) {
	if err != nil {
		e.log.Warn("OTLP export", "what", what, "error", err)
	}
}
