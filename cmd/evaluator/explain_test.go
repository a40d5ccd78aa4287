package main

import (
	"regexp"
	"strings"
	"testing"

	"docket/internal/record"
	"docket/internal/store/storetest"
)

// judgeAll lets an evaluator judge what is captured, and stops it.
func judgeAll(t *testing.T, dsn, config string, verdicts int) {
	t.Helper()
	base, _, stop := program(t, env("DOCKET_STORE", dsn), "serve", "--config", config, "--listen", "127.0.0.1:0")
	await(t, "verdicts", func() bool {
		var got verdictsAnswer
		fetch(t, base+"/api/v1/verdicts?limit=500", &got)
		return len(got.Verdicts) == verdicts
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func contains(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestExplainJudged(t *testing.T) {
	dsn := storetest.DSN(t)
	judge := &scriptedJudge{answers: map[string]float64{"apologises": 0.9}}
	text := judgedBy(t, judge)
	inf := captured(t, dsn, "Sorry!")
	judgeAll(t, dsn, write(t, text), 2)
	storetest.Exec(t, dsn, "INSERT INTO human_labels (ts, project, criterion, inference_id, annotator, label, comment, selection_p) VALUES (now64(6), 'default', 'amount', '"+inf.ID+"', 'ann', 'fail', 'no sum', 0)")

	getenv := env("DOCKET_STORE", dsn)
	got, err := printed(t, getenv, "explain", inf.ID, "--config", write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got,
		"recorded: yes; bodies: kept", "eligible: yes", "matched: yes",
		">= T 00000000000000, inclusion probability 1 in stratum ok",
		"PASS judge: The reply apologises: scored 0.90, needed 0.50", "FAIL judge: The reply states the amount: scored 0.50, needed 0.75",
		", as in the settings of now", "yes when: ", "judge decider, configuration ", "model decider-1, method decision",
		"asked for model decider, 2 questions, $0.000240, 100 tokens in, 10 out", "service docket-judge", "label: ann says fail of amount: no sum",
	)
	if !regexp.MustCompile(`question: .*The reply apologises`).MatchString(got) {
		t.Errorf("no question in:\n%s", got)
	}
	trace := strings.TrimSpace(storetest.Exec(t, dsn, "SELECT any(judge_trace_id) FROM verdicts"))
	contains(t, got, "judge's own trace "+trace)
	if strings.Contains(got, "stopped at") {
		t.Errorf("it went through every gate:\n%s", got)
	}

	// Settings that changed since are not taken for those of then.
	changed := strings.NewReplacer("The reply apologises.", "The reply says sorry.", "rate: 1}", "rate: 0.0000001}").Replace(text)
	got, err = printed(t, getenv, "explain", "--config", write(t, changed), inf.ID)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "so the question was another one", "question: made from: The reply apologises.", "sampled: it was, though the settings of now would not")
	got, err = printed(t, getenv, "explain", inf.ID)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "Judging is off", "rubric support: judged, though no rule", "not in the settings of now")
}

// Each gate is named where an inference stops.
func TestExplainNamesTheFailedGate(t *testing.T) {
	dsn := storetest.DSN(t)
	getenv := env("DOCKET_STORE", dsn)
	text := judgedBy(t, &scriptedJudge{})
	inf := captured(t, dsn, "Sorry!")
	step := capturedAs(t, dsn, "", func(i *record.Inference) { i.ToolStep = true })
	for name, c := range map[string]struct {
		id, config string
		wants      []string
	}{
		"recorded":   {"0197b9a0-0000-7000-8000-000000000001", text, []string{"stopped at: recorded", "capture_gaps"}},
		"eligible":   {step.ID, text, []string{"eligible: no: tool_step: ", "stopped at: eligible"}},
		"matched":    {inf.ID, strings.Replace(text, "rate: 1", "rate: 1, match: {models: [other*]}", 1), []string{`matched: no: a filter of the rule keeps it out: models are other*, it has "m"`, "stopped at: matched"}},
		"sampled":    {inf.ID, strings.Replace(text, "rate: 1", "rate: 0.0000001", 1), []string{"sampled: no: R ", " < T ffff", "stopped at: sampled"}},
		"judged":     {inf.ID, text, []string{"sampled: yes", "judged: no: ", "stopped at: judged"}},
		"no rule":    {inf.ID, text[:strings.Index(text, "rules:")], []string{"Judging is off", "stopped at: judging is on"}},
		"upper case": {strings.ToUpper(inf.ID), text, []string{"inference " + inf.ID}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := printed(t, getenv, "explain", c.id, "--config", write(t, c.config))
			if err != nil {
				t.Fatal(err)
			}
			contains(t, got, c.wants...)
		})
	}
	for _, args := range [][]string{{}, {"x"}, {inf.ID, inf.ID}, {inf.ID, "--config", "/nowhere/docket.yaml"}} {
		if got, err := printed(t, getenv, append([]string{"explain"}, args...)...); err == nil {
			t.Errorf("explain %v: no error:\n%s", args, got)
		}
	}
}
