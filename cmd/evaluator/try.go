package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/sync/errgroup"

	"docket/internal/evaluate"
	"docket/internal/judge"
	"docket/internal/quality"
	"docket/internal/record"
	"docket/internal/sampling"
	"docket/internal/store"
)

// tryRubric judges recent traffic by a rubric and stores nothing. It says first
// what it will cost.
func tryRubric(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, config := newFlags("try", stdout)
	dsn := storeFlag(flags)
	rubric := flags.String("rubric", "", "rubric to try; may be left out when there is only one")
	last := flags.Int("last", 50, "how many of the latest inferences to judge")
	project := flags.String("project", "", "only this project")
	model := flags.String("model", "", "only inferences of this model")
	only := flags.Bool("estimate", false, "say what it would cost and stop")
	limit := flags.Float64("max-usd", 1, "stop when the estimate is above this; 0 is no limit")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *last < 1 || *last > 10_000 {
		return fmt.Errorf("--last %d: want 1 to 10000", *last)
	}
	s, db, err := loadAndOpen(ctx, *config, *dsn, getenv, stdout)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	j, name, err := s.oneRubric(*rubric, nil, judge.Options{Log: warnings(stdout)})
	if err != nil {
		return err
	}
	units, err := recent(ctx, db, record.InferenceFilter{Project: *project, Model: *model}, *last)
	if err != nil {
		return err
	}
	if len(units) == 0 {
		return errors.New("try: no inference can be judged: none is recorded that is a whole chat or text generation")
	}
	cost, priced, err := estimate(ctx, stdout, j, name, units)
	if err != nil || *only {
		return err
	}
	if !priced && isSet(flags, "max-usd") && *limit > 0 {
		return fmt.Errorf("try: the cost is not known and --max-usd is %g: give the backend input_usd and output_usd, or say --max-usd 0", *limit)
	}
	if cost > *limit && *limit > 0 {
		return fmt.Errorf("try: the estimate is above --max-usd %g: raise it, or lower --last", *limit)
	}
	results := make([]judge.Result, len(units))
	if err := judgeUnits(ctx, s.evaluator.Concurrency, len(units), func(i int) { results[i] = j.Judge(ctx, name, units[i]) }); err != nil {
		return err
	}
	printTry(stdout, name, units, results)
	return nil
}

// recent reads the latest inferences that can be judged, newest first.
func recent(ctx context.Context, db *store.Store, f record.InferenceFilter, n int) ([]judge.Unit, error) {
	const page, pages = 500, 40
	f.Limit = page
	var found []record.Inference
	for range pages {
		rows, err := db.Inferences(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, inf := range rows {
			if len(found) < n && sampling.Eligible(evaluate.CandidateOf(inf), sampling.Eligibility{}) == "" {
				found = append(found, inf)
			}
		}
		if len(rows) < page || len(found) == n {
			break
		}
		f.Before = record.Cursor{Time: rows[page-1].Time, ID: rows[page-1].ID}
	}
	return unitsOf(ctx, db, found)
}

// unitsOf reads the bodies of inferences and builds what is judged.
func unitsOf(ctx context.Context, db *store.Store, list []record.Inference) ([]judge.Unit, error) {
	ids := make([]string, len(list))
	for i, inf := range list {
		ids[i] = inf.ID
	}
	bodies, err := db.InferenceBodies(ctx, ids)
	if err != nil {
		return nil, err
	}
	units := make([]judge.Unit, len(list))
	for i, inf := range list {
		units[i], _ = judge.UnitFrom(inf, bodies[inf.ID]) // a problem becomes the reason of the verdicts
	}
	return units, nil
}

// estimate prints what judging the units will cost and returns it in USD. It is
// not priced when the backend has no prices.
func estimate(ctx context.Context, w io.Writer, j *judge.Judge, rubric string, units []judge.Unit) (cost float64, priced bool, err error) {
	var sum judge.Estimate
	nano := uint64(0)
	priced = true
	for _, u := range units {
		e, err := j.Estimate(ctx, rubric, u)
		if err != nil {
			return 0, false, err
		}
		sum.Requests += e.Requests
		sum.InputTokens += e.InputTokens
		priced = priced && e.CostNanoUSD != nil
		if e.CostNanoUSD != nil {
			nano += *e.CostNanoUSD
		}
	}
	text := "cost unknown: the backend has no input_usd and output_usd"
	if priced {
		text = "about " + usd(nano) + " of input, output on top"
	}
	fmt.Fprintf(w, "%d inferences, %d requests to the judge, at most %d input tokens, %s\n", len(units), sum.Requests, sum.InputTokens, text)
	return float64(nano) / 1e9, priced, nil
}

// judgeUnits calls work for 0 to n-1, several at the same time, until ctx ends.
func judgeUnits(ctx context.Context, concurrency, n int, work func(i int)) error {
	var g errgroup.Group
	g.SetLimit(max(concurrency, 1))
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { work(i); return nil })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// printTry prints the verdicts, then the rates of each criterion.
func printTry(w io.Writer, rubric string, units []judge.Unit, results []judge.Result) {
	var calls []record.JudgeCall
	byName, order := map[string][]record.Verdict{}, []string{}
	for i, r := range results {
		fmt.Fprintf(w, "%s %s\n", units[i].Inference.ID, r.Outcome)
		for _, v := range r.Verdicts {
			fmt.Fprintf(w, "  %s\n", withFlags(v))
			if byName[v.Criterion] == nil {
				order = append(order, v.Criterion)
			}
			byName[v.Criterion] = append(byName[v.Criterion], v)
		}
		calls = append(calls, r.Calls...)
	}
	for _, name := range order {
		sample, others := quality.Observations(byName[name])
		r := quality.Weighted(sample, 0.95)
		fmt.Fprintf(w, "%s: pass rate %v (95 %% interval %v to %v) of %d; %d inconclusive, %d not applicable\n",
			name, r.Rate, r.Low, r.High, r.N, others[record.OutcomeInconclusive], others[record.OutcomeNotApplicable])
	}
	fmt.Fprintf(w, "rubric %s: %s%s; nothing was stored\n", rubric, spent(calls), perThousand(calls))
}

// perThousand is the cost of a thousand judged inferences, when it is known.
func perThousand(calls []record.JudgeCall) string {
	var nano uint64
	seen := map[string]bool{}
	for _, c := range calls {
		if c.CostNanoUSD == nil {
			return ""
		}
		nano += *c.CostNanoUSD
		seen[c.InferenceID] = true
	}
	if len(seen) == 0 {
		return ""
	}
	return fmt.Sprintf(", $%.4f per 1,000 judged inferences", math.Round(float64(nano)/float64(len(seen)))*1000/1e9)
}
