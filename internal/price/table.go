package price

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"docket/internal/record"
)

//go:embed prices.csv
var builtin []byte

// maxPrice bounds a price, in US dollars per million tokens, so that sums stay
// far from the end of 64 bits.
const maxPrice = 1_000_000

// Table holds prices. It is read-only after New and safe for concurrent use.
type Table struct {
	rows    map[string][]row // by model; patterns under ""
	version string
}

// row is one price, in pico-USD per token; nil is unknown.
type row struct {
	provider, model                                    string
	own                                                bool // from the settings
	from                                               time.Time
	above                                              uint64
	input, cacheRead, cacheWrite, cacheWrite1h, output *uint64
}

// New returns the built-in table with the prices of the settings before it.
func New(c Config) (*Table, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	rows, latest, err := readCSV(bytes.NewReader(builtin))
	if err != nil {
		return nil, fmt.Errorf("built-in prices: %w", err)
	}
	t := &Table{rows: make(map[string][]row), version: "docket-" + latest.Format(time.DateOnly)}
	for _, m := range c.Models {
		rows = append(rows, ownRow(m))
	}
	if len(c.Models) > 0 {
		text, err := json.Marshal(c.Models)
		if err != nil {
			return nil, fmt.Errorf("prices of the settings: %w", err)
		}
		sum := sha256.Sum256(text)
		t.version += "+" + hex.EncodeToString(sum[:4])
	}
	for _, r := range rows {
		key := r.model
		if strings.HasSuffix(key, "*") {
			key = ""
		}
		t.rows[key] = append(t.rows[key], r)
	}
	return t, nil
}

// Version names the table: the day of its latest price, and a hash of the
// prices that settings added.
func (t *Table) Version() string { return t.version }

// Cost returns what a call at this time costs, in nano-USD, and the version of
// the table. It returns nil and "" when that is not known.
func (t *Table) Cost(provider, model string, at time.Time, u record.Usage) (nano *uint64, version string) {
	if t == nil || u.Input == nil && u.Output == nil {
		return nil, ""
	}
	prompt := count(u.Input) + count(u.CacheRead) + count(u.CacheWrite)
	r, ok := t.find(provider, model, at, prompt)
	if !ok {
		return nil, ""
	}
	pico, ok := r.cost(u)
	if !ok {
		return nil, ""
	}
	n := (pico + 500) / 1000
	return &n, t.version
}

// find returns the price that holds: one of the settings before a built-in one,
// a named model before a pattern, then the latest day and the highest bound.
func (t *Table) find(provider, model string, at time.Time, prompt uint64) (row, bool) {
	model = strings.ToLower(model)
	for _, name := range []string{model, withoutDate(model)} {
		candidates := slices.Concat(t.rows[name], t.rows[""])
		candidates = slices.DeleteFunc(candidates, func(r row) bool {
			return !r.matches(provider, name) || r.from.After(at) || r.above > 0 && prompt <= r.above
		})
		if len(candidates) > 0 {
			return slices.MaxFunc(candidates, compareRows), true
		}
	}
	return row{}, false
}

func (r row) matches(provider, model string) bool {
	if r.provider != "" && r.provider != strings.ToLower(provider) {
		return false
	}
	prefix, pattern := strings.CutSuffix(r.model, "*")
	return r.model == model || pattern && strings.HasPrefix(model, prefix)
}

