package program

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Program is a started command.
type Program struct {
	Name string
	t    *testing.T
	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{} // closed when it has ended
	once sync.Once
}

// logBuffer holds what a program printed.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

// Write adds to the log.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is the log so far.
func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Start runs a command until the test ends.
func Start(t *testing.T, bin, dir string, env []string, args ...string) *Program {
	t.Helper()
	p := &Program{t: t, Name: filepath.Base(bin), cmd: exec.Command(bin, args...), log: &logBuffer{}, done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(CleanEnviron(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Stop()
		if strings.Contains(p.Log(), "DATA RACE") {
			t.Errorf("%s has a data race", p.Name)
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", p.Name, tail(p.Log(), 6000))
		}
	})
	return p
}

// CleanEnviron is the environment without settings of the machine's own Docket
// and of its client libraries.
func CleanEnviron() []string {
	var out []string
	for _, e := range os.Environ() {
		ours := false
		for _, prefix := range []string{"DOCKET_", "OTEL_", "OPENAI_", "ANTHROPIC_", "OLLAMA_", "GOOGLE_", "GEMINI_", "LANGCHAIN_", "LANGSMITH_", "TYPESAFE_"} {
			ours = ours || strings.HasPrefix(e, prefix)
		}
		if !ours {
			out = append(out, e)
		}
	}
	return append(out, "GORACE=atexit_sleep_ms=0", "NO_PROXY=127.0.0.1,localhost")
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// Log is what the program has printed so far.
func (p *Program) Log() string { return p.log.String() }

// Stop ends the program in order, and waits until it has ended.
func (p *Program) Stop() {
	p.t.Helper()
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(busy * time.Minute):
			_ = p.cmd.Process.Kill()
			<-p.done
			p.t.Errorf("%s did not stop within %s", p.Name, busy*time.Minute)
		}
	})
}

// Kill ends the program as the kernel would when memory runs out.
func (p *Program) Kill() {
	p.t.Helper()
	p.once.Do(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
}

// Ended says whether the program is no longer running.
func (p *Program) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ExitCode is the status of a program that has ended.
func (p *Program) ExitCode() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// AwaitListening polls until something takes connections at addr.
func (p *Program) AwaitListening(addr string) {
	p.t.Helper()
	Await(p.t, p.Name+" listening on "+addr, time.Minute, func() bool {
		if p.Ended() {
			p.t.Fatalf("%s ended at once:\n%s", p.Name, tail(p.Log(), 4000))
		}
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
}

// busy is how many times longer a busy machine may take for everything.
const busy = 5

// Await polls until ok returns true, and fails the test after the limit, which is
// that of an idle machine.
func Await(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(busy * limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("still not after %s: %s", busy*limit, what)
		}
		<-time.After(20 * time.Millisecond)
	}
}
