package sdk

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"docket/e2e/program"
	"docket/internal/leaktest"
)

var update = flag.Bool("update", false, "write testdata/want")

// folder holds the commands under test, commands builds them, and buildLibraries
// the Go libraries' driver.
var (
	folder         string
	commands       *program.Folder
	buildLibraries = sync.OnceValue(func() error {
		// openai-go is large: without optimization it compiles in half the time.
		return program.Build("go", filepath.Join(folder, "libraries"), ".", false,
			"-gcflags=github.com/openai/openai-go/v3/...=-N -l", "-ldflags=-s -w")
	})
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "docket-sdk")
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
