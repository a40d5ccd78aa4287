package localclickhouse

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// engine is the one engine of this process. Connections may be opened from any
// goroutine; stop waits for all of them.
type engine struct {
	lib     *library
	boot    []string // arguments of the first connection, which configure the engine
	session []string // arguments of every connection
	anchor  *handle  // keeps the engine up while no request runs
	conns   sync.WaitGroup
	serial  atomic.Uint64
}

// selfTestLimit is how long a recovered nil dereference may take.
const selfTestLimit = 10 * time.Second

// startEngine loads the library and opens the data folder.
func startEngine(path string, boot, session []string) (*engine, error) {
	lib, err := loadLibrary(path)
	if err != nil {
		return nil, err
	}
	if _, err := checkVersion(lib.version()); err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	// Before any connect: with the engine's handlers a nil dereference in Go
	// would hang the process instead of panicking.
	lib.setSignalHandlers(0)
	e := &engine{lib: lib, boot: boot, session: session}
	e.anchor, err = e.connect(append(append([]string{}, boot...), session...))
	if err != nil {
		return nil, err
	}
	if err := selfTest(); err != nil {
		return nil, err
	}
	return e, nil
}

// connect opens a connection. The engine reports no reason when it refuses.
func (e *engine) connect(args []string) (*handle, error) {
	argv, unpin := cStrings(append([]string{"clickhouse"}, args...))
	defer unpin()
	outer := e.lib.connect(int32(len(argv)-1), &argv[0])
	runtime.KeepAlive(argv)
	if outer == nil {
		return nil, errors.New("the engine refused a connection (its data folder is unreadable, or open elsewhere)")
	}
	return outer, nil
}

// open returns a connection for one request; the caller closes it.
func (e *engine) open() (*conn, error) {
	id := "docket-" + strconv.FormatUint(e.serial.Add(1), 10)
	e.conns.Add(1)
	// The path has to be repeated: another one would be refused.
	outer, err := e.connect(append([]string{e.boot[0], "--log_comment=" + id}, e.session...))
	if err != nil {
		e.conns.Done()
		return nil, err
	}
	return &conn{engine: e, lib: e.lib, outer: outer, h: *outer, id: id}, nil
}

// kill asks the statement of a connection to stop. It does not wait.
func (e *engine) kill(id string) {
	c, err := e.open()
	if err != nil {
		return
	}
	defer c.close()
	// An error means that the statement is gone already.
	_ = c.exec(context.Background(), "KILL QUERY WHERE Settings['log_comment'] = "+quoteString(id)+" ASYNC")
}

// version is what SELECT version() says.
func (e *engine) version(ctx context.Context) (string, error) {
	c, err := e.open()
	if err != nil {
		return "", err
	}
	defer c.close()
	r, err := c.query(ctx, "SELECT version()", "TSVRaw", nil)
	if err != nil {
		return "", fmt.Errorf("ask for the version: %w", err)
	}
	defer r.close()
	return string(trimNewline(r.data())), nil
}

// stop closes the engine for the rest of the process. Every connection must be
// on its way to be closed.
func (e *engine) stop() {
	e.conns.Wait()
	e.lib.closeConn(e.anchor)
	// It reports that threads are left whenever MergeTree tables were used;
	// there is nothing to do about that, and exit reaps them.
	_ = e.lib.shutdown()
}

// selfTest proves that a fault in Go still is a panic in Go.
func selfTest() error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		var p *int
		*p = 1
	}()
	select {
	case <-done:
		return nil
	case <-time.After(selfTestLimit):
		return errors.New("the engine took over the signal handlers of this process: use another release of libchdb")
	}
}
