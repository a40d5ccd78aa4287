package sdk

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"docket/e2e/program"
)

// checkPage: the conversation of a tool loop is one page, where each call shows
// what is new in it: the tool's results too, and nothing twice.
func checkPage(t *testing.T, r *rig, all []outcome) {
	t.Helper()
	program.Existing(t, "../node/node_modules", "(cd e2e/node && npm ci)")
	argv := []string{"node", "../node/conversation.mjs"}
	var names []string
	for _, app := range all {
		if strings.Contains(app.Scenario, ".loop") {
			id, _ := r.records(t, app.traceID())[0]["conversation_id"].(string)
			names = append(names, app.Client+" "+app.Scenario)
			argv = append(argv, "http://"+r.apiAddr+"/conversations/"+url.PathEscape(id))
		}
	}
	var pages [][]string
	if err := json.Unmarshal(program.Run(t, nil, "", argv...), &pages); err != nil {
		t.Fatal(err)
	}
	if len(pages) != 3 {
		t.Fatalf("%d conversations", len(pages))
	}
	for i, turns := range pages {
		checkTurns(t, names[i], turns)
	}
}

// turn is what one call adds to the page.
type turn struct {
	kind   string   // of what is shown
	words  []string // shown here and in no other turn
	judged bool
}

func checkTurns(t *testing.T, name string, shown []string) {
	t.Helper()
	want := []turn{
		{"tool call", []string{name + ": Grüße, 世界 👋"}, false},
		{"tool result", []string{"The sky over Köln has clouds.", "It rains in Köln."}, true},
		{"tool call", []string{"And in 東京?"}, false},
		{"tool result", []string{"The sky over 東京 has clouds.", "It is dry in 東京: 21 °C."}, true},
	}
	if len(shown) != len(want) {
		t.Fatalf("%s: %d turns: %q", name, len(shown), shown)
	}
	for i, text := range shown {
		for _, kind := range []string{"tool call", "tool result"} {
			if strings.Contains(text, kind) != (kind == want[i].kind) {
				t.Errorf("%s: turn %d should show a %s and nothing else of tools: %s", name, i+1, want[i].kind, text)
			}
		}
		for j, other := range want {
			for _, w := range other.words {
				if strings.Contains(text, w) != (i == j) {
					t.Errorf("%s: turn %d: %q belongs to turn %d: %s", name, i+1, w, j+1, text)
				}
			}
		}
		if strings.Contains(text, "Not judged") == want[i].judged {
			t.Errorf("%s: turn %d: judged should be %v: %s", name, i+1, want[i].judged, text)
		}
	}
}
