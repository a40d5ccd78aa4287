package judge

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	started "docket/e2e/program"
)

// program is something started for a test.
type program struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{} // closed when it has ended
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

// start runs a program until the test ends, and waits until it takes
// connections at addr.
func start(t *testing.T, addr, dir string, env, argv []string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(argv[0], argv[1:]...), log: &logBuffer{}, done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(cleanEnviron(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			log := p.log.String()
			t.Logf("log of %s:\n%s", strings.Join(argv, " "), log[max(0, len(log)-4000):])
		}
	})
	// A model takes its time to load.
	await(t, argv[0]+" listening on "+addr, 10*time.Minute, func() bool { return p.listens(addr) })
	return p
}

func (p *program) listens(addr string) bool {
	p.t.Helper()
	select {
	case <-p.done:
		p.t.Fatalf("it ended at once:\n%s", p.log.String())
	default:
	}
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// stop ends the program in order, and by force if that takes too long.
func (p *program) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(5 * time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.done
		p.t.Errorf("%s did not stop", p.cmd.Path)
	}
}

// run runs a program to its end and returns what it printed.
func run(t *testing.T, env []string, stdin string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(cleanEnviron(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(argv, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// cleanEnviron is the environment without settings of the machine's own Docket
// and of its client libraries.
func cleanEnviron() []string {
	var out []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "DOCKET_") && !strings.HasPrefix(e, "OTEL_") && !strings.HasPrefix(e, "OPENAI_") && !strings.HasPrefix(e, "TYPESAFE_") {
			out = append(out, e)
		}
	}
	return append(out, "NO_PROXY=127.0.0.1")
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

// freeAddr is a loopback address for a program.
func freeAddr(t *testing.T) string {
	t.Helper()
	return started.FreeAddr(t)
}
