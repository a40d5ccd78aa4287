package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"docket/internal/record"
)

// VerdictExporter sends verdicts over OTLP as gen_ai.evaluation.result events
// in the context of the span that was judged.
type VerdictExporter struct {
	provider *sdklog.LoggerProvider
	logger   log.Logger
}

// NewVerdictExporter returns nil when the environment names no receiver of
// logs. Events are sent in batches from the background, and dropped when the
// receiver does not take them.
func NewVerdictExporter(ctx context.Context, getenv func(string) string) (*VerdictExporter, error) {
	url := endpoint(getenv, "logs")
	if url == "" {
		return nil, nil
	}
	e, err := otlploghttp.New(ctx, otlploghttp.WithEndpointURL(url))
	if err != nil {
		return nil, fmt.Errorf("start OTLP log export: %w", err)
	}
	p := sdklog.NewLoggerProvider(
		sdklog.WithProcessor(sdklog.NewBatchProcessor(e)),
		sdklog.WithResource(resource.NewWithAttributes(record.SchemaURL, attribute.String(record.AttrServiceName, serviceName(getenv)))),
	)
	return &VerdictExporter{provider: p, logger: p.Logger("docket/evaluator", log.WithSchemaURL(record.SchemaURL))}, nil
}

// ExportVerdicts queues an event for each verdict.
func (e *VerdictExporter) ExportVerdicts(ctx context.Context, verdicts []record.Verdict) error {
	for _, v := range verdicts {
		// The id stands for an unsampled trace as well: whoever judges it wants
		// the result.
		sc := spanContext(v.TraceID, v.SpanID, "", uint8(trace.FlagsSampled))
		e.logger.Emit(trace.ContextWithRemoteSpanContext(ctx, sc), event(v))
	}
	return nil
}

// Close sends what is queued, until ctx ends.
func (e *VerdictExporter) Close(ctx context.Context) error { return e.provider.Shutdown(ctx) }

func event(v record.Verdict) log.Record {
	var r log.Record
	r.SetEventName(record.EventEvaluationResult)
	r.SetTimestamp(timeOf(v.JudgedAt))
	r.SetSeverity(log.SeverityInfo)
	attributes := []attribute.KeyValue{
		attribute.String(record.AttrEvaluationName, v.Criterion),
		attribute.String(record.AttrEvaluationLabel, v.Outcome),
		attribute.Float64(record.AttrThreshold, v.Threshold),
		attribute.Float64(record.AttrInclusionP, v.InclusionP),
	}
	if v.Probability != nil {
		attributes = append(attributes, attribute.Float64(record.AttrEvaluationScore, *v.Probability))
	}
	for _, a := range [][2]string{
		{record.AttrEvaluationExplain, v.Detail},
		{record.AttrErrorType, v.Reason},
		{record.AttrInferenceID, v.InferenceID},
		{record.AttrConversationID, v.ConversationID},
		{record.AttrRubric, v.Rubric},
		{record.AttrCriterionVer, v.CriterionVersion},
		{record.AttrJudgeModel, v.JudgeModel},
		{record.AttrJudgeConfig, v.JudgeConfig},
		{record.AttrJudgeCallID, v.JudgeCallID},
		{record.AttrVerdictID, v.ID},
		{record.AttrOrigin, v.Origin},
		{record.AttrProject, v.Project},
		{record.AttrEnvironment, v.Environment},
	} {
		if a[1] != "" {
			attributes = append(attributes, attribute.String(a[0], a[1]))
		}
	}
	r.AddAttributes(attributes...)
	return r
}
