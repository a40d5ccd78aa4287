package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"docket/internal/capture"
	"docket/internal/proxy"
	"docket/internal/sampling"
	"docket/internal/spool"
	"docket/internal/store"
	"docket/internal/telemetry"
)

// run serves until ctx ends.
func run(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	s, err := loadSettings(args, getenv, stdout)
	if err != nil {
		return err
	}
	tuneMemory(getenv, s.capture.Config)
	stdout = &lockedWriter{w: stdout}
	log := slog.New(slog.NewTextHandler(stdout, nil))

	ln, err := listen(s.proxy.Listen, "proxy.listen", "--listen")
	if err != nil {
		return err
	}
	defer ln.Close()
	var ops net.Listener
	if s.proxy.OpsListen != "" {
		if ops, err = listen(s.proxy.OpsListen, "proxy.ops_listen", "--ops-listen"); err != nil {
			return err
		}
		defer ops.Close()
	}
	p, err := newParts(ctx, s, getenv, log)
	if err != nil {
		return err
	}
	defer p.close()
	scheme := "http"
	if s.proxy.TLSCert != "" {
		scheme = "https"
	}
	fmt.Fprintf(stdout, "proxy listening on %s://%s\n", scheme, ln.Addr())
	if ops != nil {
		fmt.Fprintf(stdout, "health and metrics on http://%s\n", ops.Addr())
	}
	return p.serve(ctx, ln, ops)
}

// listen names the setting when the address is taken.
func listen(addr, key, flag string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s (%s): %w", key, flag, err)
	}
	return ln, nil
}

// parts are what the proxy is made of, leaves first.
type parts struct {
	settings settings
	log      *slog.Logger
	spool    *spool.Spool
	store    *store.Store
	spans    *telemetry.SpanExporter // nil: no OTLP export
	recorder *capture.Recorder
	drainer  *capture.Drainer
	server   *proxy.Server
}

func newParts(ctx context.Context, s settings, getenv func(string) string, log *slog.Logger) (_ *parts, err error) {
	p := &parts{settings: s, log: log}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var recorder atomic.Pointer[capture.Recorder] // the spool's goroutines are first
	if p.spool, err = spool.Open(s.capture.Spool, spool.Options{Log: log, OnLost: func(l spool.Loss) {
		if r := recorder.Load(); r != nil {
			r.SpoolLost(l.Kind, l.Bytes, l.Reason)
		}
	}}); err != nil {
		return nil, err
	}
	if p.store, err = store.Open(ctx, s.store, log); err != nil {
		return nil, err
	}
	if p.spans, err = telemetry.NewSpanExporter(ctx, getenv); err != nil {
		return nil, err
	}
	queue := spoolPort{p.spool}
	p.recorder = capture.NewRecorder(s.capture.Config, capture.Options{
		Spool: queue, Log: log, Instance: instance(p.spool.ID()), MaxWait: s.capture.Spool.MaxWait,
		SampleValue: sampling.Value, Registerer: registry,
	})
	recorder.Store(p.recorder)
	drain := capture.DrainerOptions{Spool: queue, Sink: p.store, Conversations: p.store, Recorder: p.recorder, Log: log, Registerer: registry}
	if p.spans != nil {
		drain.Exporter = p.spans
	}
	p.drainer = capture.NewDrainer(s.capture.Config, drain)
	p.server, err = proxy.New(s.proxy, proxy.Options{
		Recorder: p.recorder, Log: log, Registerer: registry, Gatherer: registry, Status: p.status,
	})
	return p, err
}

// serve runs until ctx ends or a part fails, and stops in reverse order.
func (p *parts) serve(ctx context.Context, ln, ops net.Listener) error {
	// Each stage outlives those after it.
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	var drains sync.WaitGroup
	drains.Go(func() { _ = p.recorder.Run(background) }) // returns nil
	drains.Go(func() { _ = p.drainer.Run(background) })  // returns nil
	drains.Go(func() { p.migrate(background) })

	servers, failed := errgroup.WithContext(ctx)
	opsContext, stopOps := context.WithCancel(context.WithoutCancel(ctx))
	defer stopOps()
	if ops != nil {
		servers.Go(func() error { return p.server.ServeOps(opsContext, ops) })
	}
	err := p.server.Serve(failed, ln) // returns when the last call has ended
	stopBackground()
	drains.Wait()
	p.recorder.Flush()
	p.drain(ctx)
	stopOps()
	return errors.Join(err, servers.Wait())
}

// drain delivers what is in the spool. What it does not manage is kept there.
func (p *parts) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.settings.capture.ShutdownDrain)
	defer cancel()
	if err := p.drainer.Flush(ctx); err != nil {
		p.log.Warn("stopped before everything was delivered", "error", err)
	}
}

// migrate prepares the tables as soon as ClickHouse is there.
func (p *parts) migrate(ctx context.Context) {
	if !p.settings.store.AutoMigrate {
		return
	}
	const longest = 30 * time.Second
	for wait, told := time.Second, false; ; wait = min(2*wait, longest) {
		err := p.store.Migrate(ctx)
		if err == nil {
			p.log.Info("the store is ready")
			return
		}
		if !told && ctx.Err() == nil {
			p.log.Warn("the store is not ready; calls are served, and their records wait in the spool", "error", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// status is for /readyz.
func (p *parts) status() map[string]string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	out := map[string]string{"store": ""}
	if p.store.Ping(ctx) != nil {
		out["store"] = "not reachable; records wait in the spool"
	}
	return out
}

func (p *parts) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if p.spans != nil {
		p.closed("OTLP export", p.spans.Close(ctx))
	}
	if p.store != nil {
		p.closed("store", p.store.Close())
	}
	if p.spool != nil {
		p.closed("spool", p.spool.Close())
	}
}

func (p *parts) closed(what string, err error) {
	if err != nil {
		p.log.Error("closing", "what", what, "error", err)
	}
}

// instance names this proxy in its records. Two on one machine have two spools.
func instance(spoolID string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "/" + spoolID[:min(8, len(spoolID))]
}

// lockedWriter keeps lines whole.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes p in one piece.
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
