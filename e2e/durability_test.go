package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"docket/e2e/program"
)

// TestKill: kill -9 of the proxy under load, several times. What a client got
// whole is stored exactly once and complete, what was in flight is a row too.
func TestKill(t *testing.T) {
	r := newRig(t)
	r.upstream.gap = 2 * time.Millisecond
	r.startEngine()
	r.startProxy()
	rounds, calls := 3, 150
	if os.Getenv("DOCKET_TEST_TORTURE") != "" {
		rounds, calls = 20, 1500
	}
	l := &load{base: r.base(), clients: 12}
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		l.run(ctx, 1_000_000)
	}()
	for i := range rounds {
		program.Await(t, "calls under load", time.Minute, func() bool { return l.done() >= (i+1)*calls })
		release := r.upstream.hold()
		program.Await(t, "a stream that is open at the kill", time.Minute, func() bool { return r.upstream.open() > 0 })
		r.proxy.Kill()
		release()
		r.startProxy()
	}
	program.Await(t, "calls after the last kill", time.Minute, func() bool { return l.done() >= (rounds+1)*calls })
	cancel()
	<-finished
	r.drained()
	died := checkExactlyOnce(t, r, l)
	if died == 0 {
		t.Error("no call was in flight at any kill: the test shows nothing")
	}
	t.Logf("%d calls, %d in flight at a kill", l.done(), died)
}

// TestStoreAway: the store is down for the whole load and comes up at its end.
func TestStoreAway(t *testing.T) {
	r := newRig(t)
	r.startProxy()
	l := &load{base: r.base(), clients: 8}
	l.run(t.Context(), 400)
	for _, o := range l.outcomes {
		if !o.Whole {
			t.Errorf("call %s did not end well: the client noticed that the store is away", o.TraceID)
		}
	}
	r.startEngine()
	program.Await(t, "the first rows", time.Minute, func() bool { return strings.Trim(r.metric("docket_capture_stored_total"), "0") != "" })
	r.drained()
	checkExactlyOnce(t, r, l)
}

// TestEngineRestart: the store goes away and comes back under load, twice by
// kill -9.
func TestEngineRestart(t *testing.T) {
	r := newRig(t)
	r.startEngine()
	r.startProxy()
	l := &load{base: r.base(), clients: 8}
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		l.run(ctx, 1_000_000)
	}()
	for i := range 2 {
		program.Await(t, "calls under load", time.Minute, func() bool { return l.done() >= (i+1)*200 })
		r.engine.Kill()
		r.startEngine()
	}
	program.Await(t, "calls after the last restart", time.Minute, func() bool { return l.done() >= 600 })
	cancel()
	<-finished
	r.drained()
	checkExactlyOnce(t, r, l)
}

// checkExactlyOnce compares what clients and upstream saw with what is stored.
// It returns how many rows say that the proxy died.
func checkExactlyOnce(t *testing.T, r *rig, l *load) (died int) {
	t.Helper()
	if gaps := r.sql("SELECT reason, sum(count) FROM capture_gaps GROUP BY reason"); !slices.Equal(gaps, []string{""}) {
		t.Errorf("gaps: %q", gaps)
	}
	rows, states := map[string]int{}, map[string]string{}
	for _, line := range r.sql("SELECT trace_id, terminal_state FROM inferences") {
		trace, state, _ := strings.Cut(line, "\t")
		rows[trace]++
		states[trace] = state
		if state == "proxy_died" {
			died++
		}
	}
	var wrong []string
	for _, o := range l.outcomes {
		if o.Whole && (rows[o.TraceID] != 1 || states[o.TraceID] != "complete") {
			wrong = append(wrong, fmt.Sprintf("%s was whole for the client: %d rows, %s", o.TraceID, rows[o.TraceID], states[o.TraceID]))
		}
	}
	for _, scenario := range []string{"text", "load"} {
		for _, req := range r.upstream.seen(scenario) {
			trace := strings.Split(req.Header.Get("Traceparent")+"--", "-")[1]
			if rows[trace] != 1 {
				wrong = append(wrong, fmt.Sprintf("%s reached the upstream: %d rows", trace, rows[trace]))
			}
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%d wrong, the first:\n%s", len(wrong), strings.Join(wrong[:min(5, len(wrong))], "\n"))
	}
	for _, table := range []string{"inferences", "inference_bodies", "candidates"} {
		if got := r.sql("SELECT count() - uniqExact(inference_id) FROM " + table); got[0] != "0" {
			t.Errorf("%s has %s rows twice", table, got[0])
		}
	}
	if got := r.sql("SELECT count() - uniqExact(TraceId, SpanId) FROM otel_traces"); got[0] != "0" {
		t.Errorf("otel_traces has %s spans twice", got[0])
	}
	if got := r.sql("SELECT count() FROM candidates WHERE inference_id NOT IN (SELECT inference_id FROM inference_bodies)"); got[0] != "0" {
		t.Errorf("%s candidates have no body", got[0])
	}
	return died
}
