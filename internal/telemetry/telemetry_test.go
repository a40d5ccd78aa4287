package telemetry_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/proto/otlp/collector/logs/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"

	"docket/internal/leaktest"
	"docket/internal/record"
	"docket/internal/telemetry"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// receiver is an OTLP receiver that keeps the last request of each path.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]byte
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{bodies: map[string][]byte{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies[q.URL.Path] = body
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got(path string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies[path]
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func plain(attributes []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range attributes {
		out[a.GetKey()] = a.GetValue().String()
	}
	return out
}

func TestOffUnlessAReceiverIsNamed(t *testing.T) {
	t.Parallel()
	for _, values := range []map[string]string{
		nil,
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:4318"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"},
	} {
		spans, err := telemetry.NewSpanExporter(t.Context(), env(values))
		if spans != nil || err != nil {
			t.Errorf("%v: spans %v, %v", values, spans, err)
		}
		verdicts, err := telemetry.NewVerdictExporter(t.Context(), env(values))
		if verdicts != nil || err != nil {
			t.Errorf("%v: verdicts %v, %v", values, verdicts, err)
		}
	}
}

func TestExportSpans(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	e, err := telemetry.NewSpanExporter(t.Context(), env(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.WithoutCancel(t.Context()))
	at := time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC)
	err = e.ExportSpans(t.Context(), []record.Span{{
		Time: at, Duration: time.Second, TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SpanID: "00f067aa0ba902b7", ParentSpanID: "1111111111111111",
		TraceState: "a=b", Flags: 1, Name: "chat m-small", Kind: "Client", ServiceName: "docket-proxy", ScopeName: "docket",
		ResourceAttributes: map[string]string{record.AttrInstanceID: "one"},
		Attributes:         map[string]string{record.AttrUsageInput: "12", record.AttrFinishReasons: `["stop"]`, record.AttrRequestModel: "m-small"},
		StatusCode:         "Error", StatusMessage: "upstream_truncated",
		Links: []record.Link{{TraceID: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", SpanID: "bbbbbbbbbbbbbbbb"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got tracev1.ExportTraceServiceRequest
	if err := proto.Unmarshal(r.got("/v1/traces"), &got); err != nil {
		t.Fatal(err)
	}
	res := got.GetResourceSpans()[0]
	span := res.GetScopeSpans()[0].GetSpans()[0]
	type summary struct {
		Resource, Attributes   map[string]string
		Trace, Span, Parent    []byte
		State, Name, Kind, Msg string
		Start, End             uint64
		Links                  int
	}
	want := summary{
		Resource:   map[string]string{record.AttrServiceName: `string_value:"docket-proxy"`, record.AttrInstanceID: `string_value:"one"`},
		Attributes: map[string]string{record.AttrUsageInput: "int_value:12", record.AttrFinishReasons: `array_value:{values:{string_value:"stop"}}`, record.AttrRequestModel: `string_value:"m-small"`},
		Trace:      []byte("\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36"), Span: []byte("\x00\xf0\x67\xaa\x0b\xa9\x02\xb7"), Parent: []byte("\x11\x11\x11\x11\x11\x11\x11\x11"),
		State: "a=b", Name: "chat m-small", Kind: "SPAN_KIND_CLIENT", Msg: "upstream_truncated",
		Start: uint64(at.UnixNano()), End: uint64(at.Add(time.Second).UnixNano()), Links: 1,
	}
	have := summary{
		Resource: plain(res.GetResource().GetAttributes()), Attributes: plain(span.GetAttributes()),
		Trace: span.GetTraceId(), Span: span.GetSpanId(), Parent: span.GetParentSpanId(),
		State: span.GetTraceState(), Name: span.GetName(), Kind: span.GetKind().String(), Msg: span.GetStatus().GetMessage(),
		Start: span.GetStartTimeUnixNano(), End: span.GetEndTimeUnixNano(), Links: len(span.GetLinks()),
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("span (-want +got):\n%s", diff)
	}
}

func TestExportVerdicts(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	e, err := telemetry.NewVerdictExporter(t.Context(), env(map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": r.URL + "/own/path"}))
	if err != nil {
		t.Fatal(err)
	}
	p := 0.25
	if err := e.ExportVerdicts(t.Context(), []record.Verdict{{
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SpanID: "00f067aa0ba902b7", Criterion: "polite", Outcome: record.OutcomeFail, Probability: &p, Threshold: 0.5, InclusionP: 1, JudgeModel: "m-judge",
	}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	var got v1.ExportLogsServiceRequest
	if err := proto.Unmarshal(r.got("/own/path"), &got); err != nil {
		t.Fatal(err)
	}
	rec := got.GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords()[0]
	if rec.GetEventName() != record.EventEvaluationResult || string(rec.GetSpanId()) != "\x00\xf0\x67\xaa\x0b\xa9\x02\xb7" {
		t.Errorf("got event %q on span %x", rec.GetEventName(), rec.GetSpanId())
	}
	want := map[string]string{
		record.AttrEvaluationName: `string_value:"polite"`, record.AttrEvaluationLabel: `string_value:"fail"`, record.AttrEvaluationScore: "double_value:0.25",
		record.AttrThreshold: "double_value:0.5", record.AttrInclusionP: "double_value:1", record.AttrJudgeModel: `string_value:"m-judge"`,
	}
	if diff := cmp.Diff(want, plain(rec.GetAttributes())); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

func TestReceiverDownIsAnError(t *testing.T) {
	t.Parallel()
	e, err := telemetry.NewSpanExporter(t.Context(), env(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.WithoutCancel(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := e.ExportSpans(ctx, []record.Span{{Name: "x"}}); err == nil {
		t.Error("no error")
	}
}
