package program

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Ports below are those that Linux gives to nobody who does not ask for them:
// neither to a listener on port 0 nor to an outgoing connection. So a port that
// a command shall listen on, or comes back to, is not taken in between.
const lowPort, highPort = 20_000, 32_000

// FreeAddr is a loopback address that nothing listens on, and that no other test
// gets before this one has ended.
func FreeAddr(t *testing.T) string {
	t.Helper()
	for range 10 * (highPort - lowPort) {
		port := strconv.Itoa(lowPort + rand.IntN(highPort-lowPort))
		if !reserve(t, port) {
			continue
		}
		ln, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		return "127.0.0.1:" + port
	}
	t.Fatalf("no free port from %d to %d", lowPort, highPort)
	return ""
}

// reserve locks a file for a port until the test ends. Its lock goes with the
// process at the latest.
func reserve(t *testing.T, port string) bool {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "docket-e2e-ports")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, port), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return false
	}
	t.Cleanup(func() { f.Close() })
	return true
}
