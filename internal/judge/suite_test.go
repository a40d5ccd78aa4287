package judge_test

import (
	"testing"

	"docket/internal/judge/judgetest"
)

// TestBackends runs the behaviour suite over every format.
func TestBackends(t *testing.T) {
	for _, f := range judgetest.Formats() {
		t.Run(f.Name, func(t *testing.T) { judgetest.Run(t, f) })
	}
}
