package proxy_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/proxy"
	"docket/internal/record"
)

var update = flag.Bool("update", false, "write the wanted outputs anew")

const presetsFile = "testdata/presets.txt"

// presetCalls are what clients of each preset call.
func presetCalls() map[string][]string {
	chat := func(prefix string) []string { return []string{prefix + "/v1/chat/completions"} }
	return map[string][]string{
		"openai": {"/openai/v1/chat/completions", "/openai/v1/responses", "/openai/v1/models?limit=2"},
		"azure": {
			"/azure/openai/deployments/gpt/chat/completions?api-version=2024-06-01", "/azure/openai/deployments/gpt/chat/completions",
			"/azure/openai/v1/chat/completions", "/azure/openai/v1/responses?api-version=preview",
		},
		"anthropic":  {"/anthropic/v1/messages", "/anthropic/v1/messages/count_tokens", "/anthropic/v1/chat/completions"},
		"gemini":     {"/gemini/v1beta/models/g:generateContent?key=fake-client-query", "/gemini/v1beta/models/g:streamGenerateContent?alt=sse", "/gemini/v1beta/openai/chat/completions"},
		"openrouter": {"/openrouter/v1/chat/completions", "/openrouter/v1/credits"},
		"groq":       chat("/groq"), "mistral": chat("/mistral"), "deepseek": append(chat("/deepseek"), "/deepseek/chat/completions"),
		"xai": chat("/xai"), "together": chat("/together"), "fireworks": chat("/fireworks"),
		"vllm": append(chat("/vllm"), "/vllm/tokenize"), "llamacpp": append(chat("/llamacpp"), "/llamacpp/props"),
		"ollama": append(chat("/ollama"), "/ollama/api/chat", "/ollama/api/generate"),
		"sglang": append(chat("/sglang"), "/sglang/generate"),
	}
}

// TestPresets: where a call of each preset goes, and with what key, when the
// settings have one and when they have none. All of it leaves through the built
// handler for the real address, which an HTTP proxy of the test stands for.
func TestPresets(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	var b strings.Builder
	for _, preset := range proxy.Presets() {
		calls := presetCalls()[preset.Name]
		if len(calls) == 0 {
			t.Errorf("preset %s has no calls in this test", preset.Name)
		}
		u := proxy.Upstream{Preset: preset.Name}
		if preset.BaseURL == "" {
			u.BaseURL = "https://resource.openai.azure.com"
			u.Query = map[string]string{"api-version": "2024-10-21"}
		}
		relayThrough(&u, relay)
		open := startWith(t, away(only(u)), nil)
		u.Key = record.NewSecret("fake-upstream-key")
		keyed := startWith(t, away(only(u)), nil)
		for _, target := range calls {
			fmt.Fprintf(&b, "%s %s\n", preset.Name, target)
			relay.take()
			for _, addr := range []string{open.addr, keyed.addr} {
				res := call(t, addr, line("POST", target, append(clientCredentials(), "Content-Length: 0")...))
				if res.Status() != 200 {
					t.Errorf("%s %s: got %d %s", preset.Name, target, res.Status(), res.Body)
				}
			}
			calls, _ := relay.take()
			for _, sent := range clientCredentials() {
				if name, value, _ := strings.Cut(sent, ": "); calls[0].fields.Get(name) != value {
					t.Errorf("%s %s: without a key, %s went upstream as %q", preset.Name, target, name, calls[0].fields.Get(name))
				}
			}
			describe(&b, calls[1])
		}
	}
	compareFile(t, presetsFile, b.String())
}

// TestPresetBases: a base URL or a prefix of one's own, with and without the
// version.
func TestPresetBases(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	var b strings.Builder
	for _, c := range []struct{ preset, prefix, base, target string }{
		{"openai", "/v1", "", "/v1/chat/completions"},
		{"openrouter", "/v1", "", "/v1/chat/completions"},
		{"groq", "/fast/v1", "", "/fast/v1/chat/completions"},
		{"azure", "/v1", "https://r.openai.azure.com", "/v1/chat/completions"},
		{"azure", "", "https://r.openai.azure.com/openai/v1/", "/azure/openai/v1/chat/completions"},
		{"azure", "/team", "https://r.openai.azure.com", "/team/openai/deployments/d/embeddings?api-version=1"},
		{"gemini", "/v1beta", "", "/v1beta/models/g:generateContent"},
		{"gemini", "/v1", "https://generativelanguage.googleapis.com/v1beta/openai", "/v1/chat/completions"},
		{"vllm", "", "http://gpu:8000", "/vllm/v1/chat/completions"},
		{"vllm", "", "http://gpu:8000/v1", "/vllm/v1/chat/completions"},
		{"vllm", "/v1", "http://gpu:8000", "/v1/chat/completions"},
		{"vllm", "/v1", "http://gpu:8000/models/a/v1", "/v1/chat/completions"},
	} {
		u := proxy.Upstream{Preset: c.preset, Prefix: c.prefix, BaseURL: c.base, Key: record.NewSecret("fake-upstream-key")}
		relayThrough(&u, relay)
		p := startWith(t, only(u), nil)
		relay.take()
		if res := call(t, p.addr, get(c.target)); res.Status() != 200 {
			t.Errorf("%+v: got %d %s", c, res.Status(), res.Body)
		}
		fmt.Fprintf(&b, "%s prefix %q base %q: %s\n", c.preset, c.prefix, c.base, c.target)
		calls, _ := relay.take()
		describe(&b, calls[0])
	}
	compareFile(t, "testdata/preset-bases.txt", b.String())
}

func relayThrough(u *proxy.Upstream, r *relay) {
	u.SetDefaults()
	u.HTTPProxy = record.NewSecret(r.proxy.URL)
	u.TLS.InsecureSkipVerify = true // every name leads to one certificate
}

