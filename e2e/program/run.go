package program

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Run runs a command to its end and returns what it printed.
func Run(t *testing.T, env []string, stdin string, argv ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), busy*2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(CleanEnviron(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(argv, " "), err, stdout.String(), stderr.String())
	}
	return stdout.Bytes()
}
