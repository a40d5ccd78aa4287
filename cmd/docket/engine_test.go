package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A start that fails because another engine has the folder must not hide where
// that one is; a start that works replaces what an earlier one left.
func TestPortFile(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(s.dir, "data", "clickhouse.port")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKET_TEST_DIES", engineName)
	if err := supervise(t.Context(), s.options(), &s.out); err == nil {
		t.Fatal("the start worked without an engine")
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "127.0.0.1:1\n" {
		t.Errorf("after a failed start: %q %v", got, err)
	}
	t.Setenv("DOCKET_TEST_DIES", "")
	stop := s.start(s.options())
	engine := strings.Fields(s.await("localclickhouse start", 1)[0])
	proxy := strings.Fields(s.await("proxy start", 1)[0])
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(proxy[3], "@"+engine[3]+"/docket") {
		t.Errorf("the proxy got %s, the engine is on %s", proxy[3], engine[3])
	}
}
