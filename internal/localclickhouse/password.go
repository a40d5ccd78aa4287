package localclickhouse

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// EnsurePassword returns the password in the file at path, and writes a random
// one there first when there is none. The file is readable by its owner only.
func EnsurePassword(path string) (string, error) {
	b, err := os.ReadFile(path)
	switch {
	case err == nil:
		if p := strings.TrimSpace(string(b)); p != "" {
			return p, nil
		}
		return "", fmt.Errorf("the password file %s is empty: delete it to get a new password", path)
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read the password: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("write the password: %w", err)
	}
	password := rand.Text()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("write the password: %w", err)
	}
	_, err = f.WriteString(password + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write the password: %w", err)
	}
	return password, nil
}
