package price

import (
	"fmt"
	"time"
)

// Config adds prices to the built-in table.
type Config struct {
	Models []Model `yaml:"models" doc:"prices that replace or extend the built-in table, per million tokens"`
}

// Model is the price of one model, in US dollars per million tokens. A price
// that is left out is unknown.
type Model struct {
	Provider     string   `yaml:"provider" doc:"provider name as recorded, e.g. openai; empty: any"`
	Model        string   `yaml:"model" doc:"model name; a trailing * matches any ending"`
	From         string   `yaml:"from" doc:"first day of the price, YYYY-MM-DD; empty: always"`
	Above        uint64   `yaml:"above" doc:"only for calls with more input tokens than this"`
	Input        *float64 `yaml:"input" doc:"input that is neither read from nor written to a cache"`
	CacheRead    *float64 `yaml:"cache_read" doc:"input read from a cache"`
	CacheWrite   *float64 `yaml:"cache_write" doc:"input written to a cache"`
	CacheWrite1h *float64 `yaml:"cache_write_1h" doc:"input written to a cache for an hour"`
	Output       *float64 `yaml:"output" doc:"output, reasoning included"`
}

// DefaultConfig returns the settings without additions.
func DefaultConfig() Config { return Config{} }

// Validate checks the settings.
func (c Config) Validate() error {
	for i, m := range c.Models {
		if m.Model == "" {
			return fmt.Errorf("models[%d].model: %q: must be a model name", i, m.Model)
		}
		if m.From != "" {
			if _, err := time.Parse(time.DateOnly, m.From); err != nil {
				return fmt.Errorf("models[%d].from: %q: must be a day as YYYY-MM-DD", i, m.From)
			}
		}
		for _, p := range []struct {
			key   string
			price *float64
		}{
			{"input", m.Input},
			{"cache_read", m.CacheRead},
			{"cache_write", m.CacheWrite},
			{"cache_write_1h", m.CacheWrite1h},
			{"output", m.Output},
		} {
			if p.price != nil && !(*p.price >= 0 && *p.price <= maxPrice) {
				return fmt.Errorf("models[%d].%s: %v: must be a price from 0 to %d", i, p.key, *p.price, maxPrice)
			}
		}
	}
	return nil
}
