package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "docket"
)

// source is one parsed file of the module.
type source struct {
	pkg  string // folder, from the root on
	file string
	test bool
	ast  *ast.File
	fset *token.FileSet
}

func (s source) line(n ast.Node) int { return s.lineOf(n.Pos()) }

func (s source) lineOf(p token.Pos) int { return s.fset.Position(p).Line }

func (s source) at(n ast.Node) string { return fmt.Sprintf("%s:%d", s.file, s.line(n)) }

func (s source) imports(f func(spec *ast.ImportSpec, name string)) {
	for _, spec := range s.ast.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			f(spec, name)
		}
	}
}

// sources parses every file of the module: folders with their own go.mod are
// other modules.
func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(filepath.ToSlash(name), root+"/")
		if d.IsDir() {
			if skipped(rel) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, source{
			pkg: path.Dir(rel), file: rel, test: strings.HasSuffix(rel, "_test.go"), ast: file, fset: fset,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func skipped(rel string) bool {
	switch rel {
	case "bench", "tools", "e2e/judge/go", "e2e/sdk/go", "bin", "data", "data-demo":
		return true
	}
	base := path.Base(rel)
	return base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") && rel != root
}

func rowOf(pkg string) (row, bool) {
	rows := table()
	i := slices.IndexFunc(rows, func(r row) bool { return r.pkg == pkg })
	if i < 0 {
		return row{}, false
	}
	return rows[i], true
}

func TestArrows(t *testing.T) {
	missing := map[string]bool{}
	for _, s := range sources(t) {
		r, ok := rowOf(s.pkg)
		if !ok {
			missing[s.pkg] = true
			continue
		}
		s.imports(func(spec *ast.ImportSpec, name string) {
			ours, ok := strings.CutPrefix(name, module+"/")
			if !ok || ours == s.pkg || allowed(r, ours) || s.test && allowedInTest(r, ours) {
				return
			}
			t.Errorf("%s: %s may not import %s; its row allows: %s", s.at(spec), s.pkg, ours, orNone(r.may))
		})
	}
	for pkg := range missing {
		t.Errorf("package %s has no row in the table of internal/archtest", pkg)
	}
}

func allowed(r row, pkg string) bool {
	if slices.Contains(r.may, pkg) {
		return true
	}
	return slices.Contains(r.may, "*") && strings.HasPrefix(pkg, "internal/")
}

// allowedInTest: an external test may use fakes, and what the package may
// import may be looked through.
func allowedInTest(r row, pkg string) bool {
	return slices.Contains(fakes(), pkg) || strings.HasPrefix(pkg, r.pkg+"/")
}

func orNone(s []string) string {
	if len(s) == 0 {
		return "none of ours"
	}
	return strings.Join(s, ", ")
}

func TestModules(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		s.imports(func(spec *ast.ImportSpec, name string) {
			for _, r := range rules() {
				if (name == r.prefix || strings.HasPrefix(name, r.prefix+"/")) && !slices.Contains(r.only, s.pkg) {
					t.Errorf("%s: only %s may import %s: %s", s.at(spec), strings.Join(r.only, ", "), r.prefix, r.why)
				}
			}
			first, _, _ := strings.Cut(name, "/")
			if slices.Contains(standardOnly(), s.pkg) && strings.Contains(first, ".") {
				t.Errorf("%s: %s may use only the standard library, not %s", s.at(spec), s.pkg, name)
			}
		})
	}
}

func TestNoInitNoMutableVariables(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, decl := range s.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					t.Errorf("%s: init is not used here: set up in main", s.at(d))
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					checkVariables(t, s, d)
				}
			}
		}
	}
}

// checkVariables lets pass what is written once, at its declaration: errors,
// compiled patterns, embedded files, tables and interface checks. That nothing
// writes to them later is for the reviewer.
func checkVariables(t *testing.T, s source, d *ast.GenDecl) {
	t.Helper()
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || len(v.Values) > 0 || v.Names[0].Name == "_" || embedded(d, v) {
			continue
		}
		t.Errorf("%s: variable %s of the package has no value at its declaration, so something sets it later: pass it as an argument", s.at(v), v.Names[0].Name)
	}
}

func embedded(d *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{d.Doc, v.Doc} {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

func TestEveryPackageHasDoc(t *testing.T) {
	has := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		has[s.pkg] = has[s.pkg] || path.Base(s.file) == "doc.go" && s.ast.Doc != nil
	}
	for pkg, ok := range has {
		if !ok && pkg != "e2e" {
			t.Errorf("%s: no doc.go with a package comment", pkg)
		}
	}
}

func TestNames(t *testing.T) {
	banned := []string{"util", "utils", "common", "helpers", "types", "models"}
	for _, s := range sources(t) {
		if slices.Contains(banned, path.Base(s.pkg)) {
			t.Errorf("%s: a package called %s says nothing about what it is for", s.file, path.Base(s.pkg))
		}
	}
}

func TestSizes(t *testing.T) {
	const maxFile, maxFunc = 450, 90
	for _, s := range sources(t) {
		end := s.lineOf(s.ast.End())
		if end > maxFile && !s.test {
			t.Errorf("%s: %d lines; past %d look for two ideas", s.file, end, maxFile)
		}
		for _, decl := range s.ast.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || s.test {
				continue
			}
			if n := s.lineOf(f.End()) - s.line(f); n > maxFunc {
				t.Errorf("%s: function %s has %d lines; past 60 needs a reason, past %d there is none", s.at(f), f.Name.Name, n, maxFunc)
			}
		}
	}
}

func TestNoSkippedTests(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				if id, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, id.Name) {
					t.Errorf("%s: a missing part fails the test, it does not skip it", s.at(n))
				}
			}
			return true
		})
	}
}
