package main

import (
	"strings"
	"testing"

	"docket/internal/record"
	"docket/internal/store/storetest"
)

func TestBackfill(t *testing.T) {
	dsn := storetest.DSN(t)
	judge := &scriptedJudge{answers: map[string]float64{"apologises": 0.9}}
	text := judgedBy(t, judge)
	getenv := env("DOCKET_STORE", dsn)
	// Half of the values of R are below the threshold of rate 0.5.
	for i := range 6 {
		capturedAs(t, dsn, "Sorry!", func(inf *record.Inference) { inf.SampleValue = uint64(i%2) << 55 })
	}
	half := write(t, strings.Replace(text, "rate: 1", "rate: 0.5", 1))
	judgeAll(t, dsn, half, 6)
	if n := len(judge.requests()); n != 3 {
		t.Fatalf("%d live requests, want 3", n)
	}

	got, err := printed(t, getenv, "backfill", "--config", half, "--rubric", "support", "--since", "1h")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "6 seen, 0 not eligible, 0 not matched, 0 not sampled, 3 judged before, 3 judged now, $0.000720", "6 verdicts that were sampled at a lower rate")
	want := "backfill\t1\t6\nonline\t1\t6\n"
	if got := storetest.Exec(t, dsn, "SELECT origin, any(inclusion_p), count() FROM verdicts FINAL GROUP BY origin ORDER BY origin"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := storetest.Exec(t, dsn, "SELECT sum(n) FROM quality_hourly FINAL"); got != "12\n" {
		t.Errorf("hourly sums count %s", got)
	}
	got, err = printed(t, getenv, "backfill", "--config", half, "--rule", "everything")
	if err != nil || len(judge.requests()) != 6 {
		t.Errorf("%v: %d requests\n%s", err, len(judge.requests()), got)
	}
	contains(t, got, "3 not sampled, 3 judged before, 0 judged now")

	// The rubric's ceiling of the day counts what serve and backfill did before.
	bounded := write(t, strings.Replace(strings.Replace(text, "criteria:", "max_calls_per_day: 7\n    criteria:", 1), "name: apology", "name: sorry", 1))
	got, err = printed(t, getenv, "backfill", "--config", bounded, "--rubric", "support")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.TrimSpace(storetest.Exec(t, dsn, "SELECT countIf(reason = 'over_budget') FROM verdicts FINAL WHERE criterion = 'sorry'")); n != "5" || len(judge.requests()) != 7 {
		t.Errorf("%s verdicts are over budget, %d requests\n%s", n, len(judge.requests()), got)
	}

	for name, c := range map[string]struct {
		want string
		args []string
	}{
		"neither":        {"one of --rule and --rubric", nil},
		"both":           {"one of --rule and --rubric", []string{"--rule", "everything", "--rubric", "support"}},
		"unknown rule":   {`--rule "x": want one of everything`, []string{"--rule", "x"}},
		"unknown rubric": {`rubric "x"`, []string{"--rubric", "x"}},
		"rate of 0":      {"rate 0", []string{"--rubric", "support", "--rate", "0"}},
		"times":          {"--since 1h0m0s, --until 2h0m0s", []string{"--rubric", "support", "--since", "1h", "--until", "2h"}},
		"budget":         {"--max-usd -1", []string{"--rubric", "support", "--max-usd", "-1"}},
	} {
		if got, err := printed(t, getenv, append([]string{"backfill", "--config", half}, c.args...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}
