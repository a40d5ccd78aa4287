package judge

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"docket/internal/record"
)

// Config names the judges there are. Without any, judging is off.
type Config struct {
	Backend        string                   `yaml:"backend" doc:"format or profile of a backend called default, for a start without a file"`
	URL            string                   `yaml:"url" doc:"base URL of the backend called default"`
	Model          string                   `yaml:"model" doc:"model of the backend called default"`
	Key            record.Secret            `yaml:"key" doc:"API key of the backend called default; never a client's key"`
	DefaultBackend string                   `yaml:"default_backend" doc:"backend of rubrics that name none"`
	Backends       map[string]BackendConfig `yaml:"backends" doc:"judges by name"`
	CacheWindow    time.Duration            `yaml:"cache_window" doc:"identical questions about identical content are answered from memory for this long; 0 is off"`
	CacheEntries   int                      `yaml:"cache_entries" doc:"how many answers are remembered"`
}

// BackendConfig is one judge.
type BackendConfig struct {
	Format         string            `yaml:"format" doc:"what it speaks: systemone, openai, sglang, chat, http, static"`
	Profile        string            `yaml:"profile" doc:"whose server it is; gives format, URL, limits and image mode"`
	URL            string            `yaml:"url" doc:"base URL, without the path of the call"`
	Path           string            `yaml:"path" doc:"path of the call, when it is not the usual one"`
	Model          string            `yaml:"model" doc:"model to ask for"`
	Key            record.Secret     `yaml:"key" doc:"API key"`
	KeyHeader      string            `yaml:"key_header" doc:"header that carries the key as it is, instead of Authorization: Bearer"`
	Headers        map[string]string `yaml:"headers" doc:"further request headers"`
	Timeout        time.Duration     `yaml:"timeout" doc:"limit of one call with all its retries"`
	AttemptTimeout time.Duration     `yaml:"attempt_timeout" doc:"limit of one attempt; 0 takes the profile's"`
	Retries        int               `yaml:"retries" doc:"how often a failed attempt is repeated"`
	MaxConcurrent  int               `yaml:"max_concurrent" doc:"calls at the same time"`
	MaxPerSecond   float64           `yaml:"max_per_second" doc:"calls per second; 0 is no limit"`
	MaxQuestions   int               `yaml:"max_questions" doc:"questions per request; 0 takes the profile's"`
	MaxInput       record.ByteSize   `yaml:"max_input" doc:"size of the judged content in one request; 0 takes the profile's"`
	Images         string            `yaml:"images" doc:"how images are sent: none, assets, base64, data_url, state, items; empty takes the profile's"`
	InputUSD       *float64          `yaml:"input_usd" doc:"price of a million input tokens"`
	OutputUSD      *float64          `yaml:"output_usd" doc:"price of a million output tokens"`
	Input          string            `yaml:"input" doc:"format openai: items, or text for servers that take one user message only"`
	Method         string            `yaml:"method" doc:"format chat: auto, logprobs or structured"`
	MinLabelMass   float64           `yaml:"min_label_mass" doc:"formats chat and sglang: below this share of yes and no, an answer is not trusted"`
	MaxTokens      int               `yaml:"max_tokens" doc:"format chat: limit of a structured answer"`
	TemplateArgs   map[string]any    `yaml:"chat_template_kwargs" doc:"formats chat and sglang: arguments of the server's chat template"`
	Static         StaticConfig      `yaml:"static" doc:"format static: the fixed answer"`
}

// StaticConfig is the answer of a judge that asks nobody.
type StaticConfig struct {
	Probability *float64           `yaml:"probability" doc:"probability of every criterion"`
	ByCriterion map[string]float64 `yaml:"by_criterion" doc:"probability by name of the criterion"`
	Reason      string             `yaml:"reason" doc:"sentence that goes with it"`
}

const defaultName = "default"

// DefaultConfig has no backend.
func DefaultConfig() Config {
	return Config{CacheWindow: 10 * time.Minute, CacheEntries: 10000}
}

// SetDefaults fills what a backend may leave out.
func (b *BackendConfig) SetDefaults() {
	b.Timeout = 120 * time.Second
	b.Retries = 2
	b.MaxConcurrent = 8
	b.MinLabelMass = 0.5
	b.MaxTokens = 512
}

// backends returns all backends by name, the one of the plain keys included.
func (c Config) backends() map[string]BackendConfig {
	out := maps.Clone(c.Backends)
	if out == nil {
		out = map[string]BackendConfig{}
	}
	if c.Backend == "" {
		return out
	}
	var b BackendConfig
	b.SetDefaults()
	if _, ok := profileByName(c.Backend); ok {
		b.Profile = c.Backend
	} else {
		b.Format = c.Backend
	}
	b.URL, b.Model, b.Key = c.URL, c.Model, c.Key
	out[defaultName] = b
	return out
}

