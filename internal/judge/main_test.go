package judge_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// update rewrites the files in testdata from what the code does now.
func update() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the files in testdata")
	goleak.VerifyTestMain(m)
}

func ptr[T any](v T) *T { return &v }
