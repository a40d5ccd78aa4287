package spool_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"docket/internal/record"
	"docket/internal/spool"
)

// childAppends is the child process of TestKill: it appends from many
// goroutines for ever and prints the position and checksum of every record
// whose append returned.
func childAppends(dir string) {
	s, err := spool.Open(small(dir), spool.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var mu sync.Mutex
	for w := range 8 {
		go func() {
			rng := rand.New(rand.NewPCG(uint64(w), uint64(os.Getpid())))
			for {
				data := make([]byte, rng.IntN(3*spool.CopyLimit))
				for i := range data {
					data[i] = byte(rng.Uint32())
				}
				pos, err := s.Append(context.Background(), byte(w), data)
				mu.Lock()
				if err != nil {
					fmt.Println(err)
				} else {
					fmt.Println(pos, w, crc32.ChecksumIEEE(data))
				}
				mu.Unlock()
			}
		}()
	}
	select {}
}

func TestKill(t *testing.T) {
	dir := t.TempDir()
	want := map[string]string{}
	for round := range 6 {
		lines := 50 + 150*round
		for _, line := range runAndKill(t, dir, lines) {
			pos, rest, ok := strings.Cut(line, " ")
			if !ok || want[pos] != "" {
				t.Fatalf("child printed %q, before %q", line, want[pos])
			}
			want[pos] = rest
		}
		s := open(t, small(dir))
		entries, positions, corrupt := readAll(t, s, record.Position{})
		if len(corrupt) > 0 {
			t.Errorf("corrupt after kill: %v", corrupt)
		}
		got := map[string]string{}
		for i, e := range entries {
			got[positions[i].String()] = fmt.Sprint(e.Kind, " ", crc32.ChecksumIEEE([]byte(e.Data)))
		}
		for pos, w := range want {
			if got[pos] != w {
				t.Errorf("record at %s: got %q, want %q", pos, got[pos], w)
			}
		}
		t.Logf("round %d: %d appends returned, %d records read, %d torn bytes", round, len(want), len(got), s.Stats().Torn)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// runAndKill runs a child until it has printed that many lines, kills it with
// SIGKILL, and returns all whole lines.
func runAndKill(t *testing.T, dir string, lines int) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SPOOL_TEST_CHILD="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var printed []string
	scan := bufio.NewScanner(out)
	scan.Split(wholeLines)
	for scan.Scan() {
		printed = append(printed, scan.Text())
		if len(printed) == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // killed
	if len(printed) < lines {
		t.Fatalf("child ended early: %q", printed)
	}
	return printed
}

// wholeLines is bufio.ScanLines without a last line that has no end.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}
