package store

import (
	"time"

	"docket/internal/record"
)

// spans is the traces table of the OpenTelemetry Collector's ClickHouse
// exporter. Its events stay empty: Docket's spans have none.
func spans(name string) table[record.Span] {
	type R = record.Span
	return table[R]{
		name: name,
		day:  func(r *R) time.Time { return r.Time },
		columns: []column[R]{
			convert("Timestamp", "DateTime64(9)",
				func(r *R) time.Time { return r.Time },
				func(r *R, v time.Time) error { r.Time = v.UTC(); return nil }),
			text("TraceId", func(r *R) *string { return &r.TraceID }),
			text("SpanId", func(r *R) *string { return &r.SpanID }),
			text("ParentSpanId", func(r *R) *string { return &r.ParentSpanID }),
			text("TraceState", func(r *R) *string { return &r.TraceState }),
			word("SpanName", func(r *R) *string { return &r.Name }),
			word("SpanKind", func(r *R) *string { return &r.Kind }),
			word("ServiceName", func(r *R) *string { return &r.ServiceName }),
			pairs("ResourceAttributes", func(r *R) *map[string]string { return &r.ResourceAttributes }),
			text("ScopeName", func(r *R) *string { return &r.ScopeName }),
			text("ScopeVersion", func(r *R) *string { return &r.ScopeVersion }),
			pairs("SpanAttributes", func(r *R) *map[string]string { return &r.Attributes }),
			convert("Duration", "UInt64",
				func(r *R) uint64 { return uint64(max(r.Duration, 0)) },
				func(r *R, v uint64) error { r.Duration = time.Duration(v); return nil }),
			word("StatusCode", func(r *R) *string { return &r.StatusCode }),
			text("StatusMessage", func(r *R) *string { return &r.StatusMessage }),
			linkText("Links.TraceId", func(l *record.Link) *string { return &l.TraceID }),
			linkText("Links.SpanId", func(l *record.Link) *string { return &l.SpanID }),
			linkText("Links.TraceState", func(l *record.Link) *string { return &l.TraceState }),
			linkColumn("Links.Attributes", "Array(Map(LowCardinality(String), String))",
				func(l *record.Link) map[string]string {
					if l.Attributes == nil {
						return map[string]string{}
					}
					return cleanMap(l.Attributes)
				},
				func(l *record.Link, v map[string]string) {
					if len(v) > 0 {
						l.Attributes = v
					}
				}),
		},
	}
}

func linkText(name string, at func(*record.Link) *string) column[record.Span] {
	return linkColumn(name, "Array(String)",
		func(l *record.Link) string { return cleanText(*at(l)) },
		func(l *record.Link, v string) { *at(l) = v })
}

// linkColumn is one of the parallel arrays that hold the links of a span.
func linkColumn[V any](name, typ string, get func(*record.Link) V, set func(*record.Link, V)) column[record.Span] {
	return convert(name, typ,
		func(r *record.Span) []V {
			out := make([]V, len(r.Links))
			for i := range r.Links {
				out[i] = get(&r.Links[i])
			}
			return out
		},
		func(r *record.Span, v []V) error {
			if r.Links == nil && len(v) > 0 {
				r.Links = make([]record.Link, len(v))
			}
			for i := range min(len(r.Links), len(v)) {
				set(&r.Links[i], v[i])
			}
			return nil
		})
}
