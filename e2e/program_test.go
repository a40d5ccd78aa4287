package e2e

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is a started command.
type program struct {
	t    *testing.T
	name string
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

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a built command until the test ends.
func start(t *testing.T, name, dir string, env []string, args ...string) *program {
	t.Helper()
	p := &program{t: t, name: name, cmd: exec.Command(built(t, name), args...), log: &logBuffer{}, done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(cleanEnviron(), env...)
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
		p.stop()
		if strings.Contains(p.log.String(), "DATA RACE") {
			t.Errorf("%s has a data race", name)
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, tail(p.log.String(), 6000))
		}
	})
	return p
}

// cleanEnviron is the environment without settings of the machine's own Docket.
func cleanEnviron() []string {
	var out []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "DOCKET_") && !strings.HasPrefix(e, "OTEL_") {
			out = append(out, e)
		}
	}
	return append(out, "GORACE=atexit_sleep_ms=0")
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// stop ends the program in order.
func (p *program) stop() {
	p.t.Helper()
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(time.Minute):
			_ = p.cmd.Process.Kill()
			<-p.done
			p.t.Errorf("%s did not stop within a minute", p.name)
		}
	})
}

// kill ends the program as the kernel would when memory runs out.
func (p *program) kill() {
	p.t.Helper()
	p.once.Do(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
}

// ended says whether the program is no longer running.
func (p *program) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// awaitListening polls until something takes connections at addr.
func (p *program) awaitListening(addr string) {
	p.t.Helper()
	await(p.t, p.name+" listening on "+addr, time.Minute, func() bool {
		if p.ended() {
			p.t.Fatalf("%s ended at once:\n%s", p.name, tail(p.log.String(), 4000))
		}
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
}

// await polls until ok returns true.
func await(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("still not after %s: %s", limit, what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// freeAddr is a loopback address that nothing listened on a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
