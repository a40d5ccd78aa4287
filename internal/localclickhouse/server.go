package localclickhouse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Server is one embedded engine with its HTTP interface. A process can open
// one, once: the library cannot be started again after Close.
type Server struct {
	opts    Options
	engine  *engine
	version string // what SELECT version() says
	lock    *os.File
	http    *http.Server
	readers chan struct{} // slots of running statements; full means: wait
	writers chan struct{}

	cancel   context.CancelFunc // ends all requests
	requests sync.WaitGroup
	closed   sync.Once
}

// Open starts the engine on its data folder. It refuses a folder that another
// process has open.
func Open(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	lock, err := lockFolder(opts.Data)
	if err != nil {
		return nil, err
	}
	s, err := open(opts)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	s.lock = lock
	return s, nil
}

func open(opts Options) (*Server, error) {
	if err := opts.writeConfig(); err != nil {
		return nil, err
	}
	e, err := startEngine(opts.Library, opts.bootArgs(), opts.sessionArgs())
	if err != nil {
		return nil, fmt.Errorf("start the embedded ClickHouse on %s: %w", opts.Data, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	v, err := e.version(ctx)
	if err != nil {
		cancel()
		e.stop()
		return nil, err
	}
	s := &Server{
		opts: opts, engine: e, version: v, cancel: cancel,
		readers: make(chan struct{}, opts.Readers),
		writers: make(chan struct{}, opts.Writers),
	}
	s.http = &http.Server{
		Handler:           s.routes(),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    1 << 20,
	}
	return s, nil
}

// Serve answers requests until Close.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}

// Close stops taking requests, gives the running ones the grace time, kills
// the rest, and closes the engine. It may be called twice.
func (s *Server) Close() error {
	var err error
	s.closed.Do(func() {
		ctx, done := context.WithTimeout(context.Background(), s.opts.Grace)
		defer done()
		if s.http.Shutdown(ctx) != nil {
			s.cancel()
		}
		s.cancel()
		s.requests.Wait()
		err = s.http.Close()
		s.engine.stop()
		err = errors.Join(err, s.lock.Close())
	})
	return err
}

// acquire waits for a free slot; release gives it back.
func acquire(ctx context.Context, slots chan struct{}) (release func(), err error) {
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, &Exception{
			Code: codeTooMany, Name: "TOO_MANY_SIMULTANEOUS_QUERIES",
			Message: fmt.Sprintf("all %d slots for statements of this kind were busy for %s", cap(slots), slotWait),
		}
	}
}

// slotWait is how long a request waits for its turn.
const slotWait = 30 * time.Second
