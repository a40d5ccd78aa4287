package localclickhouse

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockFolder makes this process the owner of a data folder until the file is
// closed or the process ends, however it ends.
func lockFolder(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer func() { _ = f.Close() }()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the data folder %s is in use by process %s: stop it first, or give another folder", dir, owner(f))
		}
		return nil, fmt.Errorf("lock the data folder %s: %w", dir, err)
	}
	if err := f.Truncate(0); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write the lock of %s: %w", dir, err)
	}
	if _, err := fmt.Fprintf(f, "%d\n", os.Getpid()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write the lock of %s: %w", dir, err)
	}
	return f, nil
}

// owner is the process id that the lock file holds.
func owner(f *os.File) string {
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if id := strings.TrimSpace(string(b)); err == nil && id != "" {
		return id
	}
	return "(unknown)"
}
