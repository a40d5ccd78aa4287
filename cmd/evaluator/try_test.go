package main

import (
	"strings"
	"testing"

	"docket/internal/record"
	"docket/internal/store/storetest"
)

func TestTryStoresNothing(t *testing.T) {
	dsn := storetest.DSN(t)
	judge := &scriptedJudge{answers: map[string]float64{"apologises": 0.9, "amount": 0.8, "No way": 0.1}}
	config := write(t, judgedBy(t, judge))
	getenv := env("DOCKET_STORE", dsn)
	openTestStore(t, dsn)
	if _, err := printed(t, getenv, "try", "--config", config); err == nil || !strings.Contains(err.Error(), "no inference can be judged") {
		t.Errorf("nothing recorded: %v", err)
	}
	oldest := captured(t, dsn, "Sorry, the first!")
	captured(t, dsn, "Sorry!")
	capturedAs(t, dsn, "", func(i *record.Inference) { i.ToolStep = true })
	captured(t, dsn, "No way.")

	got, err := printed(t, getenv, "try", "--config", config, "--rubric", "support", "--last", "2", "--estimate")
	if err != nil || len(judge.requests()) != 0 {
		t.Fatalf("an estimate asks the judge %d times: %v", len(judge.requests()), err)
	}
	contains(t, got, "2 inferences, 2 requests to the judge, at most ", "about $0.00", " of input, output on top")
	if got, err = printed(t, getenv, "try", "--config", config, "--max-usd", "0.000001"); err == nil || !strings.Contains(err.Error(), "--max-usd") || len(judge.requests()) != 0 {
		t.Errorf("above the limit: %v, %d requests\n%s", err, len(judge.requests()), got)
	}

	got, err = printed(t, getenv, "try", "--config", config, "--last", "2")
	if err != nil {
		t.Fatal(err)
	}
	if at := strings.Index(got, "2 inferences, "); at != 0 {
		t.Errorf("the cost does not come first:\n%s", got)
	}
	contains(t, got, "PASS judge: The reply apologises: scored 0.90", "FAIL judge: The reply apologises: scored 0.10",
		"apology: pass rate 0.500 (95 % interval 0.095 to 0.905) of 2; 0 inconclusive, 0 not applicable",
		"$0.000480, $0.2400 per 1,000 judged inferences; nothing was stored")
	if strings.Contains(got, oldest.ID) || len(judge.requests()) != 2 {
		t.Errorf("want the last two, %d requests:\n%s", len(judge.requests()), got)
	}
	for _, table := range []string{"verdicts", "judge_calls"} {
		if n := strings.TrimSpace(storetest.Exec(t, dsn, "SELECT count() FROM "+table)); n != "0" {
			t.Errorf("%s has %s rows", table, n)
		}
	}
	if _, err := printed(t, getenv, "try", "--config", config, "--last", "0"); err == nil || !strings.Contains(err.Error(), "--last 0") {
		t.Errorf("--last 0: %v", err)
	}
}
