package store_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"docket/internal/record"
	"docket/internal/store"
	"docket/internal/store/storetest"
)

func config(dsn string) store.Config {
	cfg := store.DefaultConfig()
	cfg.DSN = dsn
	return cfg
}

func TestMigrateFromSeveralAtOnce(t *testing.T) {
	dsn := storetest.DSN(t)
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		s := openConfig(t, config(dsn))
		wg.Go(func() { errs[i] = s.Migrate(t.Context()) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if err := openConfig(t, config(dsn)).Migrate(t.Context()); err != nil {
		t.Error("again:", err)
	}
	if got := count(t, dsn, "SELECT uniqExact(version) - max(version) FROM schema_migrations"); got != 0 {
		t.Errorf("versions and numbers differ by %d", got)
	}
}

func TestMigrateMakesTheDatabase(t *testing.T) {
	u, err := url.Parse(storetest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, storetest.Server(t), "DROP DATABASE "+strings.TrimPrefix(u.Path, "/")+" SYNC")
	s := openConfig(t, config(u.String()))
	write(t, s, batch("x", 0, 1, now())) // the first write migrates
	if got := count(t, u.String(), "SELECT count() FROM inferences"); got != 1 {
		t.Errorf("got %d rows, want 1", got)
	}
}

func TestWithoutAutoMigrateAWriteChangesNoTables(t *testing.T) {
	cfg := config(storetest.DSN(t))
	cfg.AutoMigrate = false
	s := openConfig(t, cfg)
	err := s.Write(t.Context(), batch("x", 0, 1, now()))
	if err == nil || !strings.Contains(err.Error(), "UNKNOWN_TABLE") {
		t.Errorf("got %v, want an unknown table", err)
	}
	if got := storetest.Exec(t, cfg.DSN, "SHOW TABLES"); got != "" {
		t.Errorf("there are tables: %s", got)
	}
}

func TestMigrateRefusesOtherDatabases(t *testing.T) {
	for name, tc := range map[string]struct{ sql, want string }{
		"newer program": {
			"INSERT INTO schema_migrations (version, name, checksum) SELECT max(version) + 1, 'later', 'x' FROM schema_migrations",
			"it is older than the database; update it",
		},
		"other statement": {
			"INSERT INTO schema_migrations (version, name, checksum) VALUES (3, 'inference_bodies', 'changed')",
			"they are different builds",
		},
		"cluster": {
			"INSERT INTO schema_migrations (version, name, checksum, cluster) SELECT version, name, checksum, 'prod' FROM schema_migrations WHERE version = 1",
			`was made with store.cluster "prod", now it is ""`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, dsn := open(t)
			storetest.Exec(t, dsn, tc.sql)
			err := openConfig(t, config(dsn)).Migrate(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTTLFollowsTheSettings(t *testing.T) {
	_, dsn := open(t)
	cfg := config(dsn)
	cfg.TTL, cfg.BodyTTL = 7*24*time.Hour, 36*time.Hour
	if err := openConfig(t, cfg).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]string{"inferences": "toIntervalDay(7)", "inference_bodies": "toIntervalHour(36)"} {
		got := storetest.Exec(t, dsn, "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = '"+table+"'")
		if !strings.Contains(got, "TTL toDateTime(inserted_at) + "+want) {
			t.Errorf("%s: %s", table, got)
		}
	}
}

func TestExpiredRowsGoAndLateRowsStay(t *testing.T) {
	s, dsn := open(t, func(c *store.Config) { c.TTL = time.Hour })
	write(t, s, batch("late", 0, 2, now().Add(-300*24*time.Hour)))
	storetest.Exec(t, dsn, "INSERT INTO inferences (ts, inserted_at, inference_id) SELECT now64(6), now64(6) - toIntervalHour(2), 'expired'")
	storetest.Exec(t, dsn, "OPTIMIZE TABLE inferences FINAL")
	got, err := s.Inferences(t.Context(), record.InferenceFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].ID != id(1) || got[1].ID != id(0) {
		t.Errorf("got %d rows: %v", len(got), got)
	}
}

// The tables of an OpenTelemetry Collector that was there first are used, and get
// their deduplication windows.
func TestExistingSpansTable(t *testing.T) {
	dsn := storetest.DSN(t)
	storetest.Exec(t, dsn, `CREATE TABLE otel_traces (
		Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String, TraceState String,
		SpanName LowCardinality(String), SpanKind LowCardinality(String), ServiceName LowCardinality(String),
		ResourceAttributes Map(LowCardinality(String), String), ScopeName String, ScopeVersion String,
		SpanAttributes Map(LowCardinality(String), String), Duration UInt64, StatusCode LowCardinality(String), StatusMessage String,
		Events Nested(Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String)),
		Links Nested(TraceId String, SpanId String, TraceState String, Attributes Map(LowCardinality(String), String))
	) ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))`)
	storetest.Exec(t, dsn, "CREATE TABLE otel_traces_trace_id_ts (TraceId String, Start DateTime, End DateTime) ENGINE = MergeTree ORDER BY (TraceId, Start)")
	storetest.Exec(t, dsn, "CREATE MATERIALIZED VIEW otel_traces_trace_id_ts_mv TO otel_traces_trace_id_ts AS SELECT TraceId, min(Timestamp) AS Start, max(Timestamp) AS End FROM otel_traces GROUP BY TraceId")
	s := openConfig(t, config(dsn))
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		write(t, s, batch("x", 0, 5, now().Truncate(time.Second)))
	}
	if got := count(t, dsn, "SELECT count() FROM otel_traces"); got != 5 {
		t.Errorf("got %d spans, want 5", got)
	}
	if got := count(t, dsn, "SELECT count() FROM otel_traces_trace_id_ts"); got != 5 {
		t.Errorf("got %d trace ids, want 5", got)
	}
}

func TestOtherSpansTable(t *testing.T) {
	s, dsn := open(t, func(c *store.Config) { c.SpansTable = "my-traces" })
	write(t, s, batch("x", 0, 2, now()))
	if got := count(t, dsn, "SELECT count() FROM `my-traces`"); got != 2 {
		t.Errorf("got %d spans, want 2", got)
	}
	spans, err := s.Spans(t.Context(), traceID(1))
	if err != nil || len(spans) != 1 {
		t.Errorf("got %d spans: %v", len(spans), err)
	}
}
