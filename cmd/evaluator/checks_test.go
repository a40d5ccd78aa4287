package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/store/storetest"
)

// TestChecksNeedNoJudge: criteria that a program decides are judged although no
// judge is set.
func TestChecksNeedNoJudge(t *testing.T) {
	dsn := storetest.DSN(t)
	file := write(t, `
rubrics:
  form:
    criteria:
      - {name: apology, text: The reply says sorry., check: {contains: Sorry}}
      - {name: short, text: The reply is short., check: {max_chars: 3}}
rules:
  - {name: everything, rubric: form, rate: 1}
evaluator:
  poll: 20ms
  settle: 0s
`)
	getenv := env("DOCKET_STORE", dsn)
	var checked output
	if err := run(t.Context(), []string{"check", "--config", file}, getenv, &checked); err != nil || strings.Contains(checked.String(), "Judging is off") {
		t.Errorf("check: %v\n%s", err, checked.String())
	}
	captured(t, dsn, "Sorry!")
	base, out, _ := program(t, getenv, "serve", "--config", file, "--listen", "127.0.0.1:0")
	var got verdictsAnswer
	await(t, "verdicts", func() bool {
		fetch(t, base+"/api/v1/verdicts", &got)
		return len(got.Verdicts) == 2
	})
	outcomes := map[string]string{}
	for _, v := range got.Verdicts {
		outcomes[v.Criterion], _, _ = strings.Cut(v.Line, " ")
	}
	if diff := cmp.Diff(map[string]string{"apology": "PASS", "short": "FAIL"}, outcomes); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if strings.Contains(out.String(), "Judging is off") {
		t.Errorf("judging is said to be off:\n%s", out)
	}
}
