package judge

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"docket/e2e/program"
	"docket/internal/leaktest"
)

// folder holds the commands under test, commands builds them, and buildLibrary
// the driver of the Go library.
var (
	folder       string
	commands     *program.Folder
	buildLibrary = sync.OnceValue(func() error {
		// The library is large: without optimization it compiles in half the time.
		return program.Build("go", filepath.Join(folder, "library"), ".", false,
			"-gcflags=github.com/openai/openai-go/v3/...=-N -l", "-ldflags=-s -w")
	})
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "docket-judge")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		folder, commands = dir, program.NewFolder(dir)
		code := m.Run()
		http.DefaultClient.CloseIdleConnections()
		if err := leaktest.Find(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}

// built is the path of a command, or of the library's driver.
func built(t *testing.T, name string) string {
	t.Helper()
	if name != "library" {
		return commands.Path(t, name)
	}
	if err := buildLibrary(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, name)
}

// python is the interpreter with the packages of requirements.txt.
func python(t *testing.T) string {
	t.Helper()
	return program.Existing(t, filepath.Join("..", "..", ".venv", "bin", "python"),
		"python3 -m venv .venv && .venv/bin/pip install --no-deps -r e2e/judge/requirements.txt")
}

// script is the path of a script that needs the packages of package.json.
func script(t *testing.T, name string) string {
	t.Helper()
	program.Existing(t, "node_modules", "(cd e2e/judge && npm ci)")
	return program.Existing(t, name, "git checkout")
}

// start runs a program until the test ends, and waits until it takes
// connections at addr.
func start(t *testing.T, addr, dir string, env, argv []string) {
	t.Helper()
	program.Start(t, argv[0], dir, env, argv[1:]...).AwaitListening(addr)
}
