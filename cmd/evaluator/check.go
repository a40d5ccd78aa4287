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

	"docket/internal/capture"
	"docket/internal/config"
	"docket/internal/judge"
	"docket/internal/proxy"
	"docket/internal/spool"
	"docket/internal/store"
)

// check reads the whole settings file and says whether it is right.
func check(_ context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, file := newFlags("check", stdout)
	if err := parse(flags, args); err != nil {
		return err
	}
	s, err := load(*file, getenv)
	// Both read the file: what makes it unreadable is said once.
	if more := checkProxy(*file, getenv); err == nil || more != nil && more.Error() != err.Error() {
		err = errors.Join(err, more)
	}
	if err != nil {
		return err
	}
	if s.canJudge() {
		if _, err := judge.New(s.judge, s.rubrics, judge.Options{}); err != nil {
			return err
		}
	}
	if off := s.judgingOff(); off != "" {
		fmt.Fprintln(stdout, off)
	}
	for _, name := range slices.Sorted(maps.Keys(s.rubrics)) {
		for _, w := range s.rubrics[name].Warnings() {
			fmt.Fprintf(stdout, "warning: rubrics.%s: %s\n", name, w)
		}
	}
	fmt.Fprintf(stdout, "ok: %d rubrics, %d rules\n", len(s.rubrics), len(s.rules))
	return nil
}

// checkProxy checks the sections that only the proxy uses.
func checkProxy(file string, getenv func(string) string) error {
	type captureSection struct {
		capture.Config `yaml:",inline"`
		Spool          spool.Config `yaml:"spool"`
	}
	forward := proxy.DefaultConfig()
	copies := captureSection{Config: capture.DefaultConfig(), Spool: spool.DefaultConfig()}
	sections := map[string]any{"proxy": &forward, "capture": &copies}
	known := []string{"store", "judge", "rubrics", "rules", "evaluator"}
	environ := slices.DeleteFunc(os.Environ(), func(e string) bool { // the rest is the evaluator's to judge
		return !strings.HasPrefix(e, "DOCKET_PROXY_") && !strings.HasPrefix(e, "DOCKET_CAPTURE_")
	})
	if err := config.Load(config.File(file, getenv), getenv, environ, sections, known); err != nil {
		return err
	}
	forward = forward.WithUpstream(getenv("DOCKET_UPSTREAM"), getenv("DOCKET_UPSTREAM_KEY"))
	return errors.Join(
		config.Validate(map[string]any{"proxy": checked{func() error { return proxy.Check(forward) }}, "capture": &copies.Config}),
		config.Validate(map[string]any{"capture.spool": &copies.Spool}),
		copies.ValidateSpool(copies.Spool.SegmentBytes, copies.Spool.MaxBytes),
		copies.ValidateUpstreams(forward.HasUpstream),
	)
}

// checked is a section with a check of its own.
type checked struct{ check func() error }

// Validate calls the check.
func (c checked) Validate() error { return c.check() }

// migrate creates and updates the tables once.
func migrate(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, file := newFlags("migrate", stdout)
	dsn := flags.String("store", "", "DSN of ClickHouse (store.dsn)")
	if err := parse(flags, args); err != nil {
		return err
	}
	s, err := load(*file, overlay(getenv, map[string]string{"DOCKET_STORE_DSN": *dsn}))
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, s.store, slog.New(slog.NewTextHandler(stdout, nil)))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "the tables are up to date")
	return nil
}
