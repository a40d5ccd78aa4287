//go:build !linux

package spool

import (
	"os"
	"syscall"
)

func syncData(f *os.File) error { return f.Sync() }

func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, os.NewSyscallError("statfs", err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
