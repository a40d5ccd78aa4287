package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"docket/internal/record"
	"docket/internal/store"
	"docket/internal/store/storetest"
)

func openTestStore(t *testing.T, dsn string) *store.Store {
	t.Helper()
	cfg := store.DefaultConfig()
	cfg.DSN = dsn
	db, err := store.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// verdictOf is one of the n-th inference.
func verdictOf(n int, criterion, outcome string, inclusion float64) record.Verdict {
	at := time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
	return record.Verdict{
		ID: fmt.Sprintf("%s-%s-%d", criterion, outcome, n), JudgedAt: at, Time: at, Project: "shop", Environment: "live", Unit: "inference",
		InferenceID: fmt.Sprintf("i%d", n), TraceID: fmt.Sprintf("%032x", n+1), Rubric: "support", Criterion: criterion, CriterionVersion: "v1",
		JudgeConfig: "c1", Outcome: outcome, InclusionP: inclusion, Threshold: 0.5, Weight: 1, Origin: record.OriginOnline,
	}
}

// The gate is on a rate over conclusive verdicts, weighted by the inverse of the
// inclusion probability; inconclusive ones are left out and shown.
func TestRule61Gate(t *testing.T) {
	dsn := storetest.DSN(t)
	db := openTestStore(t, dsn)
	getenv := env("DOCKET_STORE", dsn)
	got, err := printed(t, getenv, "gate", "--rubric", "support")
	if err == nil || !strings.Contains(err.Error(), "nothing_judged") {
		t.Fatalf("nothing judged: %v\n%s", err, got)
	}

	var list []record.Verdict
	for i := range 90 { // each stands for ten
		list = append(list, verdictOf(i, "apology", record.OutcomePass, 0.1))
	}
	for i := range 60 { // failures are all judged
		list = append(list, verdictOf(1000+i, "apology", record.OutcomeFail, 1))
	}
	for i := range 50 {
		list = append(list, verdictOf(2000+i, "apology", record.OutcomeInconclusive, 0.1))
	}
	list = append(list, verdictOf(3000, "amount", record.OutcomeFail, 1), verdictOf(3001, "amount", record.OutcomeNotApplicable, 1))
	// Judged again since: only the later verdict counts.
	again := verdictOf(0, "apology", record.OutcomePass, 0.1)
	again.ID, again.JudgeConfig, again.JudgedAt = "again", "c2", again.JudgedAt.Add(time.Minute)
	old := verdictOf(4000, "apology", record.OutcomeFail, 0.001)
	old.Time = old.Time.Add(-48 * time.Hour)
	if err := db.WriteVerdicts(t.Context(), nil, append(list, again, old)); err != nil {
		t.Fatal(err)
	}

	// 900 of 960: a plain share would be 0.6.
	got, err = printed(t, getenv, "gate", "--rubric", "support", "--criterion", "apology", "--min", "0.93")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "pass rate 0.938 (95 % interval ", "150 conclusive verdicts of 150 traces", "; 50 inconclusive (25.0 %)",
		"note: verdicts of 2 versions or judge configurations", "gate passed: rate 0.9375 is at least 0.93")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"rate too low":           {[]string{"--criterion", "apology", "--min", "0.94"}, "below_minimum"},
		"bound too low":          {[]string{"--criterion", "apology", "--min", "0.93", "--confidence", "0.95"}, "lower bound at confidence 0.95"},
		"only not applicable":    {[]string{"--criterion", "amount", "--environment", "test"}, "nothing_judged"},
		"other criterion":        {[]string{"--criterion", "amount", "--min", "0.1"}, "0.0000 is below 0.1"},
		"other model":            {[]string{"--model", "x"}, "nothing_judged"},
		"other project":          {[]string{"--project", "x"}, "nothing_judged"},
		"min of 0":               {[]string{"--min", "0"}, "--min 0"},
		"confidence of 1":        {[]string{"--confidence", "1"}, "--confidence 1"},
		"time that is not ahead": {[]string{"--since", "-1h"}, "--since -1h"},
	} {
		if got, err := printed(t, getenv, append([]string{"gate", "--rubric", "support"}, c.args...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if _, err := printed(t, getenv, "gate"); err == nil || !strings.Contains(err.Error(), "--rubric") {
		t.Errorf("without a rubric: %v", err)
	}
	// All criteria of the rubric together, and a longer time.
	got, err = printed(t, getenv, "gate", "--rubric", "support", "--min", "0.4", "--since", "100h")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "criterion amount: pass rate 0.000", "rubric support: pass rate 0.4", "1 not applicable")
}

// Turns of a conversation that a rule draws as a whole are one observation.
func TestGateCountsConversations(t *testing.T) {
	dsn := storetest.DSN(t)
	db := openTestStore(t, dsn)
	file := write(t, strings.Replace(settingsText, "rate: 1}", "rate: 1}\n  - {name: talks, rubric: support, rate: 0.5, unit: conversation}", 1))
	var list []record.Verdict
	for i := range 40 {
		v := verdictOf(i, "apology", record.OutcomePass, 0.5)
		v.ConversationID, v.Rule = fmt.Sprint("c", i/10), "talks"
		list = append(list, v)
	}
	if err := db.WriteVerdicts(t.Context(), nil, list); err != nil {
		t.Fatal(err)
	}
	got, err := printed(t, env("DOCKET_STORE", dsn), "gate", "--config", file, "--rubric", "support")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "40 conclusive verdicts of 4 conversations or traces, effective size 4.0")
}

func TestGateWithoutAStore(t *testing.T) {
	_, err := printed(t, env("DOCKET_STORE", "http://127.0.0.1:1/none"), "gate", "--rubric", "r")
	if err == nil || !strings.Contains(err.Error(), "store.dsn (DOCKET_STORE)") || strings.Contains(err.Error(), "data/clickhouse.port") {
		t.Errorf("got %v", err)
	}
	if hint := storeHint(store.DefaultConfig().DSN); !strings.Contains(hint, "data/clickhouse.port") {
		t.Errorf("nobody named a store: hint %q", hint)
	}
}