// only has one upstream.
func only(u proxy.Upstream) proxy.Config {
	c := config("http://127.0.0.1:1", nil)
	c.Upstreams = map[string]proxy.Upstream{"test": u}
	return c
}

// away listens elsewhere than llama.cpp's server does by itself.
func away(c proxy.Config) proxy.Config {
	c.Listen = "127.0.0.1:8090"
	return c
}

// clientCredentials are all the keys that a client may send.
func clientCredentials() []string {
	return []string{
		"Authorization: Bearer fake-client", "X-Api-Key: fake-client-2", "Api-Key: fake-client-3", "X-Goog-Api-Key: fake-client-4",
		"Ocp-Apim-Subscription-Key: fake-client-5", "Cookie: a=fake-client-6", "Anthropic-Version: 2023-06-01",
	}
}

// describe prints what the upstream saw.
func describe(b *strings.Builder, c relayed) {
	fmt.Fprintf(b, "  %s\n", c.url)
	for _, sent := range clientCredentials() {
		name, _, _ := strings.Cut(sent, ":")
		for _, v := range c.fields[name] {
			fmt.Fprintf(b, "    %s: %s\n", strings.ToLower(name), v)
		}
	}
}

func compareFile(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestPresetErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		u    proxy.Upstream
		want []string
	}{
		"unknown":          {proxy.Upstream{Preset: "opnai"}, []string{"upstreams.test.preset", `"opnai"`, "openai, azure, anthropic"}},
		"azure's address":  {proxy.Upstream{Preset: "azure"}, []string{"upstreams.test.base_url"}},
		"unknown API":      {proxy.Upstream{Preset: "vllm", API: "opanai"}, []string{"upstreams.test.api", "openai, azure, anthropic, gemini, ollama"}},
		"own path":         {proxy.Upstream{Preset: "vllm", Prefix: "/livez"}, []string{"upstreams.test.prefix", "/livez"}},
		"key for nothing":  {proxy.Upstream{Preset: "vllm", KeyHeader: "x"}, []string{"upstreams.test.key_header"}},
		"no prefix at all": {proxy.Upstream{BaseURL: "http://h"}, []string{"upstreams.test.prefix"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := only(c.u).Validate()
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
		})
	}
	loop := only(proxy.Upstream{Preset: "llamacpp"}) // its usual port is ours
	if err := loop.Validate(); err == nil || !strings.Contains(err.Error(), "upstreams.test.base_url") || !strings.Contains(err.Error(), "proxy.listen") {
		t.Errorf("an upstream that is the proxy itself: %v", err)
	}
	loop.Listen = "127.0.0.1:8090"
	if err := loop.Validate(); err != nil {
		t.Error(err)
	}
	c := only(proxy.Upstream{Preset: "vllm"})
	c.Upstreams["other"] = proxy.Upstream{Prefix: "/vllm", BaseURL: "http://h"}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), `"/vllm"`) || !strings.Contains(err.Error(), "upstreams.other") {
		t.Errorf("two with one prefix: %v", err)
	}
}

// TestPresetNames: a preset is named like its prefix, and there is one of each.
func TestPresetNames(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range proxy.Presets() {
		if p.Prefix != "/"+p.Name || slices.Contains(names, p.Name) {
			t.Errorf("preset %+v", p)
		}
		names = append(names, p.Name)
	}
}

// TestPresetRows: what is recorded of a call of a preset. The model that was
// asked for is the body's, else the deployment's in Azure's path; the one that
// answered is the answer's.
func TestPresetRows(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	relay.answer = `{"id":"c-1","object":"chat.completion","model":"m-1-2026","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"cost":0.000002}}`
	const named, unnamed = `{"model":"my-dep","messages":[{"role":"user","content":"hi"}]}`, `{"messages":[{"role":"user","content":"hi"}]}`
	for _, c := range []struct{ preset, target, body, provider, model, price string }{
		{"azure", "/azure/openai/deployments/my-dep/chat/completions?api-version=2024-10-21", unnamed, "azure.ai.openai", "my-dep", ""},
		{"azure", "/azure/openai/deployments/other/chat/completions?api-version=2024-10-21", named, "azure.ai.openai", "my-dep", ""},
		{"azure", "/azure/openai/v1/chat/completions", named, "azure.ai.openai", "my-dep", ""},
		{"gemini", "/gemini/v1beta/openai/chat/completions", named, "gcp.gemini", "my-dep", ""},
		{"openrouter", "/openrouter/v1/chat/completions", named, "openrouter", "my-dep", "reported"},
		{"ollama", "/ollama/v1/chat/completions", named, "ollama", "my-dep", ""},
		{"openai", "/openai/v1/chat/completions", named, "openai", "my-dep", ""},
	} {
		u := proxy.Upstream{Preset: c.preset}
		if c.preset == "azure" {
			u.BaseURL = "https://resource.openai.azure.com"
		}
		relayThrough(&u, relay)
		r := startRecorded(t, only(u))
		if res := call(t, r.addr, line("POST", c.target, "Content-Type: application/json", "Content-Length: "+itoa(len(c.body)))+c.body); res.Status() != 200 {
			t.Fatalf("%s: got %d %s", c.target, res.Status(), res.Body)
		}
		row := r.rows(t, 1).Inferences[0]
		got := []string{row.API, row.Provider, row.RequestModel, row.ResponseModel, row.PriceVersion}
		if diff := cmp.Diff([]string{"openai.chat", c.provider, c.model, "m-1-2026", c.price}, got); diff != "" || !row.Complete {
			t.Errorf("%s: complete %v\n%s", c.target, row.Complete, diff)
		}
	}
}
