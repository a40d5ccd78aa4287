package localclickhouse

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersions(t *testing.T) {
	for s, ok := range map[string]bool{
		"26.7.3": true, "26.7.3.1-stable": true, "26.8.0": true, "27.1.0": true, "26.7.10": true,
		"26.7.2": false, "26.6.9": false, "25.12.5": false, "26.7": false, "": false, "x.y.z": false, "26.-7.3": false,
	} {
		if _, err := checkVersion(s); (err == nil) != ok {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestPasswordIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "password")
	one, err := EnsurePassword(path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := EnsurePassword(path)
	if err != nil || one != two || len(one) < 20 {
		t.Errorf("got %q, then %q, %v", one, two, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := EnsurePassword(path); err == nil {
		t.Errorf("an empty file gave the password %q", p)
	}
}

func TestSecondOwnerIsNamed(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFolder(dir); err == nil || !strings.Contains(err.Error(), "in use by process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("second owner: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	lock, err = lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = lock.Close()
}

func TestFindLibrary(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, LibraryFile)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(v string) func(string) string { return func(string) string { return v } }
	if got, err := FindLibrary(file, env("/nope")); err != nil || got != file {
		t.Errorf("named: %s, %v", got, err)
	}
	if got, err := FindLibrary("", env(file)); err != nil || got != file {
		t.Errorf("environment: %s, %v", got, err)
	}
	if _, err := FindLibrary("", env(dir)); err == nil || !strings.Contains(err.Error(), "DOCKET_LIBCHDB") {
		t.Errorf("a folder: %v", err)
	}
	t.Chdir(dir)
	if err := os.MkdirAll(".cache/libchdb", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, ".cache/libchdb/"+LibraryFile); err != nil {
		t.Fatal(err)
	}
	if got, err := FindLibrary("", env("")); err != nil || got != filepath.Join(dir, ".cache", "libchdb", LibraryFile) {
		t.Errorf("cache: %s, %v", got, err)
	}
}

func TestNotALibraryIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), LibraryFile)
	if err := os.WriteFile(file, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Options{Data: t.TempDir(), Library: file, Password: "x"})
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := Options{Data: "d", Library: "l", Password: "p"}
	for name, change := range map[string]func(*Options){
		"data": func(o *Options) { o.Data = "" }, "library": func(o *Options) { o.Library = "" }, "password": func(o *Options) { o.Password = "" },
		"memory": func(o *Options) { o.Memory = 1 }, "threads": func(o *Options) { o.Threads = -1 }, "readers": func(o *Options) { o.Readers = -1 },
		"max body": func(o *Options) { o.MaxBody = 1 }, "grace": func(o *Options) { o.Grace = -1 },
	} {
		o := good
		change(&o)
		if err := o.withDefaults().validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := good.withDefaults().validate(); err != nil {
		t.Error(err)
	}
}

func TestParseDescription(t *testing.T) {
	got, err := parseDescription([]byte("[\"a\",\"UInt8\",\"\"]\n[\"it's \\\"b\\\"\",\"Enum8('x' = 1)\"]\n"))
	want := []columnType{{"a", "UInt8"}, {`it's "b"`, "Enum8('x' = 1)"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(columnType{})); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, bad := range []string{"x", "[]", "[1,2]", "\n"} {
		if _, err := parseDescription([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
