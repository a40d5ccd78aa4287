package localclickhouse

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// conn is one connection to the engine. It runs one statement at a time and is
// used by one goroutine; while a call is in the engine, another one watches the
// context and kills the statement when it ends.
type conn struct {
	engine *engine
	lib    *library
	outer  *handle // what closes it
	h      handle  // what statements take
	id     string  // its log_comment, by which its statement is found
}

// killEvery is how often a statement is killed again until it has stopped: it
// may not be listed yet when the first order arrives.
const killEvery = 100 * time.Millisecond

func (c *conn) close() {
	c.lib.closeConn(c.outer)
	c.engine.conns.Done()
}

// watch kills the running statement when ctx ends, until stop is called.
func (c *conn) watch(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-done:
			return
		}
		ticker := time.NewTicker(killEvery)
		defer ticker.Stop()
		for {
			c.engine.kill(c.id)
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// query runs a statement to its end and returns all of its output.
func (c *conn) query(ctx context.Context, sql, format string, params []param) (result, error) {
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	defer c.watch(ctx)()
	args := newStatementArgs(sql, format, params)
	r := result{c.lib, args.call(c.h, c.lib.queryParams)}
	if err := r.err(); err != nil {
		r.close()
		return result{}, err
	}
	return r, nil
}

// exec runs a statement whose output does not matter.
func (c *conn) exec(ctx context.Context, sql string) error {
	r, err := c.query(ctx, sql, "Null", nil)
	if err != nil {
		return err
	}
	r.close()
	return nil
}

// set applies settings to this connection. Names must be checked before.
func (c *conn) set(ctx context.Context, settings []setting) error {
	if len(settings) == 0 {
		return nil
	}
	var sql strings.Builder
	sql.WriteString("SET ")
	for i, s := range settings {
		if i > 0 {
			sql.WriteString(", ")
		}
		sql.WriteString(s.name + " = " + quoteString(s.value))
	}
	return c.exec(ctx, sql.String())
}

// classify parses a statement without running it.
func (c *conn) classify(sql string) analysis {
	b := append([]byte(sql), 0)
	a := &analysis{size: uint32(unsafe.Sizeof(analysis{}))}
	if c.lib.classify(c.h, &b[0], uintptr(len(sql)), nil, 0, a) != stateOK {
		a.class = classUnknown
	}
	runtime.KeepAlive(b)
	return *a
}

// Classes of statements, in the order of what they may do.
const (
	classReadOnly = 0 // leaves no trace
	classControl  = 3 // session statements, KILL, SYSTEM, INTO OUTFILE
	classUnknown  = 4 // did not parse
)

// rows is a running SELECT.
type rows struct {
	conn *conn
	h    handle
}

// stream starts a SELECT. The caller closes the rows.
func (c *conn) stream(ctx context.Context, sql, format string, params []param) (*rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer c.watch(ctx)()
	args := newStatementArgs(sql, format, params)
	r := result{c.lib, args.call(c.h, c.lib.streamParams)}
	if err := r.err(); err != nil {
		r.close()
		return nil, err
	}
	return &rows{conn: c, h: r.h}, nil
}

// next returns the next piece of output; its data is empty at the end. The
// caller closes it.
func (r *rows) next(ctx context.Context) (result, error) {
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	defer r.conn.watch(ctx)()
	chunk := result{r.conn.lib, r.conn.lib.streamFetch(r.conn.h, r.h)}
	if err := chunk.err(); err != nil {
		chunk.close()
		return result{}, err
	}
	return chunk, nil
}

// close ends the SELECT; one that is not at its end is cancelled.
func (r *rows) close(finished bool) {
	if !finished {
		r.conn.lib.streamCancel(r.conn.h, r.h)
	}
	r.conn.lib.destroyResult(r.h)
}

// insertion is a running INSERT.
type insertion struct {
	conn *conn
	h    handle
}

// insert starts an INSERT without data and without its FORMAT clause. The
// caller closes the insertion, which drops what was not committed.
func (c *conn) insert(ctx context.Context, sql, format string, params []param) (*insertion, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer c.watch(ctx)()
	args := newStatementArgs(sql, format, params)
	ins := &insertion{conn: c, h: args.call(c.h, c.lib.insertParams)}
	if err := parseException(c.lib.insertError(ins.h)); err != nil {
		ins.close()
		return nil, err
	}
	return ins, nil
}

// append hands over data in the format of the insertion; the engine copies it,
// and may block until it has caught up.
func (i *insertion) append(ctx context.Context, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer i.conn.watch(ctx)()
	state := i.conn.lib.insertAppend(i.h, &data[0], uintptr(len(data)))
	runtime.KeepAlive(data)
	if err := parseException(i.conn.lib.insertError(i.h)); err != nil {
		return err
	}
	if state != stateOK {
		return &Exception{Code: codeLogical, Message: "the insert was ended by the engine", Name: "LOGICAL_ERROR"}
	}
	return nil
}

// written is what an INSERT wrote, including materialized views.
type written struct{ rows, bytes uint64 }

// commit ends the data and makes it durable to the engine's standard.
func (i *insertion) commit(ctx context.Context) (written, error) {
	if err := ctx.Err(); err != nil {
		return written{}, err
	}
	defer i.conn.watch(ctx)()
	r := result{i.conn.lib, i.conn.lib.insertDone(i.h)}
	defer r.close()
	if err := r.err(); err != nil {
		return written{}, err
	}
	return written{i.conn.lib.resultRowsWritten(r.h), i.conn.lib.resultBytesWritten(r.h)}, nil
}

func (i *insertion) close() { i.conn.lib.insertDestroy(i.h) }
