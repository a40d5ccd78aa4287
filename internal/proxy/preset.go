package proxy

import (
	"cmp"
	"net/url"
	"strings"
)

// Values of Upstream.API.
const (
	apiOpenAI    = "openai"
	apiAzure     = "azure"
	apiAnthropic = "anthropic"
	apiGemini    = "gemini"
	apiOllama    = "ollama"
)

// Preset is what is known of an API. Clients put the prefix before the path that
// the API documents: the SDK's base URL https://api.groq.com/openai/v1 becomes
// http://localhost:8080/groq/v1.
type Preset struct {
	Name     string
	Prefix   string
	BaseURL  string // "": has to be set
	Root     string // path before the version, where it is not in BaseURL
	API      string
	Provider string // gen_ai.provider.name; "" to tell from the call
	Plain    string // path below which Upstream.Query is not added
}

// Presets returns the table of presets. Providers have the names of
// OpenTelemetry's conventions where those have one.
func Presets() []Preset {
	return []Preset{
		{Name: "openai", Prefix: "/openai", BaseURL: "https://api.openai.com", API: apiOpenAI},
		{Name: "azure", Prefix: "/azure", Root: "/openai", API: apiAzure, Provider: "azure.ai.openai", Plain: "/openai/v1/"},
		{Name: "anthropic", Prefix: "/anthropic", BaseURL: "https://api.anthropic.com", API: apiAnthropic, Provider: "anthropic"},
		{Name: "gemini", Prefix: "/gemini", BaseURL: "https://generativelanguage.googleapis.com", API: apiGemini, Provider: "gcp.gemini"},
		{Name: "openrouter", Prefix: "/openrouter", BaseURL: "https://openrouter.ai/api", API: apiOpenAI, Provider: "openrouter"},
		{Name: "groq", Prefix: "/groq", BaseURL: "https://api.groq.com/openai", API: apiOpenAI, Provider: "groq"},
		{Name: "mistral", Prefix: "/mistral", BaseURL: "https://api.mistral.ai", API: apiOpenAI, Provider: "mistral_ai"},
		{Name: "deepseek", Prefix: "/deepseek", BaseURL: "https://api.deepseek.com", API: apiOpenAI, Provider: "deepseek"},
		{Name: "xai", Prefix: "/xai", BaseURL: "https://api.x.ai", API: apiOpenAI, Provider: "x_ai"},
		{Name: "together", Prefix: "/together", BaseURL: "https://api.together.xyz", API: apiOpenAI, Provider: "together"},
		{Name: "fireworks", Prefix: "/fireworks", BaseURL: "https://api.fireworks.ai/inference", API: apiOpenAI, Provider: "fireworks"},
		{Name: "vllm", Prefix: "/vllm", BaseURL: "http://127.0.0.1:8000", API: apiOpenAI, Provider: "vllm"},
		{Name: "llamacpp", Prefix: "/llamacpp", BaseURL: "http://127.0.0.1:8080", API: apiOpenAI, Provider: "llama_cpp"},
		{Name: "ollama", Prefix: "/ollama", BaseURL: "http://127.0.0.1:11434", API: apiOllama, Provider: "ollama"},
		{Name: "sglang", Prefix: "/sglang", BaseURL: "http://127.0.0.1:30000", API: apiOpenAI, Provider: "sglang"},
	}
}

func presetNamed(name string) (Preset, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

func presetNames() []string {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
	}
	return names
}

// resolved is the upstream with what its preset knows.
func (u Upstream) resolved() Upstream {
	p, ok := presetNamed(u.Preset)
	if !ok {
		return u
	}
	known := u.BaseURL == ""
	u.API, u.Provider, u.BaseURL = cmp.Or(u.API, p.API), cmp.Or(u.Provider, p.Provider), cmp.Or(u.BaseURL, p.BaseURL)
	base, err := url.Parse(u.BaseURL)
	if err != nil {
		return u
	}
	path := strings.TrimSuffix(base.Path, "/")
	if u.Prefix == "" {
		// A base URL that ends in a version leaves the clients' path as it is.
		u.Prefix = p.Prefix
		if v := lastSegment(path); version.MatchString(v) {
			u.Prefix += p.Root + "/" + v
		}
	} else if v := lastSegment(u.Prefix); version.MatchString(v) && u.BaseURL != "" && (known || path == "") {
		u.BaseURL = base.JoinPath(p.Root, v).String()
	}
	return u
}

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
