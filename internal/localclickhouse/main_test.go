package localclickhouse_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"docket/internal/leaktest"
	"docket/internal/localclickhouse"
)

const password = "a 'test' password\\"

// shared is the one engine of this process: the library allows no second one.
// It is started by the first test that needs it.
var shared = &engine{}

type engine struct {
	once   sync.Once
	err    error
	addr   string
	data   string
	server *localclickhouse.Server
	served chan error
}

func TestMain(m *testing.M) {
	code := m.Run()
	err := shared.stop()
	if err == nil && code == 0 {
		err = leaktest.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// addr is where the engine listens.
func addr(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.err = shared.start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.addr
}

func (e *engine) start() error {
	library, err := library()
	if err != nil {
		return err
	}
	if e.data, err = os.MkdirTemp("", "docket-engine-"); err != nil {
		return err
	}
	e.server, err = localclickhouse.Open(localclickhouse.Options{
		Data: e.data, Library: library, Password: password, Memory: 1 << 30, MaxBody: 8 << 20,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	e.addr = listener.Addr().String()
	e.served = make(chan error, 1)
	go func() { e.served <- e.server.Serve(listener) }()
	return nil
}

// library is found as from the root of the module, where .cache is.
func library() (string, error) {
	if named := os.Getenv("DOCKET_LIBCHDB"); named != "" {
		return named, nil
	}
	return localclickhouse.FindLibrary(filepath.Join("..", "..", ".cache", "libchdb", localclickhouse.LibraryFile), os.Getenv)
}

func (e *engine) stop() error {
	defer func() { _ = os.RemoveAll(e.data) }()
	if e.server == nil {
		return nil
	}
	err := e.server.Close()
	if e.served != nil {
		err = errors.Join(err, <-e.served)
	}
	return errors.Join(err, e.server.Close()) // the second time nothing happens
}

// options are the driver's, for a database.
func options(t testing.TB, database string) *clickhouse.Options {
	t.Helper()
	return &clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{addr(t)},
		Auth:        clickhouse.Auth{Database: database, Username: "default", Password: password},
		DialTimeout: time.Minute,
	}
}

// connect opens a connection with the driver, closed at the end of the test.
func connect(t testing.TB, opts *clickhouse.Options) driver.Conn {
	t.Helper()
	conn, err := clickhouse.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// database makes a database for this test and returns a connection to it.
func database(t testing.TB) (driver.Conn, string) {
	t.Helper()
	name := "t_" + strings.ToLower(rand.Text()[:10])
	admin := connect(t, options(t, "default"))
	exec(t, admin, "CREATE DATABASE "+name)
	t.Cleanup(func() {
		if err := admin.Exec(context.Background(), "DROP DATABASE "+name+" SYNC"); err != nil {
			t.Error(err)
		}
	})
	return connect(t, options(t, name)), name
}

func exec(t testing.TB, conn driver.Conn, sql string, args ...any) {
	t.Helper()
	if err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
}

// value runs a query of one row and one column.
func value[T any](t testing.TB, conn driver.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
	return v
}
