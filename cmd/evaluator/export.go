package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"docket/internal/query"
	"docket/internal/record"
	"docket/internal/store"
)

// exportOptions are the flags of export.
type exportOptions struct {
	filter             record.InferenceFilter
	since, until, with string
	out, dsn           string
}

func (o *exportOptions) add(flags *flag.FlagSet) {
	flags.StringVar(&o.since, "since", "", "only calls from this time on: 2026-11-30T12:00:00Z, or an age such as 36h or 7d")
	flags.StringVar(&o.until, "until", "", "only calls before this time; the start of the export if it is missing")
	flags.StringVar(&o.filter.Project, "project", "", "only this project")
	flags.StringVar(&o.filter.Environment, "environment", "", "only this environment")
	flags.StringVar(&o.filter.Model, "model", "", "only this model")
	flags.StringVar(&o.filter.UserID, "user", "", "only calls of this user")
	flags.StringVar(&o.filter.ConversationID, "conversation", "", "only this conversation")
	flags.StringVar(&o.filter.TraceID, "trace", "", "only this trace")
	flags.StringVar(&o.filter.Rubric, "rubric", "", "only calls with a verdict of this rubric")
	flags.StringVar(&o.filter.Criterion, "criterion", "", "only calls with a verdict on this criterion")
	flags.StringVar(&o.filter.Outcome, "outcome", "", "only calls with a verdict of this outcome: "+strings.Join(query.Outcomes(), ", "))
	flags.StringVar(&o.filter.Feedback, "feedback", "", "only calls with feedback of this label, or any")
	flags.StringVar(&o.with, "with", strings.Join(query.Parts(), ","), "what to write beside the call itself, with commas; none for nothing")
	flags.StringVar(&o.out, "out", "", "file to write, compressed when its name ends in .gz; - is the standard output")
	flags.StringVar(&o.dsn, "store", "", "DSN of ClickHouse (store.dsn)")
}

// parts checks the flags and completes the filter.
func (o *exportOptions) parts(now time.Time) (parts []string, err error) {
	if o.filter.Since, err = timeFlag("since", o.since, now); err != nil {
		return nil, err
	}
	if o.filter.Until, err = timeFlag("until", o.until, now); err != nil {
		return nil, err
	}
	if o.filter.Until.IsZero() || o.filter.Until.After(now) {
		o.filter.Until = now // what arrives meanwhile is another export's
	}
	switch {
	case o.out == "":
		return nil, fmt.Errorf("--out: missing: want a file, or - for the standard output")
	case !o.filter.Since.Before(o.filter.Until):
		return nil, fmt.Errorf("--since %s: want a time before --until", o.since)
	case o.filter.Outcome != "" && !slices.Contains(query.Outcomes(), o.filter.Outcome):
		return nil, fmt.Errorf("--outcome %q: want one of %s", o.filter.Outcome, strings.Join(query.Outcomes(), ", "))
	case o.with == "none":
		return nil, nil
	}
	for p := range strings.SplitSeq(o.with, ",") {
		p = strings.TrimSpace(p)
		if !slices.Contains(query.Parts(), p) {
			return nil, fmt.Errorf("--with %q: want some of %s, or none", p, strings.Join(query.Parts(), ", "))
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// timeFlag reads a time, or an age.
func timeFlag(name, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UTC(), nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("--%s %q: want a time such as 2026-11-30T12:00:00Z, or an age such as 36h or 7d", name, s)
	}
	return now.Add(-d), nil
}

// exportLines writes calls with all that is known about them, one JSON object a
// line, newest first.
func exportLines(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, config := newFlags("export", stdout)
	var o exportOptions
	o.add(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	parts, err := o.parts(time.Now().UTC())
	if err != nil {
		return err
	}
	_, db, err := loadAndOpen(ctx, *config, o.dsn, getenv, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	out, err := createLines(o.out, stdout)
	if err != nil {
		return err
	}
	defer out.abandon()
	n, err := exporter{db: db, out: out, parts: parts, progress: os.Stderr}.run(ctx, o.filter)
	if err != nil {
		return fmt.Errorf("export: stopped after %d calls, nothing was kept in %s: %w", n, o.out, err)
	}
	if err := out.finish(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	fmt.Fprintf(os.Stderr, "%d calls written to %s\n", n, o.out)
	return nil
}

const (
	exportPage     = 500
	exportBytes    = 8 << 20 // of bodies that are read at once, about
	exportProgress = 5_000   // calls between two lines of progress
)

// exporter writes what a filter selects.
type exporter struct {
	db       *store.Store
	out      io.Writer
	parts    []string
	progress io.Writer
}

// run pages through the calls from the newest on. A page begins behind the last
// call of the one before, so calls that arrive meanwhile shift nothing.
func (e exporter) run(ctx context.Context, f record.InferenceFilter) (n int, err error) {
	f.Limit = exportPage
	for {
		rows, err := e.db.Inferences(ctx, f)
		if err != nil || len(rows) == 0 {
			return n, err
		}
		last := rows[len(rows)-1]
		f.Before = record.Cursor{Time: last.Time, ID: last.ID}
		for len(rows) > 0 {
			k := together(rows)
			if err := e.write(ctx, rows[:k]); err != nil {
				return n, err
			}
			rows = rows[k:]
			if n/exportProgress < (n+k)/exportProgress {
				fmt.Fprintf(e.progress, "%d calls, back to %s UTC\n", n+k, last.Time.Format("2006-01-02 15:04:05"))
			}
			n += k
		}
	}
}

// together is how many of the first rows may be in memory with their bodies.
func together(rows []record.Inference) int {
	size := uint64(0)
	for i, r := range rows {
		if size += r.RequestBytes + r.ResponseBytes; i > 0 && size > exportBytes {
			return i
		}
	}
	return len(rows)
}

func (e exporter) write(ctx context.Context, rows []record.Inference) error {
	details, err := e.db.Details(ctx, rows)
	if err != nil {
		return err
	}
	for _, d := range details {
		line, err := query.Line(d, e.parts)
		if err != nil {
			return fmt.Errorf("inference %s: %w", d.Inference.ID, err)
		}
		if _, err := e.out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
