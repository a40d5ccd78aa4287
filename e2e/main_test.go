package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"docket/e2e/program"
)

// folder holds the commands under test, commands builds them.
var (
	folder   string
	commands *program.Folder
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "docket-e2e")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		folder, commands = filepath.Clean(dir), program.NewFolder(dir)
		return m.Run()
	}())
}

// built is the path of a command.
func built(t *testing.T, name string) string {
	t.Helper()
	return commands.Path(t, name)
}
