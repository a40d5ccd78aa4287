package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"docket/e2e/program"

	"github.com/google/go-cmp/cmp"
)

// TestLibraries runs every scenario of every library straight and through the
// proxy, and reads back what was recorded.
func TestLibraries(t *testing.T) {
	r := startAll(t)
	direct, through := runAll(t, r)
	r.drained(t)
	r.awaitJudged(t)
	for i := range through {
		app := through[i]
		t.Run(app.Client+"/"+app.Scenario, func(t *testing.T) {
			compareOutcomes(t, direct[i], app)
			requests := r.upstream.seen(app.traceID())
			checkRequests(t, r.upstream.seen(direct[i].traceID()), requests, app.traceID())
			r.checkRecords(t, app, requests)
		})
	}
	t.Run("conversations", func(t *testing.T) { checkConversations(t, r, through) })
	t.Run("page", func(t *testing.T) { checkPage(t, r, through) })
	t.Run("README.md", func(t *testing.T) { checkReadme(t, r) })
	t.Run("vectors", func(t *testing.T) { checkNoVectors(t, r) })
	t.Run("leavers", func(t *testing.T) { checkLeavers(t, r, through) })
}

// runAll runs the languages beside each other, each first straight and then
// through the proxy.
func runAll(t *testing.T, r *rig) (direct, through []outcome) {
	t.Helper()
	var mu sync.Mutex
	t.Run("run", func(t *testing.T) {
		for _, l := range languages() {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				a, b := l.run(t, r.bases(true)), l.run(t, r.bases(false))
				mu.Lock()
				defer mu.Unlock()
				direct, through = append(direct, a...), append(through, b...)
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return direct, through
}

// awaitJudged makes a call and waits for its verdict: what was recorded before
// has been looked at too.
func (r *rig) awaitJudged(t *testing.T) {
	t.Helper()
	ask := language{"node", node, []client{{"openai-node", []string{"chat.text"}}}}
	last := ask.run(t, r.bases(false))[0]
	program.Await(t, "a verdict on the last call", time.Minute, func() bool {
		list := r.records(t, last.traceID())
		return len(list) == 1 && len(list[0]["verdicts"].([]any)) > 0
	})
}

// compareOutcomes: the application sees through the proxy what it sees without.
func compareOutcomes(t *testing.T, direct, through outcome) {
	t.Helper()
	if diff := cmp.Diff(direct.Calls, through.Calls); diff != "" {
		t.Errorf("the application sees a difference (-direct +through the proxy)\n%s", diff)
	}
	if diff := cmp.Diff(direct.Whole, through.Whole); diff != "" {
		t.Errorf("the library gives something else (-direct +through the proxy)\n%s", diff)
	}
}

// checkConversations: no two scenarios share a conversation.
func checkConversations(t *testing.T, r *rig, all []outcome) {
	t.Helper()
	scenarios := map[string]map[string]bool{}
	for _, app := range all {
		for _, rec := range r.records(t, app.traceID()) {
			if id, ok := rec["conversation_id"].(string); ok {
				if scenarios[id] == nil {
					scenarios[id] = map[string]bool{}
				}
				scenarios[id][app.Client+" "+app.Scenario] = true
			}
		}
	}
	for id, names := range scenarios {
		if len(names) > 1 {
			t.Errorf("conversation %s is of %q", id, slices.Sorted(maps.Keys(names)))
		}
	}
	if len(scenarios) < 50 {
		t.Errorf("only %d conversations", len(scenarios))
	}
}

// checkNoVectors: no table holds a vector, neither as numbers nor packed.
func checkNoVectors(t *testing.T, r *rig) {
	t.Helper()
	numbers, err := json.Marshal(vector(1)[:3])
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Trim(string(numbers), "[]")
	for _, table := range strings.Split(r.sql(t, "SELECT name FROM system.tables WHERE database = 'docket' AND engine LIKE '%MergeTree'"), "\n") {
		rows := r.sql(t, fmt.Sprintf("SELECT * FROM `%s` FORMAT TSVRaw", table))
		for what, text := range map[string]string{"numbers": plain, "base64": packed(vector(1))[:40]} {
			if strings.Contains(rows, text) {
				t.Errorf("table %s holds a vector as %s", table, what)
			}
		}
		if table == "inference_bodies" && strings.Count(rows, "docket-elided") < 6 {
			t.Error("the places of the vectors are not marked")
		}
	}
}

// checkLeavers: the upstream notices who leaves, also through the proxy.
func checkLeavers(t *testing.T, r *rig, all []outcome) {
	t.Helper()
	want := 0
	for _, app := range all {
		if app.Scenario == "chat.leave" {
			want += 2 // straight and through the proxy
		}
	}
	program.Await(t, fmt.Sprintf("%d clients that left", want), time.Minute, func() bool { return r.upstream.leavers() == want })
}
