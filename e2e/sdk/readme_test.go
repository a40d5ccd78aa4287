package sdk

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"docket/e2e/program"

	"github.com/google/go-cmp/cmp"
)

// checkReadme runs the examples of README.md's first five minutes as they stand,
// but for the address, and finds their calls.
func checkReadme(t *testing.T, r *rig) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## Five minutes\n")
	part, _, _ = strings.Cut(part, "\n## ")
	part = strings.ReplaceAll(part, "http://localhost:8080", "http://"+r.proxyAddr)
	env := []string{"OPENAI_API_KEY=not-a-key", "ANTHROPIC_API_KEY=not-a-key"}
	const reply = "Grüße zurück, 世界! 👋 \"quoted\" <b>&amp;</b>\n"
	for language, run := range map[string]struct {
		argv []string
		want string
	}{
		"python": {[]string{python(t)[0], "-"}, strings.Repeat(reply, 3)},
		"js":     {[]string{"node", "--input-type=module", "-"}, reply},
	} {
		got := string(program.Run(t, env, strings.Join(blocks(part, language), "\n"), run.argv...))
		if diff := cmp.Diff(run.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", language, diff)
		}
	}
	checkReadmeSettings(t, part)
	r.drained(t)
	calls := r.summaries(t, url.Values{"conversation_id": {"first-steps"}})
	calls = append(calls, r.summaries(t, url.Values{"model": {"claude-sonnet-5"}})...)
	for _, s := range r.summaries(t, url.Values{"model": {"gpt-4o-mini"}}) {
		if !slices.Contains(calls, s) {
			calls = append(calls, s)
		}
	}
	want := []string{"openai.chat of openai", "openai.chat of openai", "anthropic.messages of anthropic", "openai.responses of openai"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("the examples' calls (-want +got)\n%s", diff)
	}
}

// checkReadmeSettings: the settings that the examples need are those of the rig,
// which has another address in them.
func checkReadmeSettings(t *testing.T, part string) {
	t.Helper()
	for _, block := range blocks(part, "yaml") {
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "}\n")
			if !strings.Contains(settings, "\n"+line) {
				t.Errorf("the test runs without the setting %q", line)
			}
		}
	}
}

// blocks are the code blocks of a language.
func blocks(text, language string) []string {
	var out []string
	for _, b := range strings.Split(text, "\n```"+language+"\n")[1:] {
		code, _, _ := strings.Cut(b, "\n```\n")
		out = append(out, code)
	}
	return out
}

// summaries say of calls which API they spoke and whose it is.
func (r *rig) summaries(t *testing.T, query url.Values) []string {
	t.Helper()
	var list struct {
		Inferences []struct{ API, Provider string }
	}
	r.read(t, "/inferences", query, &list)
	var out []string
	for _, c := range list.Inferences {
		out = append(out, c.API+" of "+c.Provider)
	}
	return out
}
