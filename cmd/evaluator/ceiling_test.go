package main

import (
	"strings"
	"testing"

	"docket/internal/store/storetest"
)

// A ceiling of cost that somebody sets is no ceiling while the cost is unknown:
// nothing is spent on the strength of it.
func TestCeilingsNeedPrices(t *testing.T) {
	dsn := storetest.DSN(t)
	judge := &scriptedJudge{answers: map[string]float64{"apologises": 0.9, "amount": 0.8}}
	priced := judgedBy(t, judge)
	text := strings.Replace(priced, ", input_usd: 2, output_usd: 4", "", 1)
	if text == priced {
		t.Fatal("the settings have no prices to remove")
	}
	file, getenv := write(t, text), env("DOCKET_STORE", dsn)
	captured(t, dsn, "Sorry!")
	if got, err := printed(t, getenv, "try", "--config", file, "--max-usd", "1"); err == nil || !strings.Contains(err.Error(), "the cost is not known and --max-usd is 1") || len(judge.requests()) != 0 {
		t.Errorf("try: %v, %d requests\n%s", err, len(judge.requests()), got)
	}
	for _, args := range [][]string{nil, {"--max-usd", "0"}} {
		if got, err := printed(t, getenv, append([]string{"try", "--config", file}, args...)...); err != nil {
			t.Errorf("try %v: %v\n%s", args, err, got)
		}
	}
	recordMany(t, exportStore(t, dsn), 250) // more than a page
	before := len(judge.requests())
	got, err := printed(t, getenv, "backfill", "--config", file, "--rubric", "support", "--max-usd", "1")
	if err == nil || !strings.Contains(err.Error(), "over_budget: stopped, since the cost of 200 calls is not known") || len(judge.requests()) != before+200 {
		t.Errorf("backfill: %v, %d requests\n%s", err, len(judge.requests())-before, got)
	}
	got, err = printed(t, getenv, "backfill", "--config", file, "--rubric", "support")
	if err != nil || !strings.Contains(got, "51 calls of unknown cost, which --max-usd does not count") {
		t.Errorf("backfill without a ceiling: %v\n%s", err, got)
	}
	epochs := storetest.Exec(t, dsn, "SELECT rule, reason, sum(count) FROM eval_epochs GROUP BY ALL FORMAT TSVRaw")
	if epochs != "backfill\tbackfilled\t251\n" {
		t.Errorf("epochs %q", epochs)
	}
}