// Enabled says whether there is a backend at all.
func (c Config) Enabled() bool { return len(c.backends()) > 0 }

// Validate checks every backend.
func (c Config) Validate() error {
	if _, twice := c.Backends[defaultName]; twice && c.Backend != "" {
		return fmt.Errorf("backends.%s: also given by backend: want one of the two", defaultName)
	}
	if _, taken := c.Backends[ruleName]; taken {
		return fmt.Errorf("backends.%s: the name is taken by what criteria with a check use", ruleName)
	}
	if c.Backend == "" && (c.URL != "" || c.Model != "" || !c.Key.IsZero()) {
		return fmt.Errorf("backend: missing beside url, model or key: want one of %s", strings.Join(append(formatNames(), profileNames()...), ", "))
	}
	if c.CacheWindow < 0 {
		return fmt.Errorf("cache_window: %v: want 0 or more", c.CacheWindow)
	}
	if c.CacheEntries < 0 || c.CacheEntries > 10_000_000 {
		return fmt.Errorf("cache_entries: %d: want 0 to 10000000", c.CacheEntries)
	}
	all := c.backends()
	if _, ok := all[c.DefaultBackend]; c.DefaultBackend != "" && !ok {
		return fmt.Errorf("default_backend: %q: want one of %s", c.DefaultBackend, names(all))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].validate(); err != nil {
			return fmt.Errorf("backends.%s: %w", name, err)
		}
	}
	return nil
}

func names[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none: there are no backends"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

func (b BackendConfig) validate() error {
	p, err := b.profile()
	if err != nil {
		return err
	}
	if err := b.validateServer(p); err != nil {
		return err
	}
	for _, n := range []struct {
		key      string
		value    float64
		min, max float64
	}{
		{"timeout", b.Timeout.Seconds(), 0.001, 3600},
		{"attempt_timeout", b.AttemptTimeout.Seconds(), 0, 3600},
		{"retries", float64(b.Retries), 0, 10},
		{"max_concurrent", float64(b.MaxConcurrent), 1, 10000},
		{"max_per_second", b.MaxPerSecond, 0, 1e6},
		{"max_questions", float64(b.MaxQuestions), 0, 10000},
		{"min_label_mass", b.MinLabelMass, 0, 1},
		{"max_tokens", float64(b.MaxTokens), 1, 100000},
		{"input_usd", deref(b.InputUSD, 0), 0, 1e6},
		{"output_usd", deref(b.OutputUSD, 0), 0, 1e6},
	} {
		if !(n.value >= n.min && n.value <= n.max) {
			return fmt.Errorf("%s: %v: want %v to %v", n.key, n.value, n.min, n.max)
		}
	}
	for _, s := range []struct {
		key, value string
		allowed    []string
	}{
		{"images", b.Images, imageModes()},
		{"input", b.Input, []string{inputItems, inputText}},
		{"method", b.Method, []string{methodAuto, record.MethodLogprobs, record.MethodStructured}},
	} {
		if s.value != "" && !slices.Contains(s.allowed, s.value) {
			return fmt.Errorf("%s: %q: want one of %s", s.key, s.value, strings.Join(s.allowed, ", "))
		}
	}
	return b.Static.validate(p.format)
}

func (b BackendConfig) validateServer(p profile) error {
	if p.format == formatStatic {
		return nil
	}
	if b.URL == "" && p.url == "" {
		return fmt.Errorf("url: missing: want the base URL of the judge")
	}
	base := b.URL
	if base == "" {
		base = p.url
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return fmt.Errorf("url: %q: want http:// or https://, a host, and no user or password", withoutUser(base))
	}
	if b.Path != "" && !strings.HasPrefix(b.Path, "/") {
		return fmt.Errorf("path: %q: want a path that begins with /", b.Path)
	}
	if b.Model == "" && p.needsModel {
		return fmt.Errorf("model: missing: want the name of the model to ask for")
	}
	return nil
}

// withoutUser keeps a password out of an error.
func withoutUser(s string) string {
	if i := strings.LastIndex(s, "@"); i >= 0 {
		return "***" + s[i:]
	}
	return s
}

func (s StaticConfig) validate(format string) error {
	if format != formatStatic {
		return nil
	}
	if s.Probability == nil && len(s.ByCriterion) == 0 {
		return fmt.Errorf("static: want probability or by_criterion")
	}
	if s.Probability != nil && !isProbability(*s.Probability) {
		return fmt.Errorf("static.probability: %v: want 0 to 1", *s.Probability)
	}
	for _, name := range slices.Sorted(maps.Keys(s.ByCriterion)) {
		if p := s.ByCriterion[name]; !isProbability(p) {
			return fmt.Errorf("static.by_criterion.%s: %v: want 0 to 1", name, p)
		}
	}
	return nil
}

func isProbability(p float64) bool { return p >= 0 && p <= 1 && !math.IsNaN(p) }

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
