package evaluate

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Config says which candidates this evaluator takes and how fast it works.
type Config struct {
	Shards      string        `yaml:"shards" doc:"which of the 64 hash shards this evaluator takes: all, or a part such as 1/4 (the first of four)"`
	Poll        time.Duration `yaml:"poll" doc:"how often to look for new candidates"`
	Settle      time.Duration `yaml:"settle" doc:"how far to stay behind the store's clock, so that running inserts can finish"`
	Overlap     time.Duration `yaml:"overlap" doc:"how far back to look again for candidates whose insert took long; longer than the longest insert"`
	Concurrency int           `yaml:"concurrency" doc:"how many units are judged at the same time"`
	MaxAge      time.Duration `yaml:"max_age" doc:"candidates older than this are not judged any more when the evaluator was away"`
}

// DefaultConfig takes all shards.
func DefaultConfig() Config {
	return Config{
		Shards: "all", Poll: time.Second, Settle: 2 * time.Second, Overlap: time.Minute,
		Concurrency: 8, MaxAge: 14 * 24 * time.Hour,
	}
}

// Validate checks ranges.
func (c Config) Validate() error {
	if _, err := parseShards(c.Shards); err != nil {
		return err
	}
	for _, d := range []struct {
		key      string
		value    time.Duration
		min, max time.Duration
	}{
		{"poll", c.Poll, 10 * time.Millisecond, time.Hour},
		{"settle", c.Settle, 0, time.Hour},
		{"overlap", c.Overlap, 0, 24 * time.Hour},
		{"max_age", c.MaxAge, time.Minute, 10 * 365 * 24 * time.Hour},
	} {
		if d.value < d.min || d.value > d.max {
			return fmt.Errorf("%s: %v: want %v to %v", d.key, d.value, d.min, d.max)
		}
	}
	if c.Concurrency < 1 || c.Concurrency > 1024 {
		return fmt.Errorf("concurrency: %d: want 1 to 1024", c.Concurrency)
	}
	return nil
}

const shardCount = 64

// parseShards returns the shards of "all" (nil) or of part K of N.
func parseShards(s string) ([]uint8, error) {
	if s == "all" {
		return nil, nil
	}
	first, second, ok := strings.Cut(s, "/")
	k, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if !ok || err1 != nil || err2 != nil || n < 1 || n > shardCount || k < 1 || k > n {
		return nil, fmt.Errorf(`shards: %q: want all, or K/N with 1 <= K <= N <= %d`, s, shardCount)
	}
	var out []uint8
	for i := k - 1; i < shardCount; i += n {
		out = append(out, uint8(i))
	}
	return out, nil
}
