package localclickhouse_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
)

// wantCode checks that an error is a typed exception.
func wantCode(t *testing.T, err error, code int32, name string) {
	t.Helper()
	var e *clickhouse.Exception
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want an exception with code %d", err, err, code)
	}
	if e.Code != code || e.CodeName != name {
		t.Errorf("got code %d %s (%s), want %d %s", e.Code, e.CodeName, e.Message, code, name)
	}
}

func TestHandshake(t *testing.T) {
	conn := connect(t, options(t, "default"))
	v, err := conn.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if v.Revision != 0 || v.Version.Major < 26 || v.DisplayName != "docket" || v.Timezone.String() != "UTC" {
		t.Errorf("got %s %s, revision %d, zone %s", v.DisplayName, v.Version, v.Revision, v.Timezone)
	}
	if got := value[string](t, conn, "SELECT version()"); !strings.HasPrefix(got, v.Version.String()) {
		t.Errorf("SELECT version() says %s, the handshake %s", got, v.Version)
	}
}

func TestPing(t *testing.T) {
	if err := connect(t, options(t, "default")).Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWrongPasswordIsRefused(t *testing.T) {
	for name, auth := range map[string]clickhouse.Auth{
		"password": {Database: "default", Username: "default", Password: "guess"},
		"none":     {Database: "default", Username: "default"},
		"user":     {Database: "default", Username: "admin", Password: password},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options(t, "default")
			opts.Auth = auth
			wantCode(t, connect(t, opts).Ping(t.Context()), 516, "AUTHENTICATION_FAILED")
		})
	}
}

func TestUnknownDatabaseIsATypedError(t *testing.T) {
	wantCode(t, connect(t, options(t, "no`such'db")).Ping(t.Context()), 81, "UNKNOWN_DATABASE")
}

