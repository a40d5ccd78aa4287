package readme

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var metricName = regexp.MustCompile(`^docket_[a-z0-9_]+$`)

// metrics finds the names of metrics in the sources. The text behind a name,
// whatever form the declaration has, is its help.
func metrics(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, root := range []string{"../../internal", "../../cmd"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				return err
			}
			last := ""
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				switch {
				case err != nil:
				case metricName.MatchString(text):
					last = text
				case last != "":
					if strings.Contains(text, " ") { // else the name is no metric's
						found[last] = text
					}
					last = ""
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// TestMetricsTable: the table has each metric.
func TestMetricsTable(t *testing.T) {
	all := metrics(t)
	if len(all) < 10 {
		t.Fatalf("only %d metrics found", len(all))
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("\n| metric | what it counts |\n|---|---|\n")
	for _, name := range names {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.TrimSuffix(all[name], "."))
	}
	compareSection(t, "metrics", b.String())
}

// TestVerbs: each verb of the evaluator is in README.md.
func TestVerbs(t *testing.T) {
	out, err := exec.Command("go", "run", "docket/cmd/evaluator", "help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var b strings.Builder
	b.WriteString("\n| verb | what it does |\n|---|---|\n")
	verbs, _, _ := strings.Cut(string(out), "\n\n") // a hint follows the list
	for line := range strings.Lines(verbs) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] != "evaluator" {
			t.Fatalf("evaluator help says %q", line)
		}
		fmt.Fprintf(&b, "| `evaluator %s` | %s |\n", fields[1], strings.Join(fields[2:], " "))
	}
	compareSection(t, "verbs", b.String())
}
