package record

import "time"

// Span is one span in the layout of the OpenTelemetry Collector's ClickHouse
// exporter (table otel_traces).
type Span struct {
	Time               time.Time
	TraceID            string
	SpanID             string
	ParentSpanID       string
	TraceState         string
	Flags              uint8 // W3C trace flags; not a column
	Name               string
	Kind               string // "Server", "Client", "Internal"
	ServiceName        string
	ResourceAttributes map[string]string
	ScopeName          string
	ScopeVersion       string
	Attributes         map[string]string
	Duration           time.Duration
	StatusCode         string // "Unset", "Ok", "Error"
	StatusMessage      string
	Links              []Link
}

// Link points from a span to another one.
type Link struct {
	TraceID    string
	SpanID     string
	TraceState string
	Attributes map[string]string
}
