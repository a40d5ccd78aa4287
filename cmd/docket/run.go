package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"docket/internal/config"
)

const grace = 30 * time.Second

// options are what one machine runs with.
type options struct {
	bin      string // folder of the commands
	data     string
	file     string   // settings, "" if none
	store    bool     // a ClickHouse server is named: no engine
	spool    bool     // the settings name the spool's folder
	env      []string // further variables of the children
	proxy    []string // further arguments
	evaluate []string
	ready    func(ctx context.Context) error // runs when all children are started; its error stops them
}

func runVerb(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	o := options{ready: func(context.Context) error { return nil }}
	flags := flag.NewFlagSet("docket run", flag.ContinueOnError)
	flags.SetOutput(stdout)
	file := flags.String("config", "", "settings file (docket.yaml if it exists)")
	flags.StringVar(&o.data, "data", "data", "folder of everything that is kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	o.file = config.File(*file, getenv)
	if err := o.inspect(getenv); err != nil {
		return err
	}
	var err error
	if o.bin, err = ownFolder(); err != nil {
		return err
	}
	return supervise(ctx, o, stdout)
}

// inspect finds out what the settings already decide. The children check them
// in full.
func (o *options) inspect(getenv func(string) string) error {
	var store, capture any
	sections := map[string]any{"store": &store, "capture": &capture}
	known := []string{"proxy", "judge", "rubrics", "rules", "evaluator"}
	if err := config.Load(o.file, getenv, nil, sections, known); err != nil {
		return err
	}
	o.store = getenv("DOCKET_STORE") != "" || getenv("DOCKET_STORE_DSN") != "" || has(store, "dsn")
	o.spool = getenv("DOCKET_CAPTURE_SPOOL_DIR") != "" || has(capture, "spool", "dir")
	return nil
}

// ownFolder is where the other commands are too.
func ownFolder() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Dir(exe), nil
}

// has says whether a decoded section has a value at the path of keys.
func has(section any, path ...string) bool {
	for _, key := range path {
		m, ok := section.(map[string]any)
		if !ok {
			return false
		}
		section = m[key]
	}
	return section != nil && section != ""
}

// supervise starts everything, waits until ctx ends or a child does, and stops
// everything.
func supervise(ctx context.Context, o options, stdout io.Writer) error {
	runtime.LockOSThread() // children are told to end when their parent's thread does
	if err := os.MkdirAll(o.data, 0o700); err != nil {
		return err
	}
	s := newSupervisor(&lockedWriter{out: stdout}, 3)
	defer s.stop()
	env := o.env
	if o.store {
		s.say("the store is the one that DOCKET_STORE or store.dsn names; the embedded ClickHouse is not started")
	} else {
		dsn, err := startEngine(ctx, s, o.bin, o.data)
		if err != nil {
			return unlessStopped(ctx, err)
		}
		env = append(env, "DOCKET_STORE="+dsn)
	}
	if !o.spool {
		o.proxy = append(o.proxy, "--spool", filepath.Join(o.data, "spool"))
	}
	var settings []string
	if o.file != "" {
		settings = []string{"--config", o.file}
	}
	for _, p := range []process{
		{name: "proxy", args: slices.Concat(settings, o.proxy)},
		{name: "evaluator", args: slices.Concat([]string{"serve"}, settings, o.evaluate)},
	} {
		p.path, p.env, p.grace = filepath.Join(o.bin, p.name), env, grace
		if _, err := s.start(p); err != nil {
			return err
		}
	}
	return s.watchWith(ctx, o.ready)
}

// watchWith watches the children while ready runs beside.
func (s *supervisor) watchWith(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		if err := ready(ctx); err != nil && ctx.Err() == nil {
			cancel(err)
		}
	}()
	err := s.watch(ctx)
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	cancel(nil)
	<-finished
	return err
}

// unlessStopped is err, or nil when ctx has ended: a start that was interrupted
// did not go wrong.
func unlessStopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}