func TestBatchOfTenThousandRows(t *testing.T) {
	for _, method := range []clickhouse.CompressionMethod{
		clickhouse.CompressionNone, clickhouse.CompressionLZ4, clickhouse.CompressionZSTD, clickhouse.CompressionGZIP,
		clickhouse.CompressionDeflate, clickhouse.CompressionBrotli,
	} {
		t.Run(method.String(), func(t *testing.T) {
			_, name := database(t)
			opts := options(t, name)
			opts.Compression = &clickhouse.Compression{Method: method, Level: 1}
			conn := connect(t, opts)
			exec(t, conn, "CREATE TABLE t (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
			batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO t (n, s)")
			if err != nil {
				t.Fatal(err)
			}
			const rows = 10_000
			for i := range uint64(rows) {
				if err := batch.Append(i, fmt.Sprintf("row %d \x00 '\\ %s", i, strings.Repeat("x", int(i%400)))); err != nil {
					t.Fatal(err)
				}
			}
			if err := batch.Send(); err != nil {
				t.Fatal(err)
			}
			if got := value[uint64](t, conn, "SELECT count() FROM t WHERE s = concat('row ', toString(n), ' \\0 \\'\\\\ ', repeat('x', n % 400))"); got != rows {
				t.Errorf("%d of %d rows are as they were sent", got, rows)
			}
			if got := value[uint64](t, conn, "SELECT count() FROM system.parts WHERE database = currentDatabase() AND active"); got != 1 {
				t.Errorf("one batch made %d parts", got)
			}
			checkStream(t, conn, "SELECT n FROM t ORDER BY n", rows)
		})
	}
}

// checkStream reads numbers counting up from 0.
func checkStream(t *testing.T, conn driver.Conn, sql string, want uint64) {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	var next uint64
	for rows.Next() {
		var n uint64
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != next {
			t.Fatalf("got %d, want %d", n, next)
		}
		next++
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || next != want {
		t.Errorf("got %d rows and %v, want %d", next, err, want)
	}
}

func TestStreamingSelect(t *testing.T) {
	checkStream(t, connect(t, options(t, "default")), "SELECT number FROM numbers(1000000)", 1_000_000)
}

func TestNamedParameters(t *testing.T) {
	conn := connect(t, options(t, "default"))
	at := time.Date(2026, 11, 30, 12, 34, 56, 789_123_000, time.UTC)
	for name, c := range map[string]struct {
		sql  string
		arg  any
		want any
	}{
		"string":       {"SELECT {v:String}", "it's a \\ \"test\" `of`\n\t\r\x00 {x:String} é €", "it's a \\ \"test\" `of`\n\t\r\x00 {x:String} é €"},
		"injection":    {"SELECT {v:String}", "'; DROP TABLE t; --", "'; DROP TABLE t; --"},
		"empty":        {"SELECT {v:String}", "", ""},
		"number":       {"SELECT {v:UInt64}", uint64(18446744073709551615), uint64(18446744073709551615)},
		"strings":      {"SELECT {v:Array(String)}", []string{"it's", `a\b`, "", "c,d]"}, []string{"it's", `a\b`, "", "c,d]"}},
		"no strings":   {"SELECT {v:Array(String)}", []string{}, []string{}},
		"numbers":      {"SELECT {v:Array(UInt8)}", []int{1, 2, 3}, []uint8{1, 2, 3}},
		"datetime64":   {"SELECT {v:DateTime64(6, 'UTC')}", at, at},
		"lowcardinal":  {"SELECT {v:LowCardinality(String)}", "x'y", "x'y"},
		"map":          {"SELECT {v:Map(String, String)}", map[string]string{"a'b": `c\d`}, map[string]string{"a'b": `c\d`}},
		"bool":         {"SELECT {v:Bool}", true, true},
		"float":        {"SELECT {v:Float64}", 0.1, 0.1},
		"identifier":   {"SELECT count() > 0 FROM system.{v:Identifier}", "tables", uint8(1)},
		"uuid":         {"SELECT toString({v:UUID})", "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8057"},
		"big in array": {"SELECT length({v:Array(String)})", make([]string, 5000), uint64(5000)},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := conn.Query(t.Context(), c.sql, clickhouse.Named("v", c.arg))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rows.Close() }()
			if !rows.Next() {
				t.Fatal("no row", rows.Err())
			}
			got := newLike(c.want)
			if err := rows.Scan(got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, deref(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNullParameter(t *testing.T) {
	conn := connect(t, options(t, "default"))
	if got := value[*uint64](t, conn, "SELECT {v:Nullable(UInt64)}", clickhouse.Named("v", nil)); got != nil {
		t.Errorf("got %d, want NULL", *got)
	}
}

func TestTypedErrors(t *testing.T) {
	conn, _ := database(t)
	exec(t, conn, "CREATE TABLE t (n UInt64, CONSTRAINT small CHECK n < 10) ENGINE = MergeTree ORDER BY n")
	for name, c := range map[string]struct {
		sql  string
		code int32
		want string
	}{
		"syntax":  {"SELEC 1", 62, "SYNTAX_ERROR"},
		"table":   {"SELECT * FROM nope", 60, "UNKNOWN_TABLE"},
		"column":  {"SELECT nope FROM t", 47, "UNKNOWN_IDENTIFIER"},
		"type":    {"SELECT toUInt8('x')", 6, "CANNOT_PARSE_TEXT"},
		"setting": {"SELECT 1 SETTINGS nope = 1", 115, "UNKNOWN_SETTING"},
		"memory":  {"SELECT length(groupArray(number)) FROM numbers(100000000) SETTINGS max_memory_usage = 20000000", 241, "MEMORY_LIMIT_EXCEEDED"},
		"exists":  {"CREATE TABLE t (n UInt8) ENGINE = Memory", 57, "TABLE_ALREADY_EXISTS"},
		"insert":  {"INSERT INTO t VALUES (11)", 469, "VIOLATED_CONSTRAINT"},
		"show":    {"SHOW CREATE TABLE nope", 390, "CANNOT_GET_CREATE_TABLE_QUERY"},
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, conn.Exec(t.Context(), c.sql), c.code, c.want)
			_, err := conn.Query(t.Context(), c.sql)
			wantCode(t, err, c.code, c.want)
		})
	}
}

func TestRefusedBatchIsATypedError(t *testing.T) {
	conn, _ := database(t)
	exec(t, conn, "CREATE TABLE t (n UInt64, CONSTRAINT small CHECK n < 10) ENGINE = MergeTree ORDER BY n")
	send := func(values ...uint64) error {
		batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO t")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if err := batch.Append(v); err != nil {
				t.Fatal(err)
			}
		}
		return batch.Send()
	}
	wantCode(t, send(1, 2, 11), 469, "VIOLATED_CONSTRAINT")
	if err := send(1, 2); err != nil {
		t.Error(err)
	}
	if got := value[uint64](t, conn, "SELECT count() FROM t"); got != 2 {
		t.Errorf("got %d rows, want 2", got)
	}
	_, err := conn.PrepareBatch(t.Context(), "INSERT INTO nope")
	wantCode(t, err, 60, "UNKNOWN_TABLE")
}

