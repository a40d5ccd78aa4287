package readme

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"docket/internal/config"
	"docket/internal/proxy"
)

// TestPresetsTable: the table has each preset.
func TestPresetsTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| preset | prefix | where it goes | API | `gen_ai.provider.name` |\n|---|---|---|---|---|\n")
	for _, p := range proxy.Presets() {
		base, provider := code(p.BaseURL), code(p.Provider)
		if base == "" {
			base = "`base_url` has to be set"
		}
		if provider == "" {
			provider = "by the call"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", p.Name, p.Prefix, base, p.API, provider)
	}
	compareSection(t, "presets", b.String())
}

// TestYAMLBlocks: the settings that README.md shows are right.
func TestYAMLBlocks(t *testing.T) {
	environment := map[string]string{
		"AZURE_OPENAI_KEY": "fake-key", "TEAM_A_KEY": "fake-key-of-team-a", "TEAM_B_KEY_SHA256": strings.Repeat("0a", 32),
	}
	blocks := strings.Split(read(t, readmeFile), "```yaml\n")[1:]
	if len(blocks) < 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		file := filepath.Join(t.TempDir(), "docket.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := proxy.DefaultConfig()
		known := []string{"capture", "store", "judge", "rubrics", "rules", "evaluator"}
		err := config.Load(file, func(name string) string { return environment[name] }, nil, map[string]any{"proxy": &c}, known)
		if err == nil {
			err = proxy.Check(c)
		}
		if err != nil {
			t.Errorf("%v in:\n%s", err, text)
		}
	}
}
