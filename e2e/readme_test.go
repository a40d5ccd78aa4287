package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"docket/e2e/program"
)

// TestReadmeSQL: the statements of README.md run, and the rate is right.
func TestReadmeSQL(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(readme), "<!-- sql -->")
	part, _, _ = strings.Cut(part, "<!-- /sql -->")
	var statements []string
	for _, block := range strings.Split(part, "```sql\n")[1:] {
		statement, _, _ := strings.Cut(block, "```")
		statements = append(statements, statement)
	}
	if len(statements) < 2 {
		t.Fatalf("README.md has %d statements", len(statements))
	}
	r := startAll(t)
	ask(t, r, "what is the rate?", "readme")
	program.Await(t, "verdicts", time.Minute, func() bool { return len(r.verdicts(t, nil)) == 3 })
	got := strings.Join(r.sql(statements[0]), "\n")
	if want := "honest\t0\t1\t0\nbrief\t1\t1\t0\nhelpful\t1\t1\t0"; !sameLines(got, want) {
		t.Errorf("pass rates:\n%s", got)
	}
	for _, s := range statements[1:] {
		r.sql(s)
	}
}

// sameLines compares without regard to order.
func sameLines(a, b string) bool {
	seen := map[string]int{}
	for line := range strings.SplitSeq(a, "\n") {
		seen[line]++
	}
	for line := range strings.SplitSeq(b, "\n") {
		seen[line]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}
