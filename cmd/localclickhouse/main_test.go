package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram makes the test binary run the command itself: an engine can be
// started once per process only.
const asProgram = "DOCKET_TEST_RUN_LOCALCLICKHOUSE"

// asParent makes it start the command as a child and wait to be killed.
const asParent = "DOCKET_TEST_PARENT_OF_LOCALCLICKHOUSE"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asProgram) != "":
		main()
	case os.Getenv(asParent) != "":
		if err := runAsParent(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

func runAsParent() error {
	c := exec.Command(os.Args[0], os.Args[1:]...)
	c.Env = append(os.Environ(), asProgram+"=1")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if _, err := c.StdinPipe(); err != nil { // closes with this process
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	fmt.Println("child", c.Process.Pid)
	return c.Wait()
}

// program is a running command.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    *bufio.Reader
	stderr strings.Builder
	data   string
	addr   string
}

// library is found as from the root of the module.
func library(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("DOCKET_LIBCHDB"); named != "" {
		return named
	}
	path, err := filepath.Abs(filepath.Join("..", "..", ".cache", "libchdb", "libchdb.so"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs the command until it is ready.
func start(t *testing.T, data string, args ...string) *program {
	t.Helper()
	p := launch(t, asProgram, data, args...)
	p.addr = p.line("listening on ")
	return p
}

func launch(t *testing.T, role, data string, args ...string) *program {
	t.Helper()
	p := &program{t: t, data: data}
	args = append([]string{"--listen", "127.0.0.1:0", "--data", data, "--lib", library(t), "--memory", "512MiB"}, args...)
	p.cmd = exec.Command(os.Args[0], args...)
	p.cmd.Env = append(os.Environ(), role+"=1")
	p.cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// line reads the next line, which must begin with prefix.
func (p *program) line(prefix string) string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix)
	if err != nil || !ok {
		_ = p.cmd.Wait()
		p.t.Fatalf("got %q (%v), want %q...; stderr: %s", line, err, prefix, p.stderr.String())
	}
	return rest
}

// wait returns how the program ended; it must do so soon.
func (p *program) wait() error {
	p.t.Helper()
	timer := time.AfterFunc(2*time.Minute, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	return p.cmd.Wait()
}

func (p *program) password() string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.data, "password"))
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func (p *program) query(ctx context.Context, password, sql string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.addr+"/", strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	req.SetBasicAuth("default", password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(string(b))
	}
	return string(b), err
}

func (p *program) mustQuery(sql string) string {
	p.t.Helper()
	out, err := p.query(p.t.Context(), p.password(), sql)
	if err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

func TestServesUntilTheSignal(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	portFile := filepath.Join(t.TempDir(), "port")
	p := start(t, data, "--port-file", portFile)
	if b, err := os.ReadFile(portFile); err != nil || strings.TrimSpace(string(b)) != p.addr {
		t.Errorf("port file holds %q, %v; want %s", b, err, p.addr)
	}
	if info, err := os.Stat(filepath.Join(data, "password")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("password file: %v, %v", info, err)
	}
	if info, err := os.Stat(data); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("data folder: %v, %v", info, err)
	}
	p.mustQuery("CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n")
	p.mustQuery("INSERT INTO t VALUES (1)")
	if _, err := p.query(t.Context(), "wrong", "SELECT 1"); err == nil || !strings.Contains(err.Error(), "AUTHENTICATION_FAILED") {
		t.Errorf("wrong password: %v", err)
	}
	password := p.password()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Fatalf("ended with %v: %s", err, p.stderr.String())
	}

	p = start(t, data)
	if p.password() != password {
		t.Error("the password changed at the second start")
	}
	if got := p.mustQuery("SELECT n FROM t"); got != "1\n" {
		t.Errorf("after a restart: %q", got)
	}
}

func TestStopsWhileAStatementRuns(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "data"))
	password := p.password()
	ended := make(chan error, 1)
	go func() {
		_, err := p.query(context.Background(), password, "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)")
		ended <- err
	}()
	await(t, "statement to run", func() bool { return p.mustQuery("SELECT count() FROM system.processes") == "2\n" })
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("ended with %v: %s", err, p.stderr.String())
	}
	if err := <-ended; err == nil {
		t.Error("the statement had a result")
	}
}

