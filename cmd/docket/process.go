package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process says how to run one child.
type process struct {
	name    string
	path    string
	args    []string
	env     []string      // added to the supervisor's own
	restart bool          // start it again when it ends
	grace   time.Duration // time between SIGTERM and SIGKILL
}

// child is a process that was started.
type child struct {
	process
	cmd     *exec.Cmd
	output  *prefixWriter
	started time.Time
	done    chan struct{} // closed when it has ended, after err is set
	err     error
}

// spawn starts a process. Its output goes to out, each line behind its name.
// The kernel sends it SIGTERM when the calling thread ends: the caller must be
// locked to a thread that lives as long as the supervisor.
func spawn(p process, out io.Writer) (*child, error) {
	c := &child{
		process: p, cmd: exec.Command(p.path, p.args...), output: &prefixWriter{name: p.name, out: out},
		started: time.Now(), done: make(chan struct{}),
	}
	c.cmd.Env = append(os.Environ(), p.env...)
	c.cmd.Stdout, c.cmd.Stderr = c.output, c.output
	c.cmd.WaitDelay = time.Second
	// A group of its own: a terminal's Ctrl-C reaches only the supervisor, which
	// then stops its children in order.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	return c, nil
}

// wait collects the child. It returns when the child has ended.
func (c *child) wait() {
	c.err = c.cmd.Wait()
	c.output.flush()
	close(c.done)
}

// stop asks the child to end, insists after its grace, and returns when it has
// ended. It says whether the child had to be killed.
func (c *child) stop() (killed bool) {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-c.done:
		return false
	case <-timer.C:
		_ = c.cmd.Process.Kill()
		<-c.done
		return true
	}
}

// ending describes how the child ended.
func (c *child) ending() string {
	if c.err == nil {
		return "exit status 0"
	}
	return c.err.Error()
}
