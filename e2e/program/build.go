package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Folder holds commands of this module. Each is built when it is first asked
// for.
type Folder struct {
	dir   string
	build map[string]func() error
}

// NewFolder returns a folder for the commands proxy, evaluator, localclickhouse
// and docket. The proxy and the evaluator have the race detector in them. The
// engine has not, since the detector and its library do not share a process
// well.
func NewFolder(dir string) *Folder {
	f := &Folder{dir: dir, build: map[string]func() error{}}
	for name, race := range map[string]bool{"proxy": true, "evaluator": true, "localclickhouse": false, "docket": false} {
		f.build[name] = sync.OnceValue(func() error { return Build(".", filepath.Join(dir, name), "docket/cmd/"+name, race) })
	}
	return f
}

// Path is where a built command is.
func (f *Folder) Path(t *testing.T, name string) string {
	t.Helper()
	if err := f.build[name](); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(f.dir, name)
}

// Build builds a package of the module that dir is in. Test packages that run at
// the same time build one after the other: what one has compiled, the next finds.
func Build(dir, target, pkg string, race bool, flags ...string) error {
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "docket-e2e-build.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("build %s: wait for other builds: %w", pkg, err)
	}
	cgo, args := "0", []string{"build", "-C", dir, "-o", target}
	if race {
		cgo, args = "1", append(args, "-race")
	}
	cmd := exec.Command("go", append(append(args, flags...), pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// Library is the embedded engine's library. Root is the folder of the module.
func Library(t *testing.T, root string) string {
	t.Helper()
	lib := os.Getenv("DOCKET_LIBCHDB")
	if lib == "" {
		lib = filepath.Join(root, ".cache", "libchdb", "libchdb.so")
	}
	return Existing(t, lib, "make libchdb, or set DOCKET_LIBCHDB")
}

// Existing is the absolute path of a part that must be installed.
func Existing(t *testing.T, name, install string) string {
	t.Helper()
	abs, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(abs); err != nil {
		t.Fatalf("a part is missing: %s: %v", install, err)
	}
	return abs
}
