package judge

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"docket/internal/leaktest"
)

// folder holds the commands under test. Each is built when it is first started.
var folder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "docket-judge")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		folder = dir
		code := m.Run()
		http.DefaultClient.CloseIdleConnections()
		if err := leaktest.Find(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}

var commands = map[string]func() error{
	"proxy":           sync.OnceValue(func() error { return build("proxy", ".", "docket/cmd/proxy") }),
	"evaluator":       sync.OnceValue(func() error { return build("evaluator", ".", "docket/cmd/evaluator") }),
	"localclickhouse": sync.OnceValue(func() error { return build("localclickhouse", ".", "docket/cmd/localclickhouse") }),
	// The library is large: without optimization it compiles in half the time.
	"library": sync.OnceValue(func() error {
		return build("library", "go", ".", "-gcflags=github.com/openai/openai-go/v3/...=-N -l", "-ldflags=-s -w")
	}),
}

// built is the path of a command.
func built(t *testing.T, name string) string {
	t.Helper()
	if err := commands[name](); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, name)
}

// build builds a package of the module that dir is in.
func build(name, dir, pkg string, flags ...string) error {
	argv := slices.Concat([]string{"build", "-C", dir, "-o", filepath.Join(folder, name)}, flags, []string{pkg})
	cmd := exec.Command("go", argv...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

// library is the embedded engine's.
func library(t *testing.T) string {
	t.Helper()
	lib := os.Getenv("DOCKET_LIBCHDB")
	if lib == "" {
		lib = filepath.Join("..", "..", ".cache", "libchdb", "libchdb.so")
	}
	return existing(t, lib, "make libchdb, or set DOCKET_LIBCHDB")
}

// existing is the absolute path of a part that must be installed.
func existing(t *testing.T, name, install string) string {
	t.Helper()
	abs, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(abs); err != nil {
		t.Fatalf("a part is missing: %s: %v", install, err)
	}
	return abs
}

// python is the interpreter with the packages of requirements.txt.
func python(t *testing.T) string {
	t.Helper()
	return existing(t, filepath.Join("..", "..", ".venv", "bin", "python"),
		"python3 -m venv .venv && .venv/bin/pip install --no-deps -r e2e/judge/requirements.txt")
}

// script is the path of a script that needs the packages of package.json.
func script(t *testing.T, name string) string {
	t.Helper()
	existing(t, "node_modules", "(cd e2e/judge && npm ci)")
	return existing(t, name, "git checkout")
}
