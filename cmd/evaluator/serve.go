package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"docket/internal/evaluate"
	"docket/internal/judge"
	"docket/internal/query"
	"docket/internal/store"
)

// serve judges and serves until ctx ends.
func serve(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, file := newFlags("serve", stdout)
	listen := flags.String("listen", "", "address of the page and the read API (evaluator.api.listen)")
	dsn := flags.String("store", "", "DSN of ClickHouse (store.dsn)")
	if err := parse(flags, args); err != nil {
		return err
	}
	s, err := load(*file, overlay(getenv, map[string]string{"DOCKET_EVALUATOR_API_LISTEN": *listen, "DOCKET_STORE_DSN": *dsn}))
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stdout, nil))
	db, err := store.Open(ctx, s.store, log)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	out, err := newExport(ctx, getenv, log)
	if err != nil {
		return err
	}
	defer out.close()
	loop, j, err := newLoop(s, db, out, reg, log)
	if err != nil {
		return err
	}
	page, err := query.New(s.evaluator.API, query.Options{
		Store: db, Log: log, JudgingOff: s.judgingOff(),
		Labels: db, Feedback: db, Criteria: s.criteria(),
		Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{}),
	})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	if err := servePage(ctx, g, s.evaluator.API.Listen, page, log); err != nil {
		return err
	}
	linker := &evaluate.Linker{Store: db, Poll: s.evaluator.Poll, Log: log}
	g.Go(func() error { return judgeForever(ctx, s, db, loop, linker, log) })
	if j != nil {
		g.Go(func() error { j.Probe(ctx); return nil })
	}
	return g.Wait()
}

// overlay puts the values of flags, where they are set, over the environment.
func overlay(getenv func(string) string, flags map[string]string) func(string) string {
	return func(name string) string {
		if v := flags[name]; v != "" {
			return v
		}
		return getenv(name)
	}
}

// newLoop builds the loop and its judge, or neither when judging is off.
func newLoop(s *settings, db *store.Store, out *export, reg prometheus.Registerer, log *slog.Logger) (*evaluate.Loop, *judge.Judge, error) {
	if off := s.judgingOff(); off != "" {
		log.Warn(off)
		return nil, nil, nil
	}
	if s.starter {
		log.Info("there are no rubrics in the settings: every reply is judged by the starter rubric")
	}
	j, err := judge.New(s.judge, s.rubrics, judge.Options{Log: log, Meter: reg, Spent: db.JudgeSpent})
	if err != nil {
		return nil, nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "evaluator"
	}
	loop, err := evaluate.New(s.evaluator.Config, evaluate.Options{
		Store: db, Judge: j, Rules: s.rules, Log: log, Registerer: reg, Instance: host,
		Verdicts: out.verdictsWritten, Spans: out.spansWritten,
	})
	return loop, j, err
}

// judgeForever waits for the store and then runs the loop, if there is one, and
// links feedback.
func judgeForever(ctx context.Context, s *settings, db *store.Store, loop *evaluate.Loop, linker *evaluate.Linker, log *slog.Logger) error {
	if s.store.AutoMigrate {
		if err := migrateForever(ctx, db, log); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return linker.Run(ctx) })
	if loop != nil {
		g.Go(func() error { return loop.Run(ctx) })
	}
	return g.Wait()
}

// migrateForever tries until the tables are there: the store may start later.
// Only a database that another version made is final.
func migrateForever(ctx context.Context, db *store.Store, log *slog.Logger) error {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		err := db.Migrate(ctx)
		switch {
		case err == nil:
			log.Info("the store is ready")
			return nil
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, store.ErrSchema):
			return err
		}
		log.Error("the store is not ready; trying again", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// servePage listens, and serves until ctx ends.
func servePage(ctx context.Context, g *errgroup.Group, addr string, h http.Handler, log *slog.Logger) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("evaluator.api.listen (DOCKET_EVALUATOR_API_LISTEN): %w", err)
	}
	log.Info("evaluator listening on http://"+ln.Addr().String(), "page", "/", "api", "/api/v1")
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	g.Go(func() error {
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the page: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		if err := srv.Shutdown(grace); err != nil {
			_ = srv.Close()
		}
		return nil
	})
	return nil
}
