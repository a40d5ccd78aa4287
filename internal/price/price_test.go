package price_test

import (
	"strings"
	"testing"
	"time"

	"docket/internal/price"
	"docket/internal/record"
)

func n(v uint64) *uint64 { return &v }

func usd(v float64) *float64 { return &v }

func day(t *testing.T, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func table(t *testing.T, models ...price.Model) *price.Table {
	t.Helper()
	cfg := price.DefaultConfig()
	cfg.Models = append(cfg.Models, models...)
	tab, err := price.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestCost(t *testing.T) {
	own := table(t,
		price.Model{Provider: "openai", Model: "gpt-4o", Input: usd(1), Output: usd(2)},
		price.Model{Model: "llama-*", Input: usd(0), Output: usd(0)},
		price.Model{Model: "llama-big-*", Input: usd(0.3), Output: usd(0.000001)},
		price.Model{Model: "later", From: "2027-01-01", Input: usd(1), Output: usd(1)},
	)
	builtin := table(t)
	full := record.Usage{Input: n(1000), CacheRead: n(100), CacheWrite: n(10), Output: n(500), Reasoning: n(50)}
	tests := map[string]struct {
		table           *price.Table
		provider, model string
		day             string
		usage           record.Usage
		want            *uint64
	}{
		"input and output":     {builtin, "openai", "gpt-4o", "2026-11-30", record.Usage{Input: n(11), Output: n(3)}, n(11*2500 + 3*10000)},
		"snapshot":             {builtin, "openai", "gpt-4o-2024-08-06", "2026-11-30", record.Usage{Input: n(1), Output: n(0)}, n(2500)},
		"snapshot, short date": {builtin, "anthropic", "claude-opus-4-5-20251101", "2026-11-30", record.Usage{Input: n(1), Output: n(1)}, n(30000)},
		"all buckets":          {builtin, "anthropic", "claude-opus-5-5", "2026-11-30", full, n(1000*4000 + 100*200 + 10*5000 + 550*20000)},
		"hour-long writes":     {builtin, "anthropic", "claude-opus-5-5", "2026-11-30", record.Usage{Input: n(0), CacheWrite: n(10), Raw: `{"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":6}}`}, n(4*5000 + 6*8000)},
		"before the change":    {builtin, "anthropic", "claude-sonnet-5-5", "2026-10-06", record.Usage{Input: n(0), CacheRead: n(10)}, n(2000)},
		"after the change":     {builtin, "anthropic", "claude-sonnet-5-5", "2026-10-07", record.Usage{Input: n(0), CacheRead: n(10)}, n(1000)},
		"short prompt":         {builtin, "anthropic", "claude-haiku-5-5", "2026-11-30", record.Usage{Input: n(99_999), CacheRead: n(1), Output: n(1)}, n(99_999*100 + 10 + 500)},
		"long prompt":          {builtin, "anthropic", "claude-haiku-5-5", "2026-11-30", record.Usage{Input: n(100_000), CacheRead: n(1), Output: n(1)}, n(100_000*500 + 50 + 2500)},
		"long, price unknown":  {builtin, "openai", "gpt-5.5", "2026-11-30", record.Usage{Input: n(300_000), Output: n(1)}, nil},
		"not yet known":        {builtin, "openai", "gpt-6-sol", "2026-09-21", record.Usage{Input: n(1), Output: n(1)}, nil},
		"unknown model":        {builtin, "openai", "gpt-4o-tuned", "2026-11-30", full, nil},
		"unknown provider":     {builtin, "groq", "gpt-4o", "2026-11-30", full, nil},
		"unknown bucket":       {builtin, "openai", "gpt-4o", "2026-11-30", full, nil},
		"no usage":             {builtin, "openai", "gpt-4o", "2026-11-30", record.Usage{}, nil},
		"only a total":         {builtin, "openai", "gpt-4o", "2026-11-30", record.Usage{Total: n(5)}, nil},
		"zero tokens":          {builtin, "openai", "gpt-4o", "2026-11-30", record.Usage{Input: n(0), Output: n(0)}, n(0)},
		"embedding":            {builtin, "openai", "text-embedding-3-small", "2026-11-30", record.Usage{Input: n(100)}, n(2000)},
		"own before built-in":  {own, "openai", "gpt-4o", "2026-11-30", record.Usage{Input: n(1), Output: n(1)}, n(3000)},
		"own, snapshot":        {own, "openai", "GPT-4o-2024-08-06", "2026-11-30", record.Usage{Input: n(1), Output: n(1)}, n(3000)},
		"pattern, free":        {own, "anything", "llama-3", "2026-11-30", record.Usage{Input: n(9), Output: n(9)}, n(0)},
		"longest pattern":      {own, "", "llama-big-1", "2026-11-30", record.Usage{Input: n(1), Output: n(499)}, n(300)},
		"rounded":              {own, "", "llama-big-1", "2026-11-30", record.Usage{Input: n(1), Output: n(500)}, n(301)},
		"own, later":           {own, "", "later", "2026-12-31", record.Usage{Input: n(1), Output: n(1)}, nil},
		"too many tokens":      {own, "openai", "gpt-4o", "2026-11-30", record.Usage{Input: n(1 << 63)}, nil},
		"no table":             {nil, "openai", "gpt-4o", "2026-11-30", full, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, version := tt.table.Cost(tt.provider, tt.model, day(t, tt.day), tt.usage)
			if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
				t.Errorf("got %v, want %v", deref(got), deref(tt.want))
			}
			if (version == "") != (got == nil) {
				t.Errorf("version %q", version)
			}
		})
	}
}

func deref(p *uint64) any {
	if p == nil {
		return nil
	}
	return *p
}

func TestVersion(t *testing.T) {
	builtin, own := table(t).Version(), table(t, price.Model{Model: "m", Input: usd(1)}).Version()
	other := table(t, price.Model{Model: "m", Input: usd(2)}).Version()
	if !strings.HasPrefix(builtin, "docket-2026-") || !strings.HasPrefix(own, builtin+"+") || own == other {
		t.Errorf("versions %q, %q, %q", builtin, own, other)
	}
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		model price.Model
		want  string
	}{
		"no name":    {price.Model{}, `models[0].model: "": must be a model name`},
		"bad day":    {price.Model{Model: "m", From: "soon"}, `models[0].from: "soon": must be a day as YYYY-MM-DD`},
		"negative":   {price.Model{Model: "m", Output: usd(-1)}, `models[0].output: -1: must be a price from 0 to 1000000`},
		"out of all": {price.Model{Model: "m", CacheRead: usd(1e300)}, `models[0].cache_read: 1e+300: must be a price from 0 to 1000000`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := price.New(price.Config{Models: []price.Model{tt.model}}); err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
