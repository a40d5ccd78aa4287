package sdk

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"docket/e2e/program"

	"github.com/google/go-cmp/cmp"
)

// keySettings have a key for each upstream but one, and ask clients for another.
const keySettings = `
proxy:
  ops_listen: ""
  keys: {team: {key: fake-gateway-key-of-the-team, project: shop}}
  upstreams:
    azure: {preset: azure, base_url: "UPSTREAM", key: fake-azure-key, query: {api-version: "2024-10-21"}}
    anthropic: {preset: anthropic, base_url: "UPSTREAM", key: fake-anthropic-key}
    gemini: {preset: gemini, base_url: "UPSTREAM", key: fake-gemini-key}
    vllm: {preset: vllm, base_url: "UPSTREAM"}
capture: {shutdown_drain: 100ms}
`

// keyed is an upstream that notes what key each path came with.
type keyed struct {
	mu   sync.Mutex
	seen map[string]string // guarded by mu
}

// ServeHTTP answers in the form of the path's API.
func (k *keyed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var shown []string
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key"} {
		for _, v := range r.Header[name] {
			shown = append(shown, name+": "+v)
		}
	}
	k.mu.Lock()
	k.seen[r.URL.RequestURI()] = strings.Join(shown, ", ")
	k.mu.Unlock()
	answer := `{"id":"c","object":"chat.completion","created":1,"model":"small","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		answer = `{"id":"m","type":"message","role":"assistant","model":"small","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	case strings.HasSuffix(r.URL.Path, ":generateContent"):
		answer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]},"finishReason":"STOP"}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer)
}

func (k *keyed) take() map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := k.seen
	k.seen = map[string]string{}
	return out
}

// TestKeysOfLibraries: libraries that are given a gateway key for their API's
// key, and a preset's prefix for the start of its base URL, reach the upstream
// with the upstream's key; with another one they raise what they raise for a
// wrong key.
func TestKeysOfLibraries(t *testing.T) {
	up := &keyed{seen: map[string]string{}}
	server := httptest.NewServer(up)
	defer server.Close()
	dir, addr := t.TempDir(), program.FreeAddr(t)
	if err := os.WriteFile(filepath.Join(dir, "docket.yaml"), []byte(strings.ReplaceAll(keySettings, "UPSTREAM", server.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy := program.Start(t, commands.Path(t, "proxy"), dir, nil, "--config", "docket.yaml", "--listen", addr,
		"--store", "http://"+program.FreeAddr(t)+"/docket", "--spool", filepath.Join(dir, "spool"))
	proxy.AwaitListening(addr)
	ask := func(key string) map[string]string {
		out := map[string]string{}
		for _, argv := range [][]string{python(t), node(t)} {
			argv = append(argv[:len(argv)-1], filepath.Join(filepath.Dir(argv[len(argv)-1]), "keys"+filepath.Ext(argv[len(argv)-1])), key, "http://"+addr)
			if err := json.Unmarshal(program.Run(t, nil, "", argv...), &out); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	want := map[string]string{"azure": "hello", "azure v1": "hello", "gemini as OpenAI": "hello", "vllm": "hello", "anthropic": "hello", "gemini": "hello"}
	if diff := cmp.Diff(want, ask("fake-gateway-key-of-the-team")); diff != "" {
		t.Errorf("with the key: %s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"/openai/deployments/small/chat/completions?api-version=2024-06-01": "Api-Key: fake-azure-key",
		"/openai/v1/chat/completions":                                       "Api-Key: fake-azure-key",
		"/v1beta/openai/chat/completions":                                   "Authorization: Bearer fake-gemini-key",
		"/v1beta/models/small:generateContent":                              "X-Goog-Api-Key: fake-gemini-key",
		"/v1/chat/completions":                                              "",
		"/v1/messages":                                                      "X-Api-Key: fake-anthropic-key",
	}, up.take()); diff != "" {
		t.Errorf("the upstream saw: %s", diff)
	}
	for name := range want {
		want[name] = "AuthenticationError"
	}
	want["gemini"] = "UNAUTHENTICATED"
	if diff := cmp.Diff(want, ask("fake-key-of-nobody-at-all")); diff != "" {
		t.Errorf("with another key: %s", diff)
	}
	if seen := up.take(); len(seen) > 0 {
		t.Errorf("without the key, the upstream saw %v", seen)
	}
	if log := proxy.Log(); strings.Contains(log, "fake-") {
		t.Errorf("the log shows a key:\n%s", log)
	}
}
