//go:build unix

package proxy

import "syscall"

// quiet says whether an idle connection is open and has nothing to read. What
// there is to read before a request was sent is a close, or an answer to
// nothing; either way the connection is of no use.
func quiet(raw syscall.RawConn) bool {
	var err error
	controlErr := raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return controlErr == nil && (err == syscall.EAGAIN || err == syscall.EINTR)
}
