package storetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit = 10 * time.Minute // the first read of the library from a slow disk
	stopLimit  = 2 * time.Minute
	testMemory = "1GiB"
)

// child is a running engine.
type child struct {
	cmd  *exec.Cmd
	life *os.File // its standard input: closing it stops the child
	out  *os.File // its standard output
	log  *os.File // its standard error, a file without a name
	dsn  *url.URL
}

// startChild builds and starts cmd/localclickhouse on a data folder that it
// removes itself.
func startChild() (*child, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	library, err := findLibrary(root)
	if err != nil {
		return nil, err
	}
	cache := filepath.Join(root, ".cache", "storetest")
	unlock, err := lock(cache)
	if err != nil {
		return nil, err
	}
	defer unlock() // only when the child runs: another test binary may rebuild it
	bin := filepath.Join(cache, "localclickhouse")
	if err := build(root, bin); err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp("", "docket-storetest-")
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(bin, "--listen", "127.0.0.1:0", "--data", data, "--lib", library,
		"--memory", testMemory, "--ephemeral", "--until-stdin-closes")}
	if err := c.start(data); err != nil {
		c.kill()
		_ = os.RemoveAll(data)
		return nil, err
	}
	return c, nil
}

// start runs the child until it says where it listens.
func (c *child) start(data string) error {
	stdin, life, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = stdin.Close() }()
	c.life = life
	out, stdout, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = stdout.Close() }()
	c.out = out
	if c.log, err = unnamedFile(); err != nil {
		return err
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = stdin, stdout, c.log
	if err := c.cmd.Start(); err != nil {
		return err
	}
	_ = stdout.Close() // so that reading ends when the child does
	if err := out.SetReadDeadline(time.Now().Add(startLimit)); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		return fmt.Errorf("cmd/localclickhouse did not start: %s %s", strings.TrimSpace(line), c.said())
	}
	password, err := os.ReadFile(filepath.Join(data, "password"))
	if err != nil {
		return err
	}
	c.dsn = &url.URL{Scheme: "http", User: url.UserPassword("default", strings.TrimSpace(string(password))), Host: addr}
	return nil
}

// said is what the child wrote to its standard error.
func (c *child) said() string {
	if _, err := c.log.Seek(0, io.SeekStart); err != nil {
		return err.Error()
	}
	b, err := io.ReadAll(io.LimitReader(c.log, 64<<10))
	return strings.TrimSpace(string(b)) + errorText(err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return " (" + err.Error() + ")"
}

// stop lets the child end and waits for it. It complains when the engine died
// on its own or had to be killed.
func (c *child) stop() error {
	_ = c.life.Close()
	timer := time.AfterFunc(stopLimit, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	err := c.cmd.Wait()
	if err != nil {
		err = fmt.Errorf("cmd/localclickhouse ended badly: %w: %s", err, c.said())
	}
	return errors.Join(err, c.out.Close(), c.log.Close())
}

// kill ends a child that did not start.
func (c *child) kill() {
	if c.cmd.Process != nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
	for _, f := range []*os.File{c.life, c.out, c.log} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// unnamedFile cannot be left behind.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "docket-storetest-*.log")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// build compiles the command; it is quick when nothing changed.
func build(root, bin string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", bin, "./cmd/localclickhouse")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build cmd/localclickhouse: %w: %s", err, out)
	}
	return nil
}

// lock keeps other test binaries from building at the same time.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// moduleRoot is the folder of go.mod, from the working folder upwards.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working folder")
		}
		dir = parent
	}
}

// findLibrary looks where the command looks, from the module's root.
func findLibrary(root string) (string, error) {
	path := os.Getenv("DOCKET_LIBCHDB")
	if path == "" {
		path = filepath.Join(root, ".cache", "libchdb", "libchdb.so")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the embedded ClickHouse is missing (%w): run \"make libchdb\" (sh scripts/fetch-libchdb.sh), or set DOCKET_LIBCHDB to a copy of libchdb.so, or DOCKET_TEST_STORE to the DSN of a server", err)
	}
	return path, nil
}
