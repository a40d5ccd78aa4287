package localclickhouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LibraryFile is the name of the engine's library on every platform.
const LibraryFile = "libchdb.so"

// FindLibrary returns the path of libchdb: named, if it is not empty, else the
// first that exists of $DOCKET_LIBCHDB, the folder of this program,
// .cache/libchdb in the working folder, and /usr/local/lib.
func FindLibrary(named string, getenv func(string) string) (string, error) {
	for _, given := range []struct{ from, path string }{{"--lib", named}, {"DOCKET_LIBCHDB", getenv("DOCKET_LIBCHDB")}} {
		if given.path == "" {
			continue
		}
		if err := checkFile(given.path); err != nil {
			return "", fmt.Errorf("%s: %w", given.from, err)
		}
		return filepath.Abs(given.path)
	}
	places := []string{filepath.Join(".cache", "libchdb", LibraryFile), filepath.Join("/usr/local/lib", LibraryFile)}
	if exe, err := os.Executable(); err == nil {
		places = append([]string{filepath.Join(filepath.Dir(exe), LibraryFile)}, places...)
	}
	for _, path := range places {
		err := checkFile(path)
		if err == nil {
			return filepath.Abs(path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("no embedded ClickHouse found (looked for %s): run scripts/fetch-libchdb.sh, or set DOCKET_LIBCHDB to a copy of libchdb %s or later, or set DOCKET_STORE to the DSN of a ClickHouse server",
		strings.Join(places, ", "), minVersion)
}

func checkFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	return nil
}
