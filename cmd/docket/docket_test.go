package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/leaktest"
)

// TestMain lets the test binary stand for the children too: called by another
// name, it plays that command.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "localclickhouse", "proxy", "evaluator":
		os.Exit(playChild(filepath.Base(os.Args[0]), os.Args[1:]))
	case "docket":
		main()
		os.Exit(0)
	}
	leaktest.Main(m)
}

// playChild writes to the journal what it was started with, and when it was
// told to stop.
func playChild(name string, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Printf("hello from %s\n", name)
	if os.Getenv("DOCKET_TEST_DIES") == name {
		fmt.Printf("%s: cannot listen", name)
		return 3
	}
	detail := os.Getenv("DOCKET_STORE")
	if name == engineName {
		var err error
		if detail, err = playEngine(args); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	journal("%s start %d %s", name, os.Getpid(), detail)
	<-ctx.Done()
	journal("%s stop", name)
	return 0
}

func playEngine(args []string) (string, error) {
	flags := flag.NewFlagSet(engineName, flag.ContinueOnError)
	listen := flags.String("listen", "", "")
	data := flags.String("data", "", "")
	portFile := flags.String("port-file", "", "")
	if err := flags.Parse(args); err != nil {
		return "", err
	}
	ln, err := net.Listen("tcp", *listen)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(*data, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(*data, "password"), []byte("p@ss\n"), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(*portFile+".part", []byte(ln.Addr().String()+"\n"), 0o600); err != nil {
		return "", err
	}
	return ln.Addr().String(), os.Rename(*portFile+".part", *portFile)
}

func journal(format string, args ...any) {
	f, err := os.OpenFile(os.Getenv("DOCKET_TEST_JOURNAL"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintf(f, format+"\n", args...)
}

// stage is a folder with the commands and a journal.
type stage struct {
	t       *testing.T
	dir     string
	journal string
	out     safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newStage(t *testing.T) *stage {
	t.Helper()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docket", "localclickhouse", "proxy", "evaluator"} {
		if err := os.Link(exe, filepath.Join(dir, name)); err != nil {
			if err := copyFile(exe, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := &stage{t: t, dir: dir, journal: filepath.Join(dir, "journal")}
	t.Setenv("DOCKET_TEST_JOURNAL", s.journal)
	t.Setenv("DOCKET_STORE", "")
	t.Setenv("GORACE", "atexit_sleep_ms=0") // do not wait a second at the end of each child
	return s
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o700)
}

func (s *stage) options() options {
	return options{bin: s.dir, data: filepath.Join(s.dir, "data"), ready: func(context.Context) error { return nil }}
}

// start supervises in the background; the returned function stops it and
// returns its error.
func (s *stage) start(o options) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- supervise(ctx, o, &s.out) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-result
	})
}

// entries returns the journal's lines that begin with prefix.
func (s *stage) entries(prefix string) []string {
	f, err := os.Open(s.journal)
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), prefix) {
			out = append(out, sc.Text())
		}
	}
	return out
}

// await polls until the journal has n lines with the prefix.
func (s *stage) await(prefix string, n int) []string {
	s.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		if got := s.entries(prefix); len(got) >= n {
			return got
		}
		<-time.After(10 * time.Millisecond)
	}
	s.t.Fatalf("no %d lines %q in the journal %q; output:\n%s", n, prefix, s.entries(""), s.out.String())
	return nil
}

func TestStopsInOrder(t *testing.T) {
	s := newStage(t)
	stop := s.start(s.options())
	s.await("evaluator start", 1)
	s.await("proxy start", 1)
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	var stops []string
	for _, line := range s.entries("") {
		if strings.HasSuffix(line, "stop") {
			stops = append(stops, line)
		}
	}
	if diff := cmp.Diff([]string{"evaluator stop", "proxy stop", "localclickhouse stop"}, stops); diff != "" {
		t.Error(diff)
	}
	if out := s.out.String(); !strings.Contains(out, "proxy           | hello from proxy\n") {
		t.Errorf("output has no named lines:\n%s", out)
	}
	info, err := os.Stat(filepath.Join(s.dir, "data"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("data folder: %v %v", info, err)
	}
}

func TestChildrenGetTheEngine(t *testing.T) {
	s := newStage(t)
	stop := s.start(s.options())
	engine := strings.Fields(s.await("localclickhouse start", 1)[0])
	proxy := strings.Fields(s.await("proxy start", 1)[0])
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got, want := proxy[3], "http://default:p%40ss@"+engine[3]+"/docket"; got != want {
		t.Errorf("DSN: got %s, want %s", got, want)
	}
	if strings.Contains(s.out.String(), "p%40ss") {
		t.Errorf("the password is printed:\n%s", s.out.String())
	}
}

func TestNoEngineWithStore(t *testing.T) {
	s := newStage(t)
	t.Setenv("DOCKET_STORE", "http://elsewhere:8123/docket")
	o := s.options()
	o.store = true
	stop := s.start(o)
	got := s.await("proxy start", 1)[0]
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(got, " http://elsewhere:8123/docket") || len(s.entries(engineName)) > 0 {
		t.Errorf("proxy %q, engine %q", got, s.entries(engineName))
	}
	if out := s.out.String(); !strings.Contains(out, "the embedded ClickHouse is not started") {
		t.Errorf("which store it is, is not said:\n%s", out)
	}
}

func TestDeadChildIsNamed(t *testing.T) {
	for _, name := range []string{"localclickhouse", "proxy", "evaluator"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			t.Setenv("DOCKET_TEST_DIES", name)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			err := supervise(ctx, s.options(), &s.out)
			if err == nil || err.Error() != name+" ended: exit status 3" {
				t.Errorf("got error %v", err)
			}
			if !strings.Contains(s.out.String(), "| "+name+": cannot listen\n") {
				t.Errorf("its last words are missing:\n%s", s.out.String())
			}
			starts, stops := 0, 0
			for _, line := range s.entries("") {
				if strings.Contains(line, " start ") {
					starts++
				} else {
					stops++
				}
			}
			if starts != stops {
				t.Errorf("some were left running: %q", s.entries(""))
			}
		})
	}
}

