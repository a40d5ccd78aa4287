package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const (
	metaDir       = "meta"
	quarantineDir = "quarantine"
)

// SaveMeta keeps a small value under a name. When it returns, the value is on
// disk, whole; after a crash either it or the one before is there.
func (s *Spool) SaveMeta(name string, data []byte) error {
	path, err := s.path(metaDir, name)
	if err != nil {
		return err
	}
	if err := s.replace(path, data); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

// LoadMeta returns what SaveMeta kept; the error is fs.ErrNotExist if there is
// none.
func (s *Spool) LoadMeta(name string) ([]byte, error) {
	path, err := s.path(metaDir, name)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", name, err)
	}
	return data, nil
}

// RemoveMeta removes a value; it is no error if there is none.
func (s *Spool) RemoveMeta(name string) error {
	path, err := s.path(metaDir, name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return syncDir(filepath.Dir(path))
}

// Quarantine keeps data that cannot be delivered as a file for a person to
// look at. The error is Full when quarantine_bytes is used up. The same name
// again replaces the file.
func (s *Spool) Quarantine(name string, data []byte) error {
	path, err := s.path(quarantineDir, name)
	if err != nil {
		return err
	}
	q := &s.quarantine
	q.mu.Lock()
	defer q.mu.Unlock()
	var old int64
	if info, err := os.Stat(path); err == nil {
		old = info.Size()
	}
	size := q.bytes - old + int64(len(data))
	if size > int64(s.cfg.QuarantineBytes) {
		return &AppendError{Reason: ReasonQuota, Err: fmt.Errorf("quarantine %s: quarantine_bytes %v used up", name, s.cfg.QuarantineBytes)}
	}
	if err := writeFile(path, data); err != nil {
		return fmt.Errorf("quarantine %s: %w", name, err)
	}
	q.bytes = size
	return nil
}

// quarantine knows the size of the quarantine folder.
type quarantine struct {
	mu    sync.Mutex // guards bytes, and the writing of files
	bytes int64
}

func (q *quarantine) measure(dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, quarantineDir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		q.bytes += info.Size()
	}
	return nil
}

// path is the file of a name in one of the spool's folders.
func (s *Spool) path(folder, name string) (string, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return "", ErrClosed
	}
	ok := name != "" && name[0] != '.' && len(name) <= 128
	for _, c := range name {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c))
	}
	if !ok {
		return "", fmt.Errorf("name %q: want 1 to 128 letters, digits, dots, dashes or underscores, and no leading dot", name)
	}
	return filepath.Join(s.cfg.Dir, folder, name), nil
}