func TestKilledServerKeepsWhatItAnswered(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := start(t, data)
	p.mustQuery("CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
	answered := 0
	password := p.password()
	for {
		if answered == 50 {
			go func() { _ = p.cmd.Process.Kill() }() // while the next ones run
		}
		if _, err := p.query(t.Context(), password, fmt.Sprintf("INSERT INTO t SELECT %d FROM numbers(100)", answered)); err != nil {
			break
		}
		answered++
	}
	_ = p.wait()
	p = start(t, data)
	got := p.mustQuery(fmt.Sprintf("SELECT countIf(n < %d), uniq(n) >= %d, count() %% 100 FROM t", answered, answered))
	if want := fmt.Sprintf("%d\t1\t0\n", answered*100); got != want {
		t.Errorf("after %d inserts: got %q, want %q", answered, got, want)
	}
}

func TestFsync(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "data"), "--fsync")
	if got := p.mustQuery("SELECT groupArray(value) FROM system.merge_tree_settings WHERE name IN ('fsync_after_insert', 'fsync_part_directory')"); got != "['1','1']\n" {
		t.Errorf("got %s", got)
	}
}

func TestSecondOwnerIsRefused(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	first := start(t, data)
	second := launch(t, asProgram, data)
	if err := second.wait(); err == nil {
		t.Fatal("two owners")
	}
	want := fmt.Sprintf("is in use by process %d", first.cmd.Process.Pid)
	if got := second.stderr.String(); !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := first.mustQuery("SELECT 1"); got != "1\n" {
		t.Errorf("the first one says %q", got)
	}
}

func TestTakenPortNamesTheFlag(t *testing.T) {
	first := start(t, filepath.Join(t.TempDir(), "data"))
	second := launch(t, asProgram, filepath.Join(t.TempDir(), "data"), "--listen", first.addr)
	if err := second.wait(); err == nil || !strings.Contains(second.stderr.String(), "--listen") {
		t.Errorf("%v: %s", err, second.stderr.String())
	}
}

func TestEndsWithItsParent(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	parent := launch(t, asParent, data, "--until-stdin-closes", "--ephemeral")
	var child int
	if _, err := fmt.Sscan(parent.line("child "), &child); err != nil {
		t.Fatal(err)
	}
	parent.line("listening on ")
	if err := parent.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The pipe of the standard output ends when the child, which shares it, has.
	if rest, err := io.ReadAll(parent.out); err != nil || len(rest) > 0 {
		t.Errorf("child wrote %q, %v", rest, err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data folder is still there: %v", err)
	}
	// A dead process is listed until its new parent has looked.
	await(t, "child to end", func() bool { return errors.Is(syscall.Kill(child, 0), syscall.ESRCH) })
}

// await polls for something that happens elsewhere.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain for the", what)
		}
	}
}

func TestBadFlags(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"all interfaces": {[]string{"--listen", ":8123"}, "loopback"},
		"public address": {[]string{"--listen", "10.0.0.1:8123"}, "loopback"},
		"no port":        {[]string{"--listen", "127.0.0.1"}, "127.0.0.1:8123"},
		"library":        {[]string{"--lib", "/nope/libchdb.so"}, "/nope/libchdb.so"},
		"memory":         {[]string{"--memory", "lots"}, "not a size"},
		"argument":       {[]string{"serve"}, `unknown argument "serve"`},
		"unknown":        {[]string{"--frob"}, "frob"},
		"not empty":      {[]string{"--ephemeral", "--data", full, "--lib", library(t)}, "must be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), c.args, func(string) string { return "" }, strings.NewReader(""), io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}
