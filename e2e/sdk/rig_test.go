package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"docket/e2e/program"
)

// settings route to every provider and judge all that can be judged. An append
// may take long on a busy test machine without its record being at risk.
const settings = `
proxy:
  upstreams:
    openai: {base_url: "UPSTREAM"}
    anthropic: {preset: anthropic, base_url: "UPSTREAM"}
    ollama: {preset: ollama, base_url: "UPSTREAM"}
    gemini: {preset: gemini, base_url: "UPSTREAM"}
capture:
  spool: {max_wait: 5s}
  batch_interval: 200ms
judge:
  backends:
    fixed: {format: static, static: {probability: 0.9}}
rubrics:
  quality:
    backend: fixed
    criteria: [{name: helpful, text: The reply answers the question.}]
rules:
  - {name: everything, rubric: quality, rate: 1}
evaluator:
  poll: 100ms
  settle: 200ms
`

// rig is a whole installation in one folder.
type rig struct {
	upstream                                *upstream
	engineAddr, proxyAddr, opsAddr, apiAddr string
}

func startAll(t *testing.T) *rig {
	t.Helper()
	r := &rig{newUpstream(t), program.FreeAddr(t), program.FreeAddr(t), program.FreeAddr(t), program.FreeAddr(t)}
	dir := t.TempDir()
	for name, text := range map[string]string{"docket.yaml": strings.ReplaceAll(settings, "UPSTREAM", r.upstream.URL), "password": "e2e-password"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{
		"DOCKET_STORE=http://default:e2e-password@" + r.engineAddr + "/docket",
		"DOCKET_EVALUATOR_API_LISTEN=" + r.apiAddr,
	}
	program.Start(t, commands.Path(t, "localclickhouse"), dir, nil, "--listen", r.engineAddr, "--lib", program.Library(t, "../.."),
		"--data", filepath.Join(dir, "clickhouse"), "--password-file", filepath.Join(dir, "password")).AwaitListening(r.engineAddr)
	program.Start(t, commands.Path(t, "proxy"), dir, env, "--config", "docket.yaml", "--listen", r.proxyAddr, "--ops-listen", r.opsAddr,
		"--spool", filepath.Join(dir, "spool")).AwaitListening(r.proxyAddr)
	program.Start(t, commands.Path(t, "evaluator"), dir, env, "serve", "--config", "docket.yaml").AwaitListening(r.apiAddr)
	program.Await(t, "tables to read from", time.Minute, func() bool {
		_, err := fetch("http://" + r.apiAddr + "/api/v1/verdicts")
		return err == nil
	})
	return r
}

// bases are the base URLs of the libraries, straight to the upstream or through
// the proxy.
func (r *rig) bases(direct bool) []string {
	base := "http://" + r.proxyAddr
	openai, anthropic, ollama, gemini := base+"/v1", base+"/anthropic", base+"/ollama", base+"/gemini"
	if direct {
		openai, anthropic, ollama, gemini = r.upstream.URL+"/v1", r.upstream.URL, r.upstream.URL, r.upstream.URL
	}
	return []string{
		"OPENAI_BASE_URL=" + openai, "OPENAI_API_KEY=not-a-key", "ANTHROPIC_BASE_URL=" + anthropic, "ANTHROPIC_API_KEY=not-a-key",
		"OLLAMA_HOST=" + ollama, "GOOGLE_GEMINI_BASE_URL=" + gemini, "GEMINI_API_KEY=not-a-key",
	}
}

// drained waits until the proxy has stored all that ended.
func (r *rig) drained(t *testing.T) {
	t.Helper()
	program.Await(t, "an empty backlog", time.Minute, func() bool {
		body, err := fetch("http://" + r.opsAddr + "/metrics")
		return err == nil && strings.Contains(body, "\ndocket_capture_backlog_records 0\n")
	})
}

func fetch(address string) (string, error) {
	client := http.Client{Timeout: time.Minute}
	res, err := client.Get(address)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", res.Status, body)
	}
	return string(body), nil
}

// read gets a page of the read API.
func (r *rig) read(t *testing.T, path string, query url.Values, into any) {
	t.Helper()
	body, err := fetch("http://" + r.apiAddr + "/api/v1" + path + "?" + query.Encode())
	if err != nil {
		t.Fatalf("%s %v: %v", path, query, err)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("%s: %v in %s", path, err, body)
	}
}

// sql runs a statement in the engine and returns what it printed.
func (r *rig) sql(t *testing.T, statement string) string {
	t.Helper()
	q := url.Values{"query": {statement}, "database": {"docket"}, "default_format": {"TSV"}}
	u := url.URL{Scheme: "http", User: url.UserPassword("default", "e2e-password"), Host: r.engineAddr, Path: "/", RawQuery: q.Encode()}
	body, err := fetch(u.String())
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return strings.TrimSuffix(body, "\n")
}