func TestErrorInTheMiddleOfAResult(t *testing.T) {
	for _, method := range []clickhouse.CompressionMethod{clickhouse.CompressionNone, clickhouse.CompressionLZ4, clickhouse.CompressionZSTD} {
		t.Run(method.String(), func(t *testing.T) {
			opts := options(t, "default")
			opts.Compression = &clickhouse.Compression{Method: method}
			conn := connect(t, opts)
			rows, err := conn.Query(t.Context(), "SELECT throwIf(number = 500000, 'half of it') FROM numbers(1000000)")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for rows.Next() {
				n++
			}
			wantCode(t, rows.Err(), 395, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO")
			if n == 0 {
				t.Error("no row came before the error")
			}
			if err := conn.Ping(t.Context()); err != nil {
				t.Error("afterwards:", err)
			}
		})
	}
}

func TestSettingsHoldForOneStatement(t *testing.T) {
	opts := options(t, "default")
	opts.Settings = clickhouse.Settings{"max_block_size": 1234}
	conn := connect(t, opts)
	const ask = "SELECT toUInt64(getSetting('max_block_size'))"
	if got := value[uint64](t, conn, ask); got != 1234 {
		t.Errorf("setting of the connection: got %d", got)
	}
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_block_size": 77}))
	var got uint64
	if err := conn.QueryRow(ctx, ask).Scan(&got); err != nil || got != 77 {
		t.Errorf("setting of the statement: got %d, %v", got, err)
	}
	exec(t, conn, "SET max_block_size = 99")
	if got := value[uint64](t, conn, ask); got != 1234 {
		t.Errorf("after a SET of another request: got %d", got)
	}
	ctx = clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"no_such_setting": 1}))
	wantCode(t, conn.Exec(ctx, "SELECT 1"), 115, "UNKNOWN_SETTING")
}

func TestRequestsShareNoSession(t *testing.T) {
	conn, name := database(t)
	exec(t, conn, "CREATE TEMPORARY TABLE temp (n UInt8) ENGINE = Memory")
	wantCode(t, conn.Exec(t.Context(), "SELECT * FROM temp"), 60, "UNKNOWN_TABLE")
	exec(t, conn, "USE system")
	if got := value[string](t, conn, "SELECT currentDatabase()"); got != name {
		t.Errorf("after a USE of another request: got %s", got)
	}
}

