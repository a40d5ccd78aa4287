package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const patience = time.Minute

// Find returns an error when goroutines beside the caller's are left for longer
// than a busy machine needs to end them.
func Find() error {
	for deadline := time.Now().Add(patience); ; {
		err := goleak.Find()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// Main runs the tests of a package, and fails when goroutines are left.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left:", err)
			code = 1
		}
	}
	os.Exit(code)
}
