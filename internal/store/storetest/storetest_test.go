package storetest_test

import (
	"testing"

	"docket/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestEveryTestHasItsOwnDatabase(t *testing.T) {
	one, two := storetest.DSN(t), storetest.DSN(t)
	storetest.Exec(t, one, "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
	storetest.Exec(t, one, "INSERT INTO t VALUES (7)")
	if got := storetest.Exec(t, one, "SELECT a FROM t"); got != "7\n" {
		t.Errorf("first database: got %q", got)
	}
	if got := storetest.Exec(t, two, "SHOW TABLES"); got != "" {
		t.Errorf("second database: got %q", got)
	}
}

func TestDatabaseIsDroppedAtTheEnd(t *testing.T) {
	var inner string
	t.Run("inner", func(t *testing.T) {
		storetest.DSN(t)
		inner = storetest.Exec(t, storetest.Server(t), "SELECT count() FROM system.databases WHERE name LIKE '%attheend_inner%'")
	})
	after := storetest.Exec(t, storetest.Server(t), "SELECT count() FROM system.databases WHERE name LIKE '%attheend_inner%'")
	if inner != "1\n" || after != "0\n" {
		t.Errorf("databases inside %q and after %q, want 1 and 0", inner, after)
	}
}
