package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissingLibraryNamesTheRemedies(t *testing.T) {
	t.Setenv("DOCKET_LIBCHDB", "")
	_, err := findLibrary(t.TempDir())
	for _, want := range []string{"make libchdb", "DOCKET_LIBCHDB", "DOCKET_TEST_STORE"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	named := filepath.Join(t.TempDir(), "libchdb.so")
	if err := os.WriteFile(named, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKET_LIBCHDB", named)
	if got, err := findLibrary(t.TempDir()); err != nil || got != named {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestServerOfTheEnvironment(t *testing.T) {
	t.Setenv("DOCKET_TEST_STORE", "http://u:p@127.0.0.1:8123/docket?secure=false")
	e := &engine{}
	u, err := e.start()
	if err != nil || u.String() != "http://u:p@127.0.0.1:8123?secure=false" {
		t.Errorf("got %v, %v", u, err)
	}
	t.Setenv("DOCKET_TEST_STORE", "clickhouse://127.0.0.1:9000")
	if _, err := (&engine{}).start(); err == nil || !strings.Contains(err.Error(), "http://") {
		t.Errorf("native DSN: %v", err)
	}
}

func TestDatabaseNames(t *testing.T) {
	name := databaseName("TestX/it's `a` " + strings.Repeat("long", 40))
	if !strings.HasPrefix(name, "test_testx_it_s__a__") || len(name) > 64 || name == databaseName("TestX") {
		t.Errorf("got %s", name)
	}
}
