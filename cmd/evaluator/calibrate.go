package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"docket/internal/judge"
	"docket/internal/quality"
	"docket/internal/record"
	"docket/internal/store"
)

// calibrateOptions are the flags of calibrate.
type calibrateOptions struct {
	rubric, labels, project, fit, partial, dsn string
	repeat, limit                              int
	seed                                       uint64
	noStore                                    bool
}

func (o *calibrateOptions) add(flags *flag.FlagSet) {
	flags.StringVar(&o.rubric, "rubric", "", "rubric to calibrate; may be left out when there is only one")
	flags.StringVar(&o.labels, "labels", "store", "file of labelled cases (JSON lines), or store for the labels that people gave to traffic")
	flags.StringVar(&o.project, "project", "", "labels of the store: only this project")
	flags.StringVar(&o.partial, "partial", partialFails, "what labels of a file that say partial count as: fail, or skip to leave them out")
	flags.StringVar(&o.fit, "fit", "", "platt: fit a calibration of the probability")
	flags.StringVar(&o.dsn, "store", "", "DSN of ClickHouse (store.dsn)")
	flags.IntVar(&o.repeat, "repeat", 1, "how often each case is asked, to see how much the judge differs from itself")
	flags.IntVar(&o.limit, "limit", 0, "only the first cases; 0 is all")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of resampling and folds")
	flags.BoolVar(&o.noStore, "no-store", false, "store nothing: neither answers, to go on from, nor the report")
}

func (o *calibrateOptions) validate() error {
	switch {
	case o.fit != "" && o.fit != "platt":
		return fmt.Errorf("--fit %q: want platt, or leave it out", o.fit)
	case o.partial != partialFails && o.partial != partialSkip:
		return fmt.Errorf("--partial %q: want fail or skip", o.partial)
	case o.repeat < 1 || o.repeat > 100:
		return fmt.Errorf("--repeat %d: want 1 to 100", o.repeat)
	case o.limit < 0:
		return fmt.Errorf("--limit %d: want 0 or more", o.limit)
	case o.labels == "store" && o.noStore:
		return errors.New("--no-store: the labels are in the store; want --labels FILE with it")
	}
	return nil
}

// calibrate asks the judge about cases that people labelled, and says for each
// criterion how well the two agree.
func calibrate(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, config := newFlags("calibrate", stdout)
	var o calibrateOptions
	o.add(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	s, err := load(*config, overlay(getenv, map[string]string{"DOCKET_STORE_DSN": o.dsn}))
	if err != nil {
		return err
	}
	s.judge.CacheWindow = 0 // an answer from memory says nothing about repeats
	for name, r := range s.rubrics {
		r.UseCalibrated, r.Reasons = false, "" // the judge's own probability is what is measured
		s.rubrics[name] = r
	}
	j, name, err := s.oneRubric(o.rubric, nil, judge.Options{Log: warnings(stdout)})
	if err != nil {
		return err
	}
	var db *store.Store
	if !o.noStore {
		if db, err = openStore(ctx, s, stdout); err != nil {
			return fmt.Errorf("%w (--no-store works without one)", err)
		}
		defer func() { _ = db.Close() }()
	}
	cases, err := o.cases(ctx, db, s.rubrics[name], stdout)
	if err != nil {
		return err
	}
	for _, c := range cases {
		if err := j.CheckCriteria(name, criteriaOr(c.unit.Criteria, s.rubrics[name].Criteria)); err != nil {
			return fmt.Errorf("--labels: case %s: %w", c.name, err)
		}
	}
	a := &asking{
		judge: j, rubric: name, store: db, cases: cases, repeats: o.repeat,
		concurrency: s.evaluator.Concurrency, stdout: stdout,
	}
	if err := a.run(ctx); err != nil {
		return err
	}
	return o.report(ctx, stdout, a, s.rubrics[name])
}

func criteriaOr(own, rubric []judge.Criterion) []judge.Criterion {
	if len(own) > 0 {
		return own
	}
	return rubric
}

func (o *calibrateOptions) cases(ctx context.Context, db *store.Store, rubric judge.Rubric, w io.Writer) ([]labelledCase, error) {
	var cases []labelledCase
	var skipped skippedLabels
	var err error
	if o.labels == "store" {
		cases, skipped, err = casesOfStore(ctx, db, o.project, rubric)
	} else {
		cases, skipped, err = casesOfFile(o.labels, o.partial, rubric)
	}
	if err != nil {
		return nil, err
	}
	if o.limit > 0 && len(cases) > o.limit {
		cases = cases[:o.limit]
	}
	fmt.Fprintf(w, "%d labelled cases of %s; %v\n", len(cases), o.labels, skipped)
	if n := partials(cases); n > 0 {
		fmt.Fprintf(w, "%d labels say partial and count as fail: what is met in part is not met (--partial skip leaves them out)\n", n)
	}
	if len(cases) == 0 {
		return nil, errors.New("calibrate: no labelled case: label some calls on the page, or give a file with --labels")
	}
	return cases, nil
}

func partials(cases []labelledCase) int {
	n := 0
	for _, c := range cases {
		if c.partial {
			n++
		}
	}
	return n
}

// report prints and stores one report for each criterion, version, judge
// configuration, model and method.
func (o *calibrateOptions) report(ctx context.Context, w io.Writer, a *asking, rubric judge.Rubric) error {
	groups, unanswered := grouped(a)
	var rows []record.Calibration
	for _, g := range groups {
		r := quality.NewReport(g.cases, g.answers, g.key.threshold, o.seed)
		var problem string
		if o.fit != "" {
			r.Fit, problem = fitted(g, o.seed)
		}
		printReport(w, g, r, problem)
		row, err := g.row(r)
		if err != nil {
			return err
		}
		row.Rubric, row.Labels, row.Time = a.rubric, o.labels, time.Now().UTC().Truncate(time.Microsecond)
		rows = append(rows, row)
	}
	printUnanswered(w, unanswered)
	noteOtherVersions(w, a, rubric)
	if len(rows) == 0 {
		return errors.New("calibrate: the judge answered no case")
	}
	if a.store == nil {
		return nil
	}
	if err := a.store.WriteCalibrations(ctx, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d reports stored in calibrations\n", len(rows))
	return nil
}

// fitted is the calibration of a group, or why there is none.
func fitted(g *group, seed uint64) (*quality.Fit, string) {
	fit, err := quality.NewFit(g.cases, g.key.threshold, seed)
	switch {
	case err != nil:
		return nil, err.Error()
	case !(fit.Slope > 0) && constant(g.cases):
		return nil, "the judge says the same of every case"
	case !(fit.Slope > 0):
		return nil, "the judge's probability falls where people's rises: no calibration can mend that"
	}
	return fit, ""
}

func constant(cases []quality.Labelled) bool {
	for _, c := range cases {
		if c.P != cases[0].P {
			return false
		}
	}
	return true
}

func (g *group) row(r quality.Report) (record.Calibration, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return record.Calibration{}, fmt.Errorf("encode the report on %s: %w", g.key.criterion, err)
	}
	row := record.Calibration{
		Criterion: g.key.criterion, CriterionVersion: g.key.version, CriterionText: g.text, JudgeConfig: g.key.config,
		Backend: g.key.backend, JudgeModel: g.key.model, Method: g.key.method, N: uint32(len(g.cases)),
		Threshold: g.key.threshold, Report: string(data),
	}
	if r.Fit != nil {
		row.Slope, row.Intercept = &r.Fit.Slope, &r.Fit.Intercept
	}
	return row, nil
}
