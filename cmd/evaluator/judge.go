package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"docket/internal/judge"
	"docket/internal/record"
)

// judgeFile judges one conversation in a file and prints a line for each
// criterion. Nothing is stored.
func judgeFile(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, config := newFlags("judge", stdout)
	file := flags.String("file", "", "JSON file with the conversation: messages, and if wanted tools, sources, expected, criteria")
	rubric := flags.String("rubric", "", "rubric to judge by; may be left out when there is only one, or when the file has criteria")
	dry := flags.Bool("dry-run", false, "print the exact request to the judge and send nothing")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *file == "" {
		return errors.New("--file: missing: want a JSON file with a conversation")
	}
	data, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	c, err := readConversation(data)
	if err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	s, err := load(*config, getenv)
	if err != nil {
		return err
	}
	j, name, err := s.oneRubric(*rubric, c.Criteria, judge.Options{Log: warnings(stdout)})
	if err != nil {
		return err
	}
	u, err := c.unit()
	if err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	u.Criteria = named(s.rubrics[name], u.Criteria)
	if len(u.Criteria) > 0 {
		if err := j.CheckCriteria(name, u.Criteria); err != nil {
			return fmt.Errorf("%s: %w", *file, err)
		}
	}
	if *dry {
		return printRequests(ctx, stdout, j, name, u)
	}
	printResult(stdout, name, j.Judge(ctx, name, u))
	return nil
}

// warnings logs only what needs attention: these commands print results.
func warnings(stdout io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(stdout, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func printRequests(ctx context.Context, w io.Writer, j *judge.Judge, rubric string, u judge.Unit) error {
	requests, err := j.DryRun(ctx, rubric, u)
	if err != nil {
		return err
	}
	if len(requests) == 0 {
		why := "no judge is asked for these criteria"
		if u.Problem != "" {
			why = u.Problem
		}
		fmt.Fprintf(w, "no request would be sent: %s\n", why)
	}
	for i, r := range requests {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "POST %s\n", r.URL)
		for _, name := range sortedNames(r.Header) {
			fmt.Fprintf(w, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
		}
		fmt.Fprintf(w, "\n%s\n", r.Body)
	}
	return nil
}

// printResult prints a line for each criterion and one for the rubric.
func printResult(w io.Writer, rubric string, r judge.Result) {
	for _, v := range r.Verdicts {
		fmt.Fprintln(w, withFlags(v))
	}
	score := "no score"
	if r.Score != nil {
		score = fmt.Sprintf("score %.2f", *r.Score)
	}
	fmt.Fprintf(w, "rubric %s: %s, %s; %s\n", rubric, r.Outcome, score, spent(r.Calls))
}

// withFlags is the result line with what a reader should know beside it.
func withFlags(v record.Verdict) string {
	if len(v.Flags) == 0 {
		return v.Line()
	}
	return v.Line() + " [" + strings.Join(v.Flags, ", ") + "]"
}

// spent sums up what calls to judges cost.
func spent(calls []record.JudgeCall) string {
	var nano uint64
	var took time.Duration
	known := true
	for _, c := range calls {
		took += c.Latency
		known = known && c.CostNanoUSD != nil
		if c.CostNanoUSD != nil {
			nano += *c.CostNanoUSD
		}
	}
	out := fmt.Sprintf("%d judge calls in %v, ", len(calls), took.Round(time.Millisecond))
	if known {
		return out + usd(nano)
	}
	return out + "cost unknown"
}

func usd(nano uint64) string { return fmt.Sprintf("$%.6f", float64(nano)/1e9) }
