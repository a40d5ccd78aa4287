package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"docket/e2e/program"
)

const hostile = `needle <script>alert(1)</script><img src="http://example.invalid/x.png" onerror="alert(2)">` +
	` [link](javascript:alert(3)) </textarea></pre>{{.Secret}}`

// TestPage: a person finds the calls, the conversation and its verdicts in a
// real browser; hostile content is text, and nothing outside is loaded.
func TestPage(t *testing.T) {
	r := startAll(t)
	for range 2 {
		ask(t, r, hostile, "hostile/talk 1")
	}
	program.Await(t, "verdicts", time.Minute, func() bool { return len(r.verdicts(t, url.Values{"limit": {"50"}})) == 6 })

	pictures := os.Getenv("DOCKET_TEST_PICTURES")
	if pictures == "" {
		pictures = t.TempDir()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "node/page.mjs", "http://"+r.apiAddr, r.base(), pictures)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var page struct {
		Live                        bool
		Filtered, Said, Verdicts    []string
		Turns, ConversationVerdicts int
		Outside, Errors             []string
		Dialogs                     int
	}
	if err := json.Unmarshal(stdout.Bytes(), &page); err != nil {
		t.Fatalf("%v in %s", err, stdout.String())
	}
	if !page.Live {
		t.Error("a new call appeared only after loading the page again")
	}
	if len(page.Filtered) != 2 {
		t.Errorf("text search found %d calls, want 2: %q", len(page.Filtered), page.Filtered)
	}
	if len(page.Said) != 2 || !strings.Contains(page.Said[0], hostile) || !strings.Contains(page.Said[1], replyText) {
		t.Errorf("what was said, as text: %q", page.Said)
	}
	if len(page.Verdicts) != 3 {
		t.Errorf("verdicts: %q", page.Verdicts)
	}
	if page.Turns != 2 || page.ConversationVerdicts != 6 {
		t.Errorf("conversation: %d turns, %d verdicts", page.Turns, page.ConversationVerdicts)
	}
	if len(page.Outside) > 0 || len(page.Errors) > 0 || page.Dialogs > 0 {
		t.Errorf("loaded from outside: %q; errors: %q; dialogs: %d", page.Outside, page.Errors, page.Dialogs)
	}
}

// ask makes one call of a conversation.
func ask(t *testing.T, r *rig, question, conversation string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "scripted-text", "messages": []any{map[string]any{"role": "user", "content": question}}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.base()+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Docket-Conversation-Id", conversation)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("status %d", res.StatusCode)
	}
}
