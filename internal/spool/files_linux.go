package spool

import (
	"os"
	"syscall"
)

// syncData forces a file's data to disk. Unlike fsync it leaves out the
// modification time, which would take a journal commit.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// freeSpace is what an ordinary user may still write to the folder's disk.
func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, os.NewSyscallError("statfs", err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}