func compareRows(a, b row) int {
	return cmp.Or(
		compareBool(a.own, b.own),
		compareBool(!strings.HasSuffix(a.model, "*"), !strings.HasSuffix(b.model, "*")),
		cmp.Compare(len(a.model), len(b.model)),
		compareBool(a.provider != "", b.provider != ""),
		a.from.Compare(b.from),
		cmp.Compare(a.above, b.above),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// withoutDate removes the day of a snapshot from a model's name: -2026-04-01,
// -20260401. A name without one stays.
func withoutDate(model string) string {
	for _, layout := range []string{time.DateOnly, "20060102"} {
		if n := len(model) - len(layout); n > 1 && model[n-1] == '-' {
			if _, err := time.Parse(layout, model[n:]); err == nil {
				return model[:n-1]
			}
		}
	}
	return model
}

// cost sums the buckets, in pico-USD. ok is false when a bucket that has tokens
// has no price, or the sum does not fit.
func (r row) cost(u record.Usage) (pico uint64, ok bool) {
	write, hour := count(u.CacheWrite), hourWrites(u)
	for _, b := range []struct {
		tokens uint64
		price  *uint64
	}{
		{count(u.Input), r.input},
		{count(u.CacheRead), r.cacheRead},
		{write - hour, r.cacheWrite},
		{hour, r.cacheWrite1h},
		{count(u.Output), r.output},
		{count(u.Reasoning), r.output},
	} {
		if b.tokens == 0 {
			continue
		}
		if b.price == nil {
			return 0, false
		}
		high, low := bits.Mul64(b.tokens, *b.price)
		sum, carry := bits.Add64(pico, low, 0)
		if high != 0 || carry != 0 || sum > math.MaxUint64-500 {
			return 0, false
		}
		pico = sum
	}
	return pico, true
}

// hourWrites returns how many of the tokens written to a cache were written for
// an hour, which only the provider's own counters tell.
func hourWrites(u record.Usage) uint64 {
	if count(u.CacheWrite) == 0 || !strings.Contains(u.Raw, "ephemeral_1h_input_tokens") {
		return 0
	}
	var raw struct {
		CacheCreation struct {
			Hour uint64 `json:"ephemeral_1h_input_tokens"`
		} `json:"cache_creation"`
	}
	if err := json.Unmarshal([]byte(u.Raw), &raw); err != nil {
		return 0
	}
	return min(raw.CacheCreation.Hour, *u.CacheWrite)
}

func count(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

func ownRow(m Model) row {
	r := row{
		provider: strings.ToLower(m.Provider), model: strings.ToLower(m.Model), own: true, above: m.Above,
		input: pico(m.Input), cacheRead: pico(m.CacheRead), cacheWrite: pico(m.CacheWrite), cacheWrite1h: pico(m.CacheWrite1h), output: pico(m.Output),
	}
	if m.From != "" {
		r.from, _ = time.Parse(time.DateOnly, m.From) // checked by Validate
	}
	return r
}

// pico converts US dollars per million tokens to pico-USD per token.
func pico(usd *float64) *uint64 {
	if usd == nil {
		return nil
	}
	n := uint64(math.Round(*usd * 1e6))
	return &n
}

// readCSV reads the built-in table and the latest day in it.
func readCSV(src io.Reader) (rows []row, latest time.Time, err error) {
	r := csv.NewReader(src)
	r.Comment = '#'
	lines, err := r.ReadAll()
	if err != nil {
		return nil, latest, err
	}
	if len(lines) == 0 || len(lines[0]) != 9 {
		return nil, latest, fmt.Errorf("want a head of 9 columns")
	}
	for n, line := range lines[1:] {
		row, err := readRow(line)
		if err != nil {
			return nil, latest, fmt.Errorf("row %d: %w", n+1, err)
		}
		if row.from.After(latest) {
			latest = row.from
		}
		rows = append(rows, row)
	}
	return rows, latest, nil
}

func readRow(line []string) (r row, err error) {
	r.provider, r.model = line[0], line[1]
	if r.from, err = time.Parse(time.DateOnly, line[2]); err != nil {
		return r, err
	}
	if r.above, err = strconv.ParseUint(line[3], 10, 64); err != nil {
		return r, err
	}
	for i, to := range []**uint64{&r.input, &r.cacheRead, &r.cacheWrite, &r.cacheWrite1h, &r.output} {
		if line[4+i] == "" {
			continue
		}
		usd, err := strconv.ParseFloat(line[4+i], 64)
		if err != nil || usd < 0 || usd > maxPrice {
			return r, fmt.Errorf("price %q", line[4+i])
		}
		*to = pico(&usd)
	}
	return r, nil
}
