package readme

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docketHeaders are the Docket-* headers that the code knows.
func docketHeaders(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/capture/headers.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(text, "Docket-") && text != "Docket-" {
				known[strings.TrimSuffix(text, "-")] = true
			}
		}
		return true
	})
	if len(known) < 10 {
		t.Fatalf("only %d headers found", len(known))
	}
	return known
}

// TestDocketHeaders: README.md names each Docket-* header that the code knows,
// and no other.
func TestDocketHeaders(t *testing.T) {
	known, told := docketHeaders(t), map[string]bool{}
	for _, m := range regexp.MustCompile(`Docket-[A-Z][A-Za-z]*(-[A-Z][a-z]+)*`).FindAllString(read(t, readmeFile), -1) {
		told[m] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(told))); diff != "" {
		t.Errorf("headers in the code and in README.md (-code +README.md):\n%s", diff)
	}
}

// TestHeadersTable: each request header has a row in the table.
func TestHeadersTable(t *testing.T) {
	_, rest, ok := strings.Cut(read(t, readmeFile), "## Request headers\n")
	table, _, ok2 := strings.Cut(rest, "\n\nAnswers have")
	if !ok || !ok2 {
		t.Fatal("README.md has no section Request headers")
	}
	for name := range docketHeaders(t) {
		cell := "`" + name
		if name != "Docket-Metadata" { // what follows is the client's
			cell += "`"
		}
		if in := strings.Contains(table, cell); in == (name == "Docket-Inference-Id") { // that one is in answers
			t.Errorf("%s in the table: %v", name, in)
		}
	}
}
