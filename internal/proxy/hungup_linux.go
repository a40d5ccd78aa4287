package proxy

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp says whether the other side has closed a connection, whatever there is
// still to read.
func hungUp(raw syscall.RawConn) bool {
	var events int16
	err := raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		if n, err := unix.Poll(fds, 0); err == nil && n == 1 {
			events = fds[0].Revents
		}
	})
	return err != nil || events&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}
