package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"docket/internal/record"
	"docket/internal/store"
	"docket/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// open returns a migrated store on a database of its own, and its DSN.
func open(t testing.TB, change ...func(*store.Config)) (*store.Store, string) {
	t.Helper()
	cfg := store.DefaultConfig()
	cfg.DSN, cfg.QueryTimeout = storetest.DSN(t), 2*time.Minute // of a busy machine
	for _, f := range change {
		f(&cfg)
	}
	s := openConfig(t, cfg)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, cfg.DSN
}

func openConfig(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), cfg, slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// count runs a query that returns one number.
func count(t testing.TB, dsn, query string) int {
	t.Helper()
	out := strings.TrimSpace(storetest.Exec(t, dsn, query))
	n, err := strconv.Atoi(out)
	if err != nil {
		t.Fatalf("%s: got %q", query, out)
	}
	return n
}

// now is the time of the test's rows: microseconds, as the tables have.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

var idTime = time.Now().Add(-time.Hour)

// id is the n-th id of a test: a UUIDv7 of an hour ago.
func id(n int) string {
	ms := idTime.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012d", ms>>16, ms&0xffff, n)
}

func traceID(n int) string { return fmt.Sprintf("4bf92f3577b34da6%016x", n+1) }
func spanID(n int) string  { return fmt.Sprintf("00f067aa%08x", n+1) }

// inference is a plain row.
func inference(n int, at time.Time) record.Inference {
	return record.Inference{
		ID: id(n), Time: at, Project: "shop", Environment: "test",
		TraceID: traceID(n), SpanID: spanID(n), RequestModel: "small", Operation: "chat",
		TerminalState: record.StateComplete, Status: 200, Complete: true,
		CaptureLevel: record.CaptureFull, Stratum: record.StratumOK,
	}
}

func body(n int, at time.Time, said string) record.Body {
	return record.Body{
		InferenceID: id(n), Time: at, Project: "shop", Request: []byte(`{"n":` + strconv.Itoa(n) + `}`), Response: []byte("{}"),
		Output: []record.Message{{Role: "assistant", Parts: []record.Part{{Type: record.PartText, Content: said}}}},
	}
}

func span(n int, at time.Time) record.Span {
	return record.Span{
		Time: at, TraceID: traceID(n), SpanID: spanID(n), Name: "chat small", Kind: "Server", ServiceName: "docket",
		Duration: time.Millisecond, StatusCode: "Unset",
	}
}

// batch has n rows of each kind, numbered from first, at the given time.
func batch(token string, first, n int, at time.Time) record.Batch {
	b := record.Batch{Token: token, FirstSent: time.Now()}
	for i := first; i < first+n; i++ {
		b.Inferences = append(b.Inferences, inference(i, at.Add(time.Duration(i)*time.Millisecond)))
		b.Bodies = append(b.Bodies, body(i, at.Add(time.Duration(i)*time.Millisecond), fmt.Sprintf("reply %d", i)))
		b.Spans = append(b.Spans, span(i, at.Add(time.Duration(i)*time.Millisecond)))
	}
	b.Gaps = []record.Gap{{Time: at, Instance: "i", Project: "shop", Reason: record.GapByteCap, Count: 3, Bytes: 9}}
	return b
}

func write(t testing.TB, s *store.Store, b record.Batch) {
	t.Helper()
	if err := s.Write(context.Background(), b); err != nil {
		t.Fatalf("write %s: %v", b.Token, err)
	}
}

// counts is how many rows each table logically has.
func counts(t testing.TB, dsn string) map[string]int {
	t.Helper()
	return map[string]int{
		"inferences": count(t, dsn, "SELECT count() FROM inferences"),
		"bodies":     count(t, dsn, "SELECT count() FROM inference_bodies"),
		"spans":      count(t, dsn, "SELECT count() FROM otel_traces"),
		"trace ids":  count(t, dsn, "SELECT count() FROM otel_traces_trace_id_ts"),
		"candidates": count(t, dsn, "SELECT count() FROM candidates"),
		"traffic":    count(t, dsn, "SELECT sum(n) FROM traffic_hourly"),
	}
}

// each is what counts gives for n rows.
func each(n int) map[string]int {
	return map[string]int{"inferences": n, "bodies": n, "spans": n, "trace ids": n, "candidates": n, "traffic": n}
}
