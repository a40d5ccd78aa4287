package judge_test

import (
	"flag"
	"testing"

	"docket/internal/leaktest"
)

// update rewrites the files in testdata from what the code does now.
func update() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the files in testdata")
	flag.String("measure", "", "System One server to measure wordings with")
	flag.String("labels", "", "folder of labelled conversations")
	flag.Int("cases", 0, "labelled conversations of each kind; 0 is all")
	leaktest.Main(m)
}

func ptr[T any](v T) *T { return &v }