func TestEmptyResultsHaveColumns(t *testing.T) {
	conn, _ := database(t)
	exec(t, conn, "CREATE TABLE t (n UInt64, m Map(LowCardinality(String), String)) ENGINE = MergeTree ORDER BY n")
	for name, c := range map[string]struct {
		sql  string
		args []any
	}{
		"select":    {sql: "SELECT n, m FROM t"},
		"semicolon": {sql: "SELECT n, m FROM t;"},
		"comment":   {sql: "SELECT n, m FROM t -- the end"},
		"with":      {sql: "WITH 1 AS x SELECT n, m FROM t WHERE x = 2"},
		"union":     {sql: "SELECT n, m FROM t UNION ALL SELECT n, m FROM t"},
		"settings":  {sql: "SELECT n, m FROM t SETTINGS max_threads = 1"},
		"format":    {sql: "SELECT n, m FROM t FORMAT Native"},
		"parameter": {sql: "SELECT n, m FROM t WHERE n = {n:UInt64}", args: []any{clickhouse.Named("n", 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := conn.Query(t.Context(), c.sql, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"n", "m"}, rows.Columns()); diff != "" {
				t.Error(diff)
			}
			if got := rows.ColumnTypes(); len(got) != 2 || got[1].DatabaseTypeName() != "Map(LowCardinality(String), String)" {
				t.Errorf("types: %v", got)
			}
			if rows.Next() {
				t.Error("there is a row")
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStatementsWithoutColumns(t *testing.T) {
	conn, _ := database(t)
	for _, sql := range []string{"SHOW TABLES", "CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n", "OPTIMIZE TABLE t FINAL"} {
		rows, err := conn.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		if rows.Next() || rows.Err() != nil {
			t.Errorf("%s: a row, or %v", sql, rows.Err())
		}
		_ = rows.Close()
	}
}

func TestCancelStopsTheStatement(t *testing.T) {
	conn := connect(t, options(t, "default"))
	for name, sql := range map[string]string{
		"one number": "SELECT sum(cityHash64(number)) FROM numbers(1000000000000) -- cancel me",
		"stream":     "SELECT cityHash64(number) FROM numbers(1000000000000) -- cancel me",
		"insert":     "INSERT INTO FUNCTION null('n UInt64') SELECT cityHash64(number) FROM numbers(1000000000000) -- cancel me",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				rows, err := conn.Query(ctx, sql)
				if err != nil {
					done <- err
					return
				}
				for rows.Next() {
				}
				done <- rows.Err()
			}()
			const running = "SELECT count() FROM system.processes WHERE query LIKE '%cancel me' AND query NOT LIKE '%processes%'"
			await(t, "statement to run", func() bool { return value[uint64](t, conn, running) == 1 })
			cancel()
			if err := <-done; err == nil {
				t.Error("no error")
			}
			await(t, "statement to end", func() bool { return value[uint64](t, conn, running) == 0 })
		})
	}
}

// await polls for something that happens elsewhere.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain for the", what)
		}
	}
}

func TestMaxExecutionTime(t *testing.T) {
	conn := connect(t, options(t, "default"))
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_execution_time": 1}))
	wantCode(t, conn.Exec(ctx, "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)"), 159, "TIMEOUT_EXCEEDED")
}

func TestAsyncInsertIsInTheTableWhenAnswered(t *testing.T) {
	conn, _ := database(t)
	exec(t, conn, "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
	ctx := clickhouse.Context(t.Context(), clickhouse.WithAsync(true))
	if err := conn.Exec(ctx, "INSERT INTO t VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	if got := value[uint64](t, conn, "SELECT sum(n) FROM t"); got != 7 {
		t.Errorf("got %d, want 7", got)
	}
}

func TestExternalTablesAreRefused(t *testing.T) {
	table, err := ext.NewTable("ids", ext.Column("id", "UInt64"))
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Append(uint64(1)); err != nil {
		t.Fatal(err)
	}
	ctx := clickhouse.Context(t.Context(), clickhouse.WithExternalTable(table))
	wantCode(t, connect(t, options(t, "default")).Exec(ctx, "SELECT * FROM ids"), 48, "NOT_IMPLEMENTED")
}

func TestReadonlySetting(t *testing.T) {
	conn, _ := database(t)
	exec(t, conn, "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"readonly": 1, "max_execution_time": 300}))
	for _, sql := range []string{
		"INSERT INTO t VALUES (1)", "DROP TABLE t", "SET max_threads = 3", "SELECT 1 SETTINGS max_threads = 3",
		"SELECT * FROM file('/etc/hostname', 'LineAsString')", "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
		"SELECT file('/etc/hostname')", "SELECT `file`('/etc/hostname')", "SELECT `fi\\x6ce`('/etc/hostname')", "SELECT FILE /* */ ('/etc/hostname')",
		"SELECT * FROM eval('SELECT 1')", "SELECT * FROM executable('x', 'TSV', 'a String')", "SELECT 1 INTO OUTFILE '/tmp/docket-out'",
		"KILL QUERY WHERE 1", "SYSTEM FLUSH LOGS", "CREATE TEMPORARY TABLE x (n UInt8)", "SELECT aiGenerate('x', 'y')",
	} {
		t.Run(sql, func(t *testing.T) {
			wantCode(t, conn.Exec(ctx, sql), 164, "READONLY")
		})
	}
	var n uint64
	if err := conn.QueryRow(ctx, "SELECT count() FROM t").Scan(&n); err != nil {
		t.Error(err)
	}
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO t (n)")
	if err != nil {
		t.Fatal(err)
	}
	if err := batch.Append(uint64(1)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, batch.Send(), 164, "READONLY")
}