func TestEngineComesBackOnItsPort(t *testing.T) {
	s := newStage(t)
	stop := s.start(s.options())
	s.await("evaluator start", 1)
	first := strings.Fields(s.await("localclickhouse start", 1)[0])
	kill(t, first[2])
	second := strings.Fields(s.await("localclickhouse start", 2)[1])
	if first[3] != second[3] {
		t.Errorf("came back on %s, was on %s", second[3], first[3])
	}
	kill(t, second[2])
	s.await("localclickhouse start", 3)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if out := s.out.String(); !strings.Contains(out, "localclickhouse ended: signal: killed; recording goes on into the spool; starting it again in 200ms") {
		t.Errorf("nothing said about it:\n%s", out)
	}
	if got := s.entries("proxy start"); len(got) != 1 {
		t.Errorf("proxy starts: %q", got)
	}
}

func kill(t *testing.T, pid string) {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(pid, &n); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsOrphaned(t *testing.T) {
	s := newStage(t)
	cmd := exec.Command(filepath.Join(s.dir, "docket"), "run", "--data", filepath.Join(s.dir, "data"))
	cmd.Dir = s.dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.await("evaluator start", 1)
	s.await("proxy start", 1)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, name := range []string{"evaluator", "proxy", "localclickhouse"} {
		s.await(name+" stop", 1)
	}
}

func TestReadyErrorStops(t *testing.T) {
	s := newStage(t)
	o := s.options()
	want := errors.New("no traffic")
	o.ready = func(context.Context) error { return want }
	if err := supervise(t.Context(), o, &s.out); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}

func TestStubbornChildIsKilled(t *testing.T) {
	var out safeBuffer
	s := newSupervisor(&out, 1)
	c, err := s.start(process{name: "stubborn", path: "/bin/sh", args: []string{"-c", "trap '' TERM; echo ready; while :; do :; done"}, grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(out.String(), "ready"); {
		if time.Now().After(deadline) {
			t.Fatal("it did not start")
		}
		<-time.After(time.Millisecond)
	}
	s.stop()
	if got := c.ending(); got != "signal: killed" {
		t.Errorf("ended by %s", got)
	}
	if !strings.Contains(out.String(), "stubborn did not stop within 50ms and was killed") {
		t.Errorf("output:\n%s", out.String())
	}
}

func TestInspect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "docket.yaml")
	cases := []struct {
		name, yaml   string
		env          map[string]string
		store, spool bool
	}{
		{name: "nothing"},
		{name: "file", yaml: "store: {dsn: http://x}\ncapture: {spool: {dir: /s}}", store: true, spool: true},
		{name: "environment", env: map[string]string{"DOCKET_STORE": "x", "DOCKET_CAPTURE_SPOOL_DIR": "/s"}, store: true, spool: true},
		{name: "long name", env: map[string]string{"DOCKET_STORE_DSN": "x"}, store: true},
		{name: "other keys", yaml: "store: {cluster: c}\nproxy: {listen: x}"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(c.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			o := options{file: file}
			if err := o.inspect(func(k string) string { return c.env[k] }); err != nil {
				t.Fatal(err)
			}
			if o.store != c.store || o.spool != c.spool {
				t.Errorf("store %v, spool %v", o.store, o.spool)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	none := func(string) string { return "" }
	for _, args := range [][]string{nil, {"start"}, {"run", "x"}, {"run", "--what"}, {"run", "--config", "absent.yaml"}} {
		var out bytes.Buffer
		if err := run(t.Context(), args, none, &out); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"help"}, none, &out); err != nil || !strings.Contains(out.String(), "docket run|demo") {
		t.Errorf("help: %v\n%s", err, out.String())
	}
}

func TestPrefixWriter(t *testing.T) {
	var out bytes.Buffer
	w := &prefixWriter{name: "proxy", out: &out}
	for _, p := range []string{"a", "b\nc\n\nlast"} {
		if _, err := w.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	w.flush()
	want := []string{"ab", "c", "", "last"}
	var got []string
	for line := range strings.Lines(out.String()) {
		_, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
		got = append(got, text)
	}
	if !slices.Equal(want, got) {
		t.Errorf("got %q", got)
	}
}

func TestBackoff(t *testing.T) {
	got := []time.Duration{
		nextBackoff(0, time.Second), nextBackoff(firstBackoff, time.Second),
		nextBackoff(maxBackoff, time.Second), nextBackoff(maxBackoff, steady),
	}
	want := []time.Duration{firstBackoff, 2 * firstBackoff, maxBackoff, firstBackoff}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
