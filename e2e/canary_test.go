package e2e

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"docket/e2e/program"
)

// canary is one secret in one place of a request. Its odd characters look
// different in JSON and in URLs; its two halves are what is searched for.
type canary struct{ place, first, second string }

func (c canary) value() string { return "sk-" + c.first + `/+"=\` + c.second }

func canaries() []canary {
	var out []canary
	for _, place := range []string{"authorization", "api-key", "x-api-key", "query", "cookie", "x-goog-api-key", "proxy-authorization"} {
		id := newTraceID()
		out = append(out, canary{place, "canary" + id[:12], "birdie" + id[12:24]})
	}
	return out
}

// collector takes what is exported over OTLP.
type collector struct {
	*httptest.Server
	mu   sync.Mutex
	seen bytes.Buffer // guarded by mu
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen.Write(body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.String()
}

// send calls an upstream that repeats all secrets in its error, and returns
// what the client got.
func send(t *testing.T, base, model, traceID string, secrets []canary) string {
	t.Helper()
	body := `{"model":"` + model + `","messages":[{"role":"user","content":"hello"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-"+traceID+"-"+callerSpan+"-01")
	for _, c := range secrets {
		switch c.place {
		case "authorization":
			req.Header.Set("Authorization", "Bearer "+c.value())
		case "cookie":
			req.Header.Set("Cookie", "session="+url.QueryEscape(c.value()))
		case "query":
			req.URL.RawQuery = url.Values{"key": {c.value()}, "api-version": {"1"}}.Encode()
		default:
			req.Header.Set(c.place, c.value())
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(reply)
}

// TestCanary: a key is nowhere but in the request to the upstream.
func TestCanary(t *testing.T) {
	r, otlp, secrets := newRig(t), newCollector(t), canaries()
	r.env = append(r.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+otlp.URL)
	r.startProxy()

	echoed := newTraceID()
	reply := send(t, r.base(), "scripted-echo", echoed, secrets)
	if !strings.Contains(reply, secrets[0].first) {
		t.Errorf("the client must get the upstream's answer unchanged: %s", reply)
	}
	upstream := r.upstream.seen("echo")[0].Header
	if got := upstream.Get("Authorization"); got != "Bearer "+secrets[0].value() {
		t.Errorf("the upstream got Authorization %q", got)
	}
	refused := send(t, "http://"+r.proxyAddr+"/dead/v1", "any", newTraceID(), secrets)
	search(t, secrets, "our error body", refused)
	if !strings.Contains(refused, `"error"`) {
		t.Errorf("our error body: %s", refused)
	}

	searchFiles(t, secrets, filepath.Join(r.dir, "spool"))
	r.startEngine()
	r.startEvaluator()
	r.drained()
	r.only(t, echoed)
	program.Await(t, "spans over OTLP", 30*time.Second, func() bool { return otlp.text() != "" })

	searchFiles(t, secrets, r.dir)
	searchTables(t, r, secrets)
	for what, address := range map[string]string{
		"metrics": "http://" + r.opsAddr + "/metrics", "API": "http://" + r.apiAddr + "/api/v1/inferences?limit=50",
		"page": "http://" + r.apiAddr + "/", "call": "http://" + r.apiAddr + "/inferences/" + r.only(t, echoed).ID,
		"detail": "http://" + r.apiAddr + "/api/v1/inferences/" + r.only(t, echoed).ID,
	} {
		body, err := fetch(address)
		if err != nil {
			t.Fatal(err)
		}
		search(t, secrets, what, body)
	}
	search(t, secrets, "spans over OTLP", otlp.text())
	for _, p := range []*program.Program{r.proxy, r.evaluator, r.engine} {
		p.Stop()
		search(t, secrets, "log of "+p.Name, p.Log())
	}
}

// search fails when a half of a secret is in the text.
func search(t *testing.T, secrets []canary, where, text string) {
	t.Helper()
	for _, c := range secrets {
		for _, half := range []string{c.first, c.second} {
			if i := strings.Index(text, half); i >= 0 {
				t.Errorf("the secret of %s is in %s: ...%q...", c.place, where, text[max(0, i-60):min(len(text), i+60)])
			}
		}
	}
}

func searchFiles(t *testing.T, secrets []canary, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // the engine removes files while it merges
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		files++
		search(t, secrets, name, string(data))
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%s: %d files, %v", dir, files, err)
	}
}

// searchTables reads all rows, since files are compressed.
func searchTables(t *testing.T, r *rig, secrets []canary) {
	t.Helper()
	tables := r.sql("SELECT name FROM system.tables WHERE database = 'docket' AND engine LIKE '%MergeTree' AND total_rows > 0")
	if !slices.Contains(tables, "inference_bodies") {
		t.Errorf("tables with rows: %q", tables)
	}
	for _, table := range tables {
		search(t, secrets, "table "+table, strings.Join(r.sql("SELECT * FROM `"+table+"`"), "\n"))
	}
}
