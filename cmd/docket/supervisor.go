package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Back-off between restarts. A child that ran for steady starts anew with the
// first one.
const (
	firstBackoff = 200 * time.Millisecond
	maxBackoff   = 10 * time.Second
	steady       = time.Minute
)

// supervisor starts children, watches them, and stops them in reverse order.
// All its methods are called from one goroutine, which is locked to its thread.
type supervisor struct {
	out      io.Writer
	children []*child // in the order of their start
	ended    chan *child
	wait     sync.WaitGroup
}

// newSupervisor makes a supervisor of at most n children.
func newSupervisor(out io.Writer, n int) *supervisor {
	// One place for each child, so that the collector of a child never waits for
	// a supervisor that is busy stopping.
	return &supervisor{out: out, ended: make(chan *child, n)}
}

func (s *supervisor) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%-15s | %s\n", "docket", fmt.Sprintf(format, args...))
}

// start runs a process as a new child, or in the place of its last run.
func (s *supervisor) start(p process) (*child, error) {
	c, err := spawn(p, s.out)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(s.children, func(old *child) bool { return old.name == p.name })
	if i < 0 {
		s.children = append(s.children, c)
	} else {
		s.children[i] = c
	}
	s.wait.Go(func() {
		c.wait()
		s.ended <- c
	})
	return c, nil
}

// watch returns nil when ctx ends, and an error that names the child when one
// ends that is not restarted.
func (s *supervisor) watch(ctx context.Context) error {
	backoff := map[string]time.Duration{}
	due := make(chan process, len(s.children)) // one place for each child
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-s.ended:
			if !c.restart {
				return fmt.Errorf("%s ended: %s", c.name, c.ending())
			}
			delay := nextBackoff(backoff[c.name], time.Since(c.started))
			backoff[c.name] = delay
			s.say("%s ended: %s; recording goes on into the spool; starting it again in %s", c.name, c.ending(), delay)
			timer := time.AfterFunc(delay, func() { due <- c.process })
			defer timer.Stop()
		case p := <-due:
			if _, err := s.start(p); err != nil {
				return err
			}
		}
	}
}

func nextBackoff(last, ran time.Duration) time.Duration {
	if last == 0 || ran >= steady {
		return firstBackoff
	}
	return min(2*last, maxBackoff)
}

// stop ends the children, the last started first, and returns when all have
// ended.
func (s *supervisor) stop() {
	for _, c := range slices.Backward(s.children) {
		select {
		case <-c.done:
			continue
		default:
		}
		s.say("stopping %s", c.name)
		if c.stop() {
			s.say("%s did not stop within %s and was killed", c.name, c.grace)
		}
	}
	s.wait.Wait()
}
