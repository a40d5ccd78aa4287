package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"docket/internal/leaktest"
)

// shared is the engine of this test binary.
var shared = &engine{}

// engine starts at most one child. mu guards the other fields.
type engine struct {
	mu    sync.Mutex
	tried bool
	base  *url.URL
	child *child
	err   error
}

// Main runs the tests of a package, stops the engine, and fails when a
// goroutine is left. Call it from TestMain; a package that does not have one
// may use DSN all the same.
func Main(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "storetest:", err)
		code = 1
	}
	if code == 0 {
		if err := leaktest.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "storetest:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// DSN returns the DSN of a database that only this test uses.
func DSN(t testing.TB) string {
	t.Helper()
	base := Server(t)
	name := databaseName(t.Name())
	Exec(t, base, "CREATE DATABASE "+name)
	t.Cleanup(func() { Exec(t, base, "DROP DATABASE IF EXISTS "+name+" SYNC") })
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// Server returns the DSN of the ClickHouse itself, without a database: for
// tests that make and drop their own.
func Server(t testing.TB) string {
	t.Helper()
	base, err := shared.start()
	if err != nil {
		t.Fatalf("no ClickHouse to test with: %v", err)
	}
	return base.String()
}

// Exec runs one statement over HTTP, in the database of the DSN, and returns
// what it prints in the format TabSeparated.
func Exec(t testing.TB, dsn, sql string) string {
	t.Helper()
	out, err := post(dsn, sql)
	if err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
	return out
}

func post(dsn, sql string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	query := u.Query()
	if database := strings.Trim(u.Path, "/"); database != "" {
		query.Set("database", database)
	}
	u.Path, u.RawQuery = "/", query.Encode()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", resp.StatusCode, strings.TrimSpace(string(body)))
	}
	return string(body), nil
}

// databaseName makes a name out of a test's, with a random end.
func databaseName(test string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '_'
		}
	}, test)
	return "test_" + clean[:min(len(clean), 48)] + "_" + strings.ToLower(rand.Text()[:8])
}

func (e *engine) start() (*url.URL, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tried {
		return e.base, e.err
	}
	e.tried = true
	if dsn := os.Getenv("DOCKET_TEST_STORE"); dsn != "" {
		e.base, e.err = parseServer(dsn)
		return e.base, e.err
	}
	e.child, e.err = startChild()
	if e.err == nil {
		e.base = e.child.dsn
	}
	return e.base, e.err
}

func (e *engine) stop() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.child == nil {
		return nil
	}
	c := e.child
	e.child = nil
	return c.stop()
}

func parseServer(dsn string) (*url.URL, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("DOCKET_TEST_STORE: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("DOCKET_TEST_STORE: %s:// is not understood here, use http:// or https://", u.Scheme)
	}
	u.Path = ""
	return u, nil
}
