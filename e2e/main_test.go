package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// folder holds the commands under test. Each is built when it is first started.
var folder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "docket-e2e")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		folder = dir
		return m.Run()
	}())
}

var (
	buildProxy     = sync.OnceValue(func() error { return build("proxy", true) })
	buildEvaluator = sync.OnceValue(func() error { return build("evaluator", true) })
	buildEngine    = sync.OnceValue(func() error { return build("localclickhouse", false) })
	buildDocket    = sync.OnceValue(func() error { return build("docket", false) })
)

// built is the path of a command. The proxy and the evaluator have the race
// detector in them: a race fails the test whose log it is found in. The engine
// has not, since the detector and the library do not share a process well.
func built(t *testing.T, name string) string {
	t.Helper()
	build := map[string]func() error{"proxy": buildProxy, "evaluator": buildEvaluator, "localclickhouse": buildEngine, "docket": buildDocket}[name]
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, name)
}

func build(name string, race bool) error {
	cgo, args := "0", []string{"build"}
	if race {
		cgo, args = "1", append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "-o", filepath.Join(folder, name), "docket/cmd/"+name)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
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
		lib = filepath.Join("..", ".cache", "libchdb", "libchdb.so")
	}
	abs, err := filepath.Abs(lib)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(abs); err != nil {
		t.Fatalf("the embedded ClickHouse is missing: make libchdb, or set DOCKET_LIBCHDB: %v", err)
	}
	return abs
}
