package telemetry

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"docket/internal/record"
)

// SpanExporter sends recorded spans over OTLP.
type SpanExporter struct {
	exporter sdktrace.SpanExporter
	service  string
}

// NewSpanExporter returns nil when the environment names no receiver of traces.
// The receiver need not be up.
func NewSpanExporter(ctx context.Context, getenv func(string) string) (*SpanExporter, error) {
	url := endpoint(getenv, "traces")
	if url == "" {
		return nil, nil
	}
	e, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url))
	if err != nil {
		return nil, fmt.Errorf("start OTLP trace export: %w", err)
	}
	return &SpanExporter{exporter: e, service: serviceName(getenv)}, nil
}

// ExportSpans sends spans, tries again for a while, and gives up with an error.
func (e *SpanExporter) ExportSpans(ctx context.Context, spans []record.Span) error {
	resources := map[string]*resource.Resource{}
	out := make([]sdktrace.ReadOnlySpan, 0, len(spans))
	for _, s := range spans {
		key := s.ServiceName + "\x00" + fmt.Sprint(s.ResourceAttributes) // maps are printed in order
		if resources[key] == nil {
			resources[key] = e.resourceOf(s)
		}
		out = append(out, stub(s, resources[key]).Snapshot())
	}
	if err := e.exporter.ExportSpans(ctx, out); err != nil {
		return fmt.Errorf("export spans (n=%d): %w", len(spans), err)
	}
	return nil
}

// Close ends the exporter's connections.
func (e *SpanExporter) Close(ctx context.Context) error { return e.exporter.Shutdown(ctx) }

func (e *SpanExporter) resourceOf(s record.Span) *resource.Resource {
	attributes := maps.Clone(s.ResourceAttributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	if s.ServiceName != "" {
		attributes[record.AttrServiceName] = s.ServiceName
	} else if attributes[record.AttrServiceName] == "" {
		attributes[record.AttrServiceName] = e.service
	}
	return resource.NewWithAttributes(record.SchemaURL, keyValues(attributes)...)
}

// stub is the SDK's own way to make a finished span from outside.
func stub(s record.Span, r *resource.Resource) tracetest.SpanStub {
	out := tracetest.SpanStub{
		Name:                 s.Name,
		SpanContext:          spanContext(s.TraceID, s.SpanID, s.TraceState, s.Flags),
		SpanKind:             kindOf(s.Kind),
		StartTime:            s.Time,
		EndTime:              s.Time.Add(s.Duration),
		Attributes:           keyValues(s.Attributes),
		Status:               sdktrace.Status{Code: codeOf(s.StatusCode), Description: s.StatusMessage},
		Resource:             r,
		InstrumentationScope: instrumentation.Scope{Name: s.ScopeName, Version: s.ScopeVersion, SchemaURL: record.SchemaURL},
	}
	if s.ParentSpanID != "" {
		out.Parent = spanContext(s.TraceID, s.ParentSpanID, s.TraceState, s.Flags)
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, sdktrace.Link{
			SpanContext: spanContext(l.TraceID, l.SpanID, l.TraceState, 0), Attributes: keyValues(l.Attributes),
		})
	}
	return out
}

func spanContext(traceID, spanID, state string, flags uint8) trace.SpanContext {
	var c trace.SpanContextConfig
	// A malformed id stays zero, which receivers refuse by themselves.
	_, _ = hex.Decode(c.TraceID[:], []byte(head(traceID, 32)))
	_, _ = hex.Decode(c.SpanID[:], []byte(head(spanID, 16)))
	c.TraceFlags = trace.TraceFlags(flags)
	if ts, err := trace.ParseTraceState(state); err == nil {
		c.TraceState = ts
	}
	return trace.NewSpanContext(c)
}

func head(s string, n int) string { return s[:min(n, len(s))] }

func kindOf(kind string) trace.SpanKind {
	switch kind {
	case "Server":
		return trace.SpanKindServer
	case "Client":
		return trace.SpanKindClient
	default:
		return trace.SpanKindInternal
	}
}

func codeOf(code string) codes.Code {
	switch code {
	case "Ok":
		return codes.Ok
	case "Error":
		return codes.Error
	default:
		return codes.Unset
	}
}

// keyValues gives attributes the types that the semantic conventions ask for.
// Records hold text, as the table of spans does.
func keyValues(m map[string]string) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, keyValue(k, m[k]))
	}
	return out
}

func keyValue(key, value string) attribute.KeyValue {
	switch key {
	case record.AttrUsageInput, record.AttrUsageOutput, record.AttrUsageCacheRead, record.AttrUsageCacheWrite,
		record.AttrUsageReasoning, record.AttrHTTPStatus, record.AttrServerPort:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return attribute.Int64(key, n)
		}
	case record.AttrTimeToFirstChunk, record.AttrThreshold, record.AttrInclusionP:
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			return attribute.Float64(key, f)
		}
	case record.AttrRequestStream, record.AttrCaptureComplete:
		if b, err := strconv.ParseBool(value); err == nil {
			return attribute.Bool(key, b)
		}
	case record.AttrFinishReasons, record.AttrToolNames:
		return attribute.StringSlice(key, list(value))
	}
	return attribute.String(key, value)
}

// list reads a JSON array of strings, or a plain list with commas.
func list(value string) []string {
	var items []string
	if json.Unmarshal([]byte(value), &items) == nil {
		return items
	}
	return strings.Split(value, ",")
}

// timeOf is a time for the wire, which has no zero time.
func timeOf(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now()
	}
	return t
}
