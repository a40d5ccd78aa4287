package fieldcases

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"docket/internal/query"
	"docket/internal/store"
	"docket/internal/store/storetest"
	"docket/internal/upstreamtest"
)

// suite is one store, the read API over it, and one scripted upstream.
type suite struct {
	dir      string
	dsn      string
	store    *store.Store
	api      http.Handler
	binary   string
	upstream *upstreamtest.Server
	script   script
	main     *program         // the proxy of most cases
	chained  *program         // a proxy behind it
	limited  map[int]*program // by capture limit
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{dir: t.TempDir(), dsn: storetest.DSN(t), limited: map[int]*program{}}
	s.binary = filepath.Join(s.dir, "proxy")
	if out, err := exec.Command("go", "build", "-o", s.binary, "docket/cmd/proxy").CombinedOutput(); err != nil {
		t.Fatalf("build the proxy: %v\n%s", err, out)
	}
	cfg := store.DefaultConfig()
	cfg.DSN, cfg.QueryTimeout = s.dsn, patience
	var err error
	if s.store, err = store.Open(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.store.Close() })
	if err := s.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.api, err = query.New(query.DefaultConfig(), query.Options{Store: s.store, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	s.script.init()
	s.upstream = upstreamtest.Start(t, s.script.serve)
	s.chained = s.start(t, settings{project: "cases"})
	s.main = s.start(t, settings{project: "cases", upstreams: map[string]string{
		"ollama": fmt.Sprintf("{prefix: /api, base_url: %q, api: ollama}", s.upstream.URL()+"/api"),
		"gone":   fmt.Sprintf("{prefix: /v1beta, base_url: %q, api: gemini}", "http://127.0.0.1:9/v1beta"),
		"next":   fmt.Sprintf("{prefix: /next/v1, base_url: %q, api: openai}", "http://"+s.chained.addr+"/v1"),
		"hasty":  fmt.Sprintf("{prefix: /hasty/v1, base_url: %q, api: openai, timeouts: {first_byte: 4s, idle: 4s}}", s.upstream.URL()+"/v1"),
	}})
	return s
}

// proxyFor is the proxy that a case is run through.
func (s *suite) proxyFor(t *testing.T, c fieldCase) *program {
	t.Helper()
	limit := c.number("capture_limit")
	if limit == 0 {
		return s.main
	}
	if s.limited[limit] == nil {
		s.limited[limit] = s.start(t, settings{project: "cases", capture: fmt.Sprintf("max_body: %d", limit)})
	}
	return s.limited[limit]
}

// get reads from the API.
func (s *suite) get(t *testing.T, path string, query url.Values) tree {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:8081/api/v1/"+path+"?"+query.Encode(), nil)
	s.api.ServeHTTP(w, r)
	var out tree
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s (%v)", path, w.Code, w.Body, err)
	}
	return out
}

// list returns all inferences that the filter selects.
func (s *suite) list(t *testing.T, filter url.Values) []tree {
	t.Helper()
	var out []tree
	filter.Set("limit", "500")
	for {
		page := s.get(t, "inferences", filter)
		rows, _ := page["inferences"].([]any)
		for _, r := range rows {
			row, _ := r.(tree)
			out = append(out, row)
		}
		next, _ := page["next_cursor"].(string)
		if next == "" {
			return out
		}
		filter.Set("cursor", next)
	}
}

// detail is everything about one inference.
func (s *suite) detail(t *testing.T, id string) tree {
	t.Helper()
	return s.get(t, "inferences/"+id, url.Values{})
}

// sql runs a statement in the database of the suite.
func (s *suite) sql(t *testing.T, statement string) string {
	t.Helper()
	return storetest.Exec(t, s.dsn, statement)
}

// await polls until ok returns true.
func await(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("still not after %s: %s", limit, what)
		}
		<-time.After(25 * time.Millisecond)
	}
}
