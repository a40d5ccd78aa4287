package localclickhouse_test

import (
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// everyType has each kind of column and index that the store's tables use.
const everyType = `CREATE TABLE every (
	id UUID,
	at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
	at3 DateTime64(3, 'UTC'),
	day Date MATERIALIZED toDate(at),
	name String CODEC(ZSTD(3)),
	model LowCardinality(String),
	u8 UInt8, u16 UInt16, u32 UInt32, u64 UInt64 CODEC(T64, LZ4),
	i32 Int32,
	tokens Nullable(UInt64),
	p Nullable(Float64),
	f Float64,
	ok Bool,
	tags Map(LowCardinality(String), String),
	tools Array(LowCardinality(String)),
	texts Array(String),
	kind Enum8('pass' = 1, 'fail' = 2, 'not_applicable' = -3),
	fixed FixedString(4),
	Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String)),
	INDEX by_name name TYPE bloom_filter(0.001) GRANULARITY 1,
	INDEX by_tag_key mapKeys(tags) TYPE bloom_filter(0.01) GRANULARITY 1,
	INDEX by_time at TYPE minmax,
	PROJECTION by_model (SELECT * ORDER BY model, at)
) ENGINE = MergeTree PARTITION BY day ORDER BY (model, at, id) TTL day + INTERVAL 30 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1`

type row struct {
	ID         uuid.UUID           `ch:"id"`
	At         time.Time           `ch:"at"`
	At3        time.Time           `ch:"at3"`
	Name       string              `ch:"name"`
	Model      string              `ch:"model"`
	U8         uint8               `ch:"u8"`
	U16        uint16              `ch:"u16"`
	U32        uint32              `ch:"u32"`
	U64        uint64              `ch:"u64"`
	I32        int32               `ch:"i32"`
	Tokens     *uint64             `ch:"tokens"`
	P          *float64            `ch:"p"`
	F          float64             `ch:"f"`
	OK         bool                `ch:"ok"`
	Tags       map[string]string   `ch:"tags"`
	Tools      []string            `ch:"tools"`
	Texts      []string            `ch:"texts"`
	Kind       string              `ch:"kind"`
	Fixed      string              `ch:"fixed"`
	EventTimes []time.Time         `ch:"Events.Timestamp"`
	EventNames []string            `ch:"Events.Name"`
	EventAttrs []map[string]string `ch:"Events.Attributes"`
}

func exampleRows() []row {
	tokens, p := uint64(1)<<63, 0.1
	at := time.Now().UTC().Truncate(time.Microsecond)
	return []row{
		{
			ID: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), At: at, At3: at.Truncate(time.Millisecond),
			Name: "it's\x00\\\n", Model: "gpt-x", U8: 255, U16: 65535, U32: 1<<32 - 1, U64: 1<<64 - 1, I32: -7,
			Tokens: &tokens, P: &p, F: 1e-300, OK: true,
			Tags: map[string]string{"a": "b", "it's": `\`}, Tools: []string{"search", "search", "it's"}, Texts: []string{"", "é€"},
			Kind: "not_applicable", Fixed: "abcd",
			EventTimes: []time.Time{at, at.Add(time.Second)}, EventNames: []string{"x", "y"}, EventAttrs: []map[string]string{{"k": "v"}, {}},
		},
		{
			At: at.Add(time.Second), At3: at.Truncate(time.Millisecond), Model: "", Kind: "pass", Fixed: "\x00\x00\x00\x00",
			Tags: map[string]string{}, Tools: []string{}, Texts: []string{},
			EventTimes: []time.Time{}, EventNames: []string{}, EventAttrs: []map[string]string{},
		},
	}
}

func TestEveryColumnTypeComesBack(t *testing.T) {
	conn, _ := database(t)
	exec(t, conn, everyType)
	want := exampleRows()
	batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO every")
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if err := batch.AppendStruct(&want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Send(); err != nil {
		t.Fatal(err)
	}
	var got []row
	if err := conn.Select(t.Context(), &got, "SELECT * FROM every ORDER BY at"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := value[uint64](t, conn, "SELECT count() FROM every WHERE day = toDate(at) AND name = {n:String} AND tags['a'] = 'b'", clickhouse.Named("n", want[0].Name)); got != 1 {
		t.Errorf("by materialized day, name and tag: %d rows", got)
	}
	if got := value[uint64](t, conn, "SELECT count() FROM system.projection_parts WHERE database = currentDatabase() AND active"); got != 1 {
		t.Errorf("the projection has %d parts", got)
	}
}

func TestReplacingMergeTreeFinal(t *testing.T) {
	conn, _ := database(t)
	exec(t, conn, "CREATE TABLE r (id String, v UInt64) ENGINE = ReplacingMergeTree(v) ORDER BY id")
	exec(t, conn, "INSERT INTO r VALUES ('a', 1), ('b', 1)")
	exec(t, conn, "INSERT INTO r VALUES ('a', 2)")
	if got := value[uint64](t, conn, "SELECT sum(v) FROM r FINAL"); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

func TestSchemaChanges(t *testing.T) {
	conn, _ := database(t)
	exec(t, conn, everyType)
	for _, sql := range []string{
		"ALTER TABLE every ADD COLUMN IF NOT EXISTS added String DEFAULT 'x' AFTER name",
		"ALTER TABLE every ADD INDEX IF NOT EXISTS by_added added TYPE bloom_filter(0.001) GRANULARITY 1",
		"ALTER TABLE every MODIFY SETTING non_replicated_deduplication_window = 200000",
		"ALTER TABLE every MODIFY TTL day + INTERVAL 7 DAY",
		"ALTER TABLE every DELETE WHERE u8 = 1 SETTINGS mutations_sync = 1",
		"ALTER TABLE every DROP PARTITION '2026-01-01'",
		"EXPLAIN SYNTAX SELECT * FROM every",
		"CREATE VIEW v AS SELECT * FROM every WHERE u8 > {n:UInt8}",
		"RENAME TABLE every TO moved",
		"TRUNCATE TABLE moved",
	} {
		exec(t, conn, sql)
	}
	// Other statements are only parsed: they need a server.
	for _, sql := range []string{
		"CREATE TABLE x ON CLUSTER '{cluster}' (n UInt8) ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/x', '{replica}') ORDER BY n",
		"CREATE TABLE y ON CLUSTER '{cluster}' AS x ENGINE = Distributed('{cluster}', currentDatabase(), x, rand())",
	} {
		if got := value[string](t, conn, "SELECT formatQuery({q:String})", clickhouse.Named("q", sql)); got == "" {
			t.Errorf("not parsed: %s", sql)
		}
	}
}

func TestRefreshableView(t *testing.T) {
	conn, _ := database(t)
	exec(t, conn, "CREATE TABLE src (n UInt64) ENGINE = MergeTree ORDER BY n")
	exec(t, conn, "INSERT INTO src VALUES (1), (2)")
	exec(t, conn, "CREATE MATERIALIZED VIEW sums REFRESH EVERY 1 SECOND (total UInt64) ENGINE = MergeTree ORDER BY total AS SELECT sum(n) AS total FROM src")
	await(t, "first refresh", func() bool { return value[uint64](t, conn, "SELECT sum(total) FROM sums") == 3 })
	exec(t, conn, "INSERT INTO src VALUES (10)")
	await(t, "next refresh", func() bool { return value[uint64](t, conn, "SELECT sum(total) FROM sums") == 13 })
}

func TestResendIsDroppedInEveryTable(t *testing.T) {
	conn, _ := database(t)
	for _, sql := range []string{
		"CREATE TABLE src (n UInt64, part UInt8) ENGINE = MergeTree PARTITION BY part ORDER BY n SETTINGS non_replicated_deduplication_window = 100000",
		"CREATE TABLE narrow (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 100000",
		"CREATE MATERIALIZED VIEW mv TO narrow AS SELECT n FROM src WHERE n % 2 = 0",
	} {
		exec(t, conn, sql)
	}
	send := func(token string, from, to uint64) {
		t.Helper()
		ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{
			"insert_deduplication_token": token, "deduplicate_blocks_in_dependent_materialized_views": 1,
		}))
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO src (n, part)")
		if err != nil {
			t.Fatal(err)
		}
		for n := from; n < to; n++ {
			if err := batch.Append(n, uint8(n%3)); err != nil {
				t.Fatal(err)
			}
		}
		if err := batch.Send(); err != nil {
			t.Fatal(err)
		}
	}
	count := func() [2]uint64 {
		return [2]uint64{value[uint64](t, conn, "SELECT count() FROM src"), value[uint64](t, conn, "SELECT count() FROM narrow")}
	}
	for range 3 {
		send("spool:'0-100'\\", 0, 100)
	}
	if got, want := count(), [2]uint64{100, 50}; got != want {
		t.Errorf("one batch sent three times: %v rows, want %v", got, want)
	}
	send("spool:100-200", 0, 100) // the same rows under another token are kept
	if got, want := count(), [2]uint64{200, 100}; got != want {
		t.Errorf("another token: %v rows, want %v", got, want)
	}
}
