package fieldcases

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	started "docket/e2e/program"
)

// settings are those of one proxy.
type settings struct {
	project   string
	dsn       string            // the suite's if empty
	interval  string            // capture.batch_interval; 100ms if empty
	capture   string            // a further line of the capture section
	upstreams map[string]string // further upstreams
}

// program is a running proxy.
type program struct {
	cmd             *exec.Cmd
	addr, ops       string
	spool           string
	log             *logBuffer
	done            chan struct{} // closed when it has ended
	stopped, killed sync.Once
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

// start runs a proxy until the test ends, and waits until it takes calls.
func (s *suite) start(t *testing.T, with settings) *program {
	t.Helper()
	dir := t.TempDir()
	var yaml strings.Builder
	yaml.WriteString("proxy:\n  allowed_hosts: [proxy.test]\n")
	if len(with.upstreams) > 0 {
		yaml.WriteString("  upstreams:\n")
	}
	for name, u := range with.upstreams {
		fmt.Fprintf(&yaml, "    %s: %s\n", name, u)
	}
	fmt.Fprintf(&yaml, "capture:\n  project: %s\n  batch_interval: %s\n  spool: {max_wait: 1m}\n", with.project, cmp.Or(with.interval, "100ms"))
	if with.capture != "" {
		fmt.Fprintf(&yaml, "  %s\n", with.capture)
	}
	file := filepath.Join(dir, "docket.yaml")
	if err := os.WriteFile(file, []byte(yaml.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{addr: freeAddr(t), ops: freeAddr(t), spool: filepath.Join(dir, "spool"), log: &logBuffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(s.binary, "--config", file, "--listen", p.addr, "--ops-listen", p.ops,
		"--upstream", s.upstream.URL()+"/v1", "--spool", p.spool)
	p.cmd.Dir = dir
	p.cmd.Env = append(cleanEnviron(), "DOCKET_STORE="+cmp.Or(with.dsn, s.dsn))
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // how it ended is in its log
	}()
	t.Cleanup(func() {
		p.terminate()
		p.awaitExit(t, patience)
		if t.Failed() {
			text := p.log.String()
			t.Logf("log of the proxy:\n%s", text[max(0, len(text)-4000):])
		}
	})
	await(t, "a proxy listening", patience, func() bool {
		c, err := net.DialTimeout("tcp", p.addr, time.Second)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
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
	return out
}

// terminate asks the proxy to end in order.
func (p *program) terminate() {
	p.stopped.Do(func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) })
}

func (p *program) awaitExit(t *testing.T, limit time.Duration) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		p.killed.Do(func() { _ = p.cmd.Process.Kill() })
		<-p.done
		t.Errorf("the proxy did not end within %s", limit)
	}
}

// metrics is the page of the metrics.
func (p *program) metrics(t *testing.T) string {
	t.Helper()
	res, err := http.Get("http://" + p.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// metric is the value of a metric without labels.
func (p *program) metric(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(p.metrics(t)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// drained waits until all that ended is stored.
func (p *program) drained(t *testing.T) {
	t.Helper()
	await(t, "an empty backlog", patience, func() bool { return p.metric(t, "docket_capture_backlog_records") == "0" })
}

// freeAddr is a loopback address for a proxy.
func freeAddr(t *testing.T) string {
	t.Helper()
	return started.FreeAddr(t)
}
