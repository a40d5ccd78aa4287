package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"docket/internal/capture"
)

// Options are what the wiring gives a Server.
type Options struct {
	Recorder   *capture.Recorder
	Log        *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics are registered
	Gatherer   prometheus.Gatherer   // what /metrics shows; nil: no /metrics

	// Status is shown by /readyz beside the proxy's own state: names of parts
	// and what is wrong with them, "" for nothing. It does not make the proxy
	// unready, which serves without them. May be nil.
	Status func() map[string]string
}

// Server forwards calls. Its handlers are safe for concurrent use.
type Server struct {
	config   Config
	recorder *capture.Recorder
	log      *slog.Logger
	options  Options
	routes   []*route
	router   *gin.Engine
	guard    *guard
	keys     *keyring
	metrics  *metrics
	buffers  *buffers
	silent   *log.Logger
	tls      *tls.Config // for clients; nil: plain HTTP

	continueGrace time.Duration

	calls    sync.WaitGroup
	running  atomic.Int64  // how many there are
	stopping atomic.Bool   // no new calls are wanted
	killed   atomic.Bool   // running calls are being cut
	kill     chan struct{} // closed then, for connections that net/http gave away
}

// New returns a Server for valid settings.
func New(c Config, o Options) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	pool := &buffers{}
	routes, err := newRoutes(c, pool)
	if err != nil {
		return nil, err
	}
	g, err := newGuard(c)
	if err != nil {
		return nil, err
	}
	clients, err := clientTLS(c)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, recorder: o.Recorder, log: o.Log, options: o, routes: routes, buffers: pool,
		guard: g, keys: newKeyring(c.Keys), metrics: newMetrics(o.Registerer), silent: log.New(io.Discard, "", 0),
		kill: make(chan struct{}), tls: clients, continueGrace: continueGrace,
	}
	s.router = s.newRouter()
	warn(s.log, routes)
	return s, nil
}

// Handler serves the routed prefixes, and Docket's own few routes beside them.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	defer s.recovered(w)
	if c, ok := r.Context().Value(clientConnKey{}).(*clientConn); ok {
		c.handled(r)
	}
	if p, refused := s.refuses(r); refused {
		s.metrics.refused.WithLabelValues(p.code).Inc()
		skipBody(w, r)
		p.write(w)
		return
	}
	// Before gin's router, which redirects, swallows 1xx answers and knows only
	// some methods.
	t, ok := targetOf(r)
	rt, rest := s.route(t)
	c, admitted := s.admit(w, r, rt, t)
	switch {
	case !admitted:
	case ok && rt != nil:
		s.forward(w, r, rt, t, rest, c)
	default:
		s.router.ServeHTTP(w, r)
	}
}

// refuses says what is wrong with a request, if anything.
func (s *Server) refuses(r *http.Request) (problem, bool) {
	if p, refused := s.tooLarge(r); refused {
		return p, true
	}
	return s.guard.refuses(r)
}

// recovered logs a panic and cuts the connection. http.ErrAbortHandler is no
// fault: it cuts the connection of a client whose upstream broke off.
func (s *Server) recovered(http.ResponseWriter) {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler {
		s.logPanic(v)
	}
	panic(http.ErrAbortHandler)
}

// logPanic logs where a panic came from. Its value may hold anything, so only
// its type is shown, unless it is an error of the runtime.
func (s *Server) logPanic(v any) {
	text := "hidden"
	if err, ok := v.(interface{ RuntimeError() }); ok {
		text = err.(error).Error()
	}
	s.log.Error("panic in a handler", "panic", text, "stack", string(debug.Stack()))
}

// Serve serves clients on ln until ctx ends, once. Then it stops accepting, lets
// running calls finish for ShutdownTimeout, and cuts the rest.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := s.clientServer()
	failed := make(chan error, 1) // room for the one result, which may come after ctx ended
	go func() { failed <- srv.Serve(clientListener{ln, s}) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.stopping.Store(true)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.ShutdownTimeout)
	defer cancel()
	_ = srv.Shutdown(grace) // what it did not wait for is cut below
	idle := make(chan struct{})
	go func() { s.calls.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-grace.Done():
		if n := s.running.Load(); n > 0 { // none: only connections without a call were left
			s.log.Warn("calls were cut at the end of proxy.shutdown_timeout", "calls", n)
		}
		s.killed.Store(true)
		close(s.kill)
		_ = srv.Close() // the calls end one by one
		<-idle
	}
	_ = srv.Close() // a connection whose request was not whole yet starts no call now
	for _, rt := range s.routes {
		rt.transport.CloseIdleConnections()
		rt.upgrades.CloseIdleConnections()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// httpServer has no timeout that would cut a stream.
func (s *Server) httpServer(h http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           h,
		Protocols:         protocols,
		ReadHeaderTimeout: s.config.ReadHeaderTimeout,
		IdleTimeout:       s.config.IdleTimeout,
		MaxHeaderBytes:    int(s.config.MaxHeaderBytes),
		ErrorLog:          s.silent,
	}
}
