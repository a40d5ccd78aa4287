package store

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"docket/internal/record"
)

// Config says where ClickHouse is and how long rows are kept.
type Config struct {
	DSN          string          `yaml:"dsn" doc:"where ClickHouse is: http://user:password@host:8123/database, https://... or clickhouse://...; the database is made if it is missing"`
	Cluster      string          `yaml:"cluster" doc:"name of the ClickHouse cluster; makes replicated and distributed tables"`
	SpansTable   string          `yaml:"spans_table" doc:"table of spans in the layout of the OpenTelemetry Collector's ClickHouse exporter, table or database.table"`
	AutoMigrate  bool            `yaml:"auto_migrate" doc:"create and update tables at start; off when the user may not, then run evaluator migrate"`
	TTL          time.Duration   `yaml:"ttl" doc:"how long inferences are kept, counted from when they were stored"`
	BodyTTL      time.Duration   `yaml:"body_ttl" doc:"how long bodies are kept"`
	SpanTTL      time.Duration   `yaml:"span_ttl" doc:"how long spans are kept, when the spans table is made by Docket"`
	VerdictTTL   time.Duration   `yaml:"verdict_ttl" doc:"how long verdicts, judge calls and hourly sums are kept"`
	QueryTimeout time.Duration   `yaml:"query_timeout" doc:"time limit of a query for the page or the read API"`
	QueryMemory  record.ByteSize `yaml:"query_memory" doc:"memory limit of such a query in ClickHouse"`
	SearchWindow time.Duration   `yaml:"search_window" doc:"how far back a text search looks, counted from the newest row of the page"`
	WriteTimeout time.Duration   `yaml:"write_timeout" doc:"time limit of one insert"`
	MaxConns     int             `yaml:"max_conns" doc:"connections to ClickHouse"`
}

// DefaultConfig is a ClickHouse on this machine.
func DefaultConfig() Config {
	const day = 24 * time.Hour
	return Config{
		DSN:          "http://127.0.0.1:8123/docket",
		SpansTable:   "otel_traces",
		AutoMigrate:  true,
		TTL:          90 * day,
		BodyTTL:      30 * day,
		SpanTTL:      30 * day,
		VerdictTTL:   400 * day,
		QueryTimeout: 10 * time.Second,
		QueryMemory:  record.GiB,
		SearchWindow: 7 * day,
		WriteTimeout: time.Minute,
		MaxConns:     8,
	}
}

// Names that are safe between backquotes.
var (
	nameRE  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)
	spansRE = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]{0,127}\.)?[A-Za-z_][A-Za-z0-9_-]{0,127}$`)
)

// Validate checks all settings and reports everything that is wrong.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, err := parseDSN(c.DSN); err != nil {
		errs = append(errs, err)
	}
	if c.Cluster != "" && !nameRE.MatchString(c.Cluster) {
		bad("store.cluster: %q: want letters, digits, _ and -", c.Cluster)
	}
	if !spansRE.MatchString(c.SpansTable) {
		bad("store.spans_table: %q: want TABLE or DATABASE.TABLE of letters, digits, _ and -", c.SpansTable)
	}
	for _, d := range []struct {
		key  string
		val  time.Duration
		step time.Duration
	}{
		{"ttl", c.TTL, time.Hour},
		{"body_ttl", c.BodyTTL, time.Hour},
		{"span_ttl", c.SpanTTL, time.Hour},
		{"verdict_ttl", c.VerdictTTL, time.Hour},
		{"search_window", c.SearchWindow, time.Hour},
		{"query_timeout", c.QueryTimeout, time.Second},
		{"write_timeout", c.WriteTimeout, time.Second},
	} {
		if d.val < d.step || d.val%d.step != 0 {
			bad("store.%s: %v: want %v or a multiple of it", d.key, d.val, d.step)
		}
	}
	if c.QueryMemory < 16*record.MiB {
		bad("store.query_memory: %v: want at least 16MiB", c.QueryMemory)
	}
	if c.MaxConns < 2 {
		bad("store.max_conns: %d: want at least 2", c.MaxConns)
	}
	return errors.Join(errs...)
}

// parseDSN reads the DSN. Its errors do not repeat it, as it holds a password.
func parseDSN(dsn string) (*clickhouse.Options, error) {
	const want = "want http://user:password@host:8123/database, https://... or clickhouse://user:password@host:9000/database"
	scheme, _, ok := strings.Cut(dsn, "://")
	if !ok {
		return nil, fmt.Errorf("store.dsn: no scheme: %s", want)
	}
	if !slices.Contains([]string{"http", "https", "clickhouse", "tcp"}, scheme) {
		return nil, fmt.Errorf("store.dsn: %s://...: unknown scheme: %s", scheme, want)
	}
	opts, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, fmt.Errorf("store.dsn: %s://...: %s: %s", scheme, hideDSN(err.Error(), dsn), want)
	}
	if len(opts.Addr) == 0 || opts.Addr[0] == "" {
		return nil, fmt.Errorf("store.dsn: %s://...: no host: %s", scheme, want)
	}
	if opts.Auth.Database == "" {
		opts.Auth.Database = "docket"
	}
	if !nameRE.MatchString(opts.Auth.Database) {
		return nil, fmt.Errorf("store.dsn: database %q: want letters, digits, _ and -", opts.Auth.Database)
	}
	return opts, nil
}

// hideDSN removes the user info of dsn from an error text.
func hideDSN(text, dsn string) string {
	_, rest, _ := strings.Cut(dsn, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return text
	}
	info := rest[:at]
	text = strings.ReplaceAll(text, info, "***")
	if _, pass, ok := strings.Cut(info, ":"); ok && pass != "" {
		text = strings.ReplaceAll(text, pass, "***")
	}
	return text
}
