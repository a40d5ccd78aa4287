package readme

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"docket/internal/capture"
	"docket/internal/config"
	"docket/internal/evaluate"
	"docket/internal/judge"
	"docket/internal/proxy"
	"docket/internal/query"
	"docket/internal/sampling"
	"docket/internal/spool"
	"docket/internal/store"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated parts of README.md")

const (
	readmeFile  = "../../README.md"
	exampleFile = "../../docket.example.yaml"
)

// section is one part of the settings with its defaults.
type section struct {
	name string
	cfg  any
}

func sections() []section {
	return []section{
		{"proxy", proxy.DefaultConfig()},
		{"capture", capture.DefaultConfig()},
		{"capture.spool", spool.DefaultConfig()},
		{"store", store.DefaultConfig()},
		{"judge", judge.DefaultConfig()},
		{"rubrics", map[string]judge.Rubric{}},
		{"rules", []sampling.Rule{}},
		{"evaluator", evaluate.DefaultConfig()},
		{"evaluator.api", query.DefaultConfig()},
	}
}

func table() string {
	var b strings.Builder
	b.WriteString("\n| key | variable | default | what it is |\n|---|---|---|---|\n")
	for _, s := range sections() {
		for _, f := range config.Fields(s.name, s.cfg) {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Key, code(f.Env), code(f.Default), doc(f))
		}
	}
	return b.String()
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func doc(f config.Field) string {
	return strings.ReplaceAll(strings.TrimSuffix(f.Doc, "."), "|", `\|`)
}

// TestSettingsTable: the table has each setting with its variable and default.
func TestSettingsTable(t *testing.T) { compareSection(t, "settings", table()) }

// compareSection compares a generated part of README.md, which stands between
// two marks.
func compareSection(t *testing.T, name, want string) {
	t.Helper()
	readme := read(t, readmeFile)
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok1 := strings.Cut(readme, begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("README.md has no marks %s and %s", begin, end)
	}
	want = strings.TrimSuffix(want, "\n") + "\n\n"
	if *update {
		if err := os.WriteFile(readmeFile, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s in README.md is out of date (make update): (-want +got)\n%s", name, diff)
	}
}

// TestSettingsAreDescribed: no setting goes without a line of explanation.
func TestSettingsAreDescribed(t *testing.T) {
	for _, s := range sections() {
		for _, f := range config.Fields(s.name, s.cfg) {
			if f.Doc == "" {
				t.Errorf("%s has no doc tag", f.Key)
			}
		}
	}
}

// TestExample: the example is right as it stands.
func TestExample(t *testing.T) {
	if got := check(t, exampleFile); !strings.Contains(got, "ok: 3 rubrics, 4 rules") {
		t.Errorf("evaluator check said:\n%s", got)
	}
}

// TestJudgingExample: the criteria that README.md shows are settings.
func TestJudgingExample(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, readmeFile), "\n## Judging\n\n```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	file := filepath.Join(t.TempDir(), "docket.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil || !ok {
		t.Fatalf("example found: %v, %v", ok, err)
	}
	if got := check(t, file); !strings.Contains(got, "ok: 1 rubrics, 1 rules") {
		t.Errorf("evaluator check said:\n%s", got)
	}
}

// check runs evaluator check.
func check(t *testing.T, file string) string {
	t.Helper()
	cmd := exec.Command("go", "run", "docket/cmd/evaluator", "check", "--config", file)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "DOCKET_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestCommandsExist: each make target that README.md names is in the Makefile.
func TestCommandsExist(t *testing.T) {
	readme, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(readme), "`make ")[1:] {
		name, _, _ := strings.Cut(part, "`")
		name, _, _ = strings.Cut(name, " ")
		if !strings.Contains(string(makefile), "\n"+name+":") {
			t.Errorf("README.md names make %s, which is not there", name)
		}
	}
}

// TestLinks: each link within README.md leads to a heading.
func TestLinks(t *testing.T) {
	text := read(t, readmeFile)
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^##+ (.+)$`).FindAllStringSubmatch(text, -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors["#"+strings.ReplaceAll(plain, " ", "-")] = true
	}
	links := regexp.MustCompile(`\]\((#[^)]*)\)`).FindAllStringSubmatch(text, -1)
	if len(links) < 10 {
		t.Errorf("only %d links found", len(links))
	}
	for _, m := range links {
		if !anchors[m[1]] {
			t.Errorf("README.md leads to %s, which is no heading", m[1])
		}
	}
}
