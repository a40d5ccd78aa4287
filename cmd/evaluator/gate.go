package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"docket/internal/quality"
	"docket/internal/record"
	"docket/internal/sampling"
	"docket/internal/store"
)

// gateOptions are the flags of gate.
type gateOptions struct {
	rubric, criterion, project, environment, model string
	min, confidence                                float64
	since                                          time.Duration

	byConversation map[string]bool // rules that draw whole conversations
}

func (o *gateOptions) add(flags *flag.FlagSet) {
	flags.StringVar(&o.rubric, "rubric", "", "rubric whose verdicts count")
	flags.StringVar(&o.criterion, "criterion", "", "only this criterion; by default all of the rubric")
	flags.StringVar(&o.project, "project", "", "only this project")
	flags.StringVar(&o.environment, "environment", "", "only this environment")
	flags.StringVar(&o.model, "model", "", "only inferences of this requested model")
	flags.Float64Var(&o.min, "min", 0.9, "lowest pass rate that lets the gate pass")
	flags.Float64Var(&o.confidence, "confidence", 0, "compare the lower bound of the interval at this one-sided confidence, such as 0.95, instead of the rate")
	flags.DurationVar(&o.since, "since", 24*time.Hour, "how far back the judged inferences go")
}

func (o *gateOptions) validate() error {
	switch {
	case o.rubric == "":
		return errors.New("--rubric: missing: want the rubric whose verdicts count")
	case !(o.min > 0 && o.min <= 1):
		return fmt.Errorf("--min %v: want a number above 0 and at most 1", o.min)
	case !(o.confidence == 0 || o.confidence >= 0.5 && o.confidence < 1):
		return fmt.Errorf("--confidence %v: want a number from 0.5 to below 1", o.confidence)
	case o.since <= 0:
		return fmt.Errorf("--since %v: want a time above 0", o.since)
	}
	return nil
}

// rateGate compares the pass rate of traffic with a minimum and fails below it.
func rateGate(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, config := newFlags("gate", stdout)
	dsn := storeFlag(flags)
	var o gateOptions
	o.add(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	s, db, err := loadAndOpen(ctx, *config, *dsn, getenv, stdout)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	o.byConversation = map[string]bool{}
	for _, r := range s.rules {
		o.byConversation[r.Name] = r.Unit == sampling.UnitConversation
	}
	verdicts, err := o.verdicts(ctx, db)
	if err != nil {
		return err
	}
	return o.decide(stdout, verdicts)
}

const verdictPage = 5000

// verdicts reads those that count. Of a criterion that judged an inference
// several times, by other versions or judges, only the latest counts.
func (o *gateOptions) verdicts(ctx context.Context, db *store.Store) ([]record.Verdict, error) {
	f := record.VerdictFilter{Project: o.project, Rubric: o.rubric, Criterion: o.criterion, Since: time.Now().Add(-o.since), Limit: verdictPage}
	type key struct{ inference, criterion string }
	latest := map[key]record.Verdict{}
	for {
		rows, err := db.Verdicts(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, v := range rows {
			if o.environment != "" && v.Environment != o.environment || o.model != "" && v.RequestModel != o.model {
				continue
			}
			k := key{v.InferenceID, v.Criterion}
			if was, ok := latest[k]; !ok || v.JudgedAt.After(was.JudgedAt) {
				latest[k] = v
			}
		}
		if len(rows) < verdictPage {
			return slices.Collect(maps.Values(latest)), nil
		}
		last := rows[len(rows)-1]
		f.Before = record.Cursor{Time: last.Time, ID: last.ID}
	}
}

// decide prints the rates and says whether the gate passes.
func (o *gateOptions) decide(w io.Writer, verdicts []record.Verdict) error {
	byName := map[string][]record.Verdict{}
	for _, v := range verdicts {
		byName[v.Criterion] = append(byName[v.Criterion], v)
	}
	for _, name := range sortedNames(byName) {
		o.print(w, "criterion "+name, byName[name])
		if n := configurations(byName[name]); n > 1 {
			fmt.Fprintf(w, "  note: verdicts of %d versions or judge configurations are in this rate\n", n)
		}
	}
	what := "rubric " + o.rubric
	if o.criterion != "" {
		what += ", criterion " + o.criterion
	}
	all := o.print(w, what, verdicts)
	if all.N == 0 {
		return fmt.Errorf("gate: nothing_judged: no conclusive verdict of %s in the last %v", what, o.since)
	}
	value, name := all.Rate, "rate"
	if o.confidence > 0 {
		value, name = all.Low, fmt.Sprintf("lower bound at confidence %g", o.confidence)
	}
	if float64(value) < o.min {
		return fmt.Errorf("gate: below_minimum: %s: %s %.4f is below %g", what, name, float64(value), o.min)
	}
	fmt.Fprintf(w, "gate passed: %s %.4f is at least %g\n", name, float64(value), o.min)
	return nil
}

// print shows one rate. The interval is two-sided; its lower end at 2c-1 is the
// bound at the one-sided confidence c.
func (o *gateOptions) print(w io.Writer, what string, verdicts []record.Verdict) quality.Rate {
	sample, others := quality.ObservationsBy(verdicts, o.cluster)
	twoSided := 0.95
	if o.confidence > 0 {
		twoSided = max(2*o.confidence-1, 1e-9)
	}
	r := quality.Weighted(sample, twoSided)
	fmt.Fprintf(w, "%s: pass rate %v (%.3g %% interval %v to %v), %d conclusive verdicts of %d %s, effective size %.1f",
		what, r.Rate, 100*twoSided, r.Low, r.High, r.N, r.Clusters, o.clusters(verdicts), r.Effective)
	if total := len(verdicts); total > 0 {
		for _, outcome := range sortedNames(others) {
			fmt.Fprintf(w, "; %d %s (%.1f %%)", others[outcome], strings.ReplaceAll(outcome, "_", " "), 100*float64(others[outcome])/float64(total))
		}
	}
	fmt.Fprintln(w)
	return r
}

// cluster is what got into the sample together with a verdict: its trace, or its
// conversation where the rule draws by conversation.
func (o *gateOptions) cluster(v record.Verdict) string {
	if o.byConversation[v.Rule] {
		return quality.ByConversation(v)
	}
	return quality.ByTrace(v)
}

// clusters names what the verdicts were drawn by.
func (o *gateOptions) clusters(verdicts []record.Verdict) string {
	if slices.ContainsFunc(verdicts, func(v record.Verdict) bool { return o.byConversation[v.Rule] }) {
		return "conversations or traces"
	}
	return "traces"
}

func configurations(verdicts []record.Verdict) int {
	seen := map[[2]string]bool{}
	for _, v := range verdicts {
		seen[[2]string{v.CriterionVersion, v.JudgeConfig}] = true
	}
	return len(seen)
}
