package readme

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"docket/internal/capture"
	"docket/internal/config"
	"docket/internal/proxy"
)

// TestPrivacyExample: the rules that the README shows are settings.
func TestPrivacyExample(t *testing.T) {
	readme, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "## Privacy\n")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("no example")
	}
	file := filepath.Join(t.TempDir(), "docket.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := capture.DefaultConfig()
	getenv := func(name string) string { return map[string]string{"DOCKET_REDACT_KEY": "fake-key-of-tests-1"}[name] }
	environ := []string{"DOCKET_REDACT_KEY=fake-key-of-tests-1"}
	if err := config.Load(file, getenv, environ, map[string]any{"capture": &c}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if err := c.ValidateUpstreams(proxy.DefaultConfig().HasUpstream); err != nil {
		t.Error(err)
	}
	if len(c.Redact.Rules) != 6 || c.Redact.Rules[1].Action != "mask" || c.Redact.Rules[1].Where != "all" {
		t.Errorf("rules %+v", c.Redact.Rules)
	}
}
