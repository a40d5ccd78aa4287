package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// maxLine bounds what is held back of a line that does not end.
const maxLine = 64 << 10

// lockedWriter lets several children write whole lines to one stream.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer // guarded by mu
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// prefixWriter passes on whole lines, each behind the name of its child. One
// goroutine writes to it at a time.
type prefixWriter struct {
	name string
	out  io.Writer
	rest []byte
}

func (w *prefixWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			break
		}
		w.line(w.rest[:i])
		w.rest = w.rest[i+1:]
	}
	if len(w.rest) > maxLine {
		w.flush()
	}
	return len(p), nil
}

func (w *prefixWriter) flush() {
	if len(w.rest) > 0 {
		w.line(w.rest)
		w.rest = nil
	}
}

// line drops errors: a closed terminal must not stop the children.
func (w *prefixWriter) line(b []byte) {
	fmt.Fprintf(w.out, "%-15s | %s\n", w.name, b)
}
