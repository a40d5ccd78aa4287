package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"docket/internal/evaluate"
	"docket/internal/judge"
	"docket/internal/record"
	"docket/internal/sampling"
)

// backfillOptions are the flags of backfill.
type backfillOptions struct {
	rubric, rule, project, environment, model, dsn string
	since, until                                   time.Duration
	rate, maxUSD                                   float64
	retry                                          bool
}

func (o *backfillOptions) add(flags *flag.FlagSet) {
	flags.StringVar(&o.rule, "rule", "", "rule of the settings to apply: its rubric, filters and rates")
	flags.StringVar(&o.rubric, "rubric", "", "instead of a rule: rubric to judge by, at --rate")
	flags.Float64Var(&o.rate, "rate", 1, "with --rubric: share that is judged")
	flags.DurationVar(&o.since, "since", 24*time.Hour, "how far back to begin")
	flags.DurationVar(&o.until, "until", 0, "how far back to end; 0 is now")
	flags.StringVar(&o.project, "project", "", "only this project")
	flags.StringVar(&o.environment, "environment", "", "only this environment")
	flags.StringVar(&o.model, "model", "", "only this model")
	flags.Float64Var(&o.maxUSD, "max-usd", 1, "stop when this is spent; 0 is no limit")
	flags.BoolVar(&o.retry, "retry", false, "also judge again what was inconclusive")
	flags.StringVar(&o.dsn, "store", "", "DSN of ClickHouse (store.dsn)")
}

// chosen is the rule that is applied.
func (o *backfillOptions) chosen(s *settings) (sampling.Rule, error) {
	if (o.rule == "") == (o.rubric == "") {
		return sampling.Rule{}, errors.New("want one of --rule and --rubric")
	}
	if o.since <= o.until || o.until < 0 {
		return sampling.Rule{}, fmt.Errorf("--since %v, --until %v: want --since further back than --until", o.since, o.until)
	}
	if !(o.maxUSD >= 0) {
		return sampling.Rule{}, fmt.Errorf("--max-usd %v: want 0 or more", o.maxUSD)
	}
	if o.rubric != "" {
		r := sampling.Rule{Name: "backfill", Rubric: o.rubric, Rate: o.rate}
		r.SetDefaults()
		return r, r.Validate(sortedNames(s.rubrics))
	}
	var names []string
	for _, r := range s.rules {
		names = append(names, r.Name)
	}
	if i := slices.Index(names, o.rule); i >= 0 {
		return s.rules[i], nil
	}
	return sampling.Rule{}, fmt.Errorf("--rule %q: want one of %s", o.rule, strings.Join(names, ", "))
}

// backfill judges what was recorded before.
func backfill(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, config := newFlags("backfill", stdout)
	var o backfillOptions
	o.add(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	s, err := load(*config, overlay(getenv, map[string]string{"DOCKET_STORE_DSN": o.dsn}))
	if err != nil {
		return err
	}
	rule, err := o.chosen(s)
	if err != nil {
		return err
	}
	db, err := openStore(ctx, s, stdout)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	j, _, err := s.oneRubric(rule.Rubric, nil, judge.Options{Log: warnings(stdout), Spent: db.JudgeSpent})
	if err != nil {
		return err
	}
	out, err := newExport(ctx, getenv, warnings(stdout))
	if err != nil {
		return err
	}
	defer out.close()
	now := time.Now()
	f := record.InferenceFilter{Project: o.project, Environment: o.environment, Model: o.model, Since: now.Add(-o.since), Until: now.Add(-o.until)}
	n, err := evaluate.Backfill{
		Store: db, Judge: j, Rule: rule, Filter: f, Retry: o.retry, Concurrency: s.evaluator.Concurrency, MaxNanoUSD: uint64(o.maxUSD * 1e9),
		PricedOnly: o.maxUSD > 0 && isSet(flags, "max-usd"), Instance: "backfill", Verdicts: out.verdictsWritten, Spans: out.spansWritten,
		Progress: func(at time.Time, n evaluate.BackfillCount) {
			fmt.Fprintf(stdout, "back to %s UTC: %d judged of %d seen, %s\n", at.Format("2006-01-02 15:04:05"), n.Judged, n.Seen, usd(n.NanoUSD))
		},
	}.Run(ctx)
	fmt.Fprintf(stdout, "rule %s, rubric %s: %d seen, %d not eligible, %d not matched, %d not sampled, %d judged before, %d judged now, %s%s\n",
		rule.Name, rule.Rubric, n.Seen, n.NotEligible, n.NotMatched, n.NotSampled, n.Known, n.Judged, usd(n.NanoUSD), unpriced(n.Unpriced))
	if n.Reweighted > 0 {
		fmt.Fprintf(stdout, "%d verdicts that were sampled at a lower rate now have the probability of this one\n", n.Reweighted)
	}
	if n.Judged+n.Reweighted > 0 { // also what was done before it was stopped
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, db.RefreshQuality(grace, f.Since, f.Until))
	}
	if err == nil && n.OverBudget && n.Unpriced > 0 {
		return fmt.Errorf("backfill: over_budget: stopped, since the cost of %d calls is not known and --max-usd is %g: give the backend input_usd and output_usd, or say --max-usd 0", n.Unpriced, o.maxUSD)
	}
	if err == nil && n.OverBudget {
		return fmt.Errorf("backfill: over_budget: stopped at --max-usd %g; the same command goes on from here", o.maxUSD)
	}
	return err
}

func unpriced(calls int) string {
	if calls == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d calls of unknown cost, which --max-usd does not count", calls)
}
