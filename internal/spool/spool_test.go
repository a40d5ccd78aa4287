package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/leaktest"
	"docket/internal/record"
	"docket/internal/spool"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SPOOL_TEST_CHILD"); dir != "" {
		childAppends(dir)
		return
	}
	leaktest.Main(m)
}

// small is a configuration with small segments.
func small(dir string) spool.Config {
	c := spool.DefaultConfig()
	c.Dir = dir
	c.SegmentBytes = 64 * record.KiB
	c.MaxBytes = 64 * record.MiB
	c.MinFree = 0
	c.MaxWait = time.Minute // a busy machine is not a stalled disk
	return c
}

func open(t testing.TB, c spool.Config) *spool.Spool {
	t.Helper()
	s, err := spool.Open(c, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, spool.ErrClosed) {
			t.Error(err)
		}
	})
	return s
}

func appendOne(t testing.TB, s *spool.Spool, kind byte, parts ...string) record.Position {
	t.Helper()
	var bs [][]byte
	for _, p := range parts {
		bs = append(bs, []byte(p))
	}
	pos, err := s.Append(t.Context(), kind, bs...)
	if err != nil {
		t.Fatal(err)
	}
	return pos
}

// entry is a record as a test compares it.
type entry struct {
	Kind byte
	Data string
}

// readAll reads the records from pos to the last one there is.
func readAll(t testing.TB, s *spool.Spool, pos record.Position) (entries []entry, positions []record.Position, corrupt []*spool.CorruptError) {
	t.Helper()
	r, err := s.Reader(pos)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	last := appendOne(t, s, 255, "the end")
	for {
		rec, err := r.Next(t.Context())
		var c *spool.CorruptError
		switch {
		case errors.As(err, &c):
			corrupt = append(corrupt, c)
			continue
		case err != nil:
			t.Fatal(err)
		case rec.Pos == last:
			return entries, positions, corrupt
		}
		if rec.Kind != 255 {
			entries = append(entries, entry{rec.Kind, string(rec.Data)})
			positions = append(positions, rec.Pos)
		}
	}
}

func TestAppendAndReadAcrossSegments(t *testing.T) {
	s := open(t, small(t.TempDir()))
	var want []entry
	var at []record.Position
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		data := strings.Repeat(string(rune('a'+i%26)), rng.IntN(40_000))
		want = append(want, entry{byte(i % 7), "head" + data})
		at = append(at, appendOne(t, s, byte(i%7), "head", data))
	}
	got, positions, corrupt := readAll(t, s, record.Position{})
	if diff := cmp.Diff(want, got); diff != "" || len(corrupt) > 0 {
		t.Fatalf("records (-want +got):\n%s\ncorrupt: %v", diff, corrupt)
	}
	if diff := cmp.Diff(at, positions); diff != "" {
		t.Errorf("positions (-want +got):\n%s", diff)
	}
	for i, pos := range at {
		rec, err := s.ReadAt(pos)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], entry{rec.Kind, string(rec.Data)}); diff != "" {
			t.Errorf("ReadAt(%v) (-want +got):\n%s", pos, diff)
		}
	}
	if st := s.Stats(); st.Segments < 50 || st.Appends != 301 {
		t.Errorf("stats %+v", st)
	}
}

func TestReadersFollowConcurrentAppends(t *testing.T) {
	s := open(t, small(t.TempDir()))
	const writers, each = 8, 400
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				size := (i * 37) % 3000
				if i%50 == 0 {
					size = 30_000
				}
				data := append(fmt.Appendf(nil, "%d %d ", w, i), bytes.Repeat([]byte{'x'}, size)...)
				if _, err := s.Append(context.Background(), 1, data); err != nil {
					t.Error(err)
				}
				clear(data) // the caller may use it again
			}
		})
	}
	var mu sync.Mutex
	var reached [2]record.Position
	for n := range reached {
		wg.Go(func() {
			r, err := s.Reader(record.Position{})
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			next := [writers]int{}
			for range writers * each {
				rec, err := r.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				var w, i int
				if _, err := fmt.Sscanf(string(rec.Data[:min(20, len(rec.Data))]), "%d %d ", &w, &i); err != nil || next[w] != i {
					t.Errorf("writer %d: record %d, want %d (%v)", w, i, next[w], err)
					return
				}
				next[w]++
				if i%100 == 99 {
					mu.Lock()
					reached[n] = rec.End
					both := slices.MinFunc(reached[:], record.Position.Compare)
					if err := s.Ack(both, both); err != nil {
						t.Error(err)
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
}

func TestNextWaits(t *testing.T) {
	s := open(t, small(t.TempDir()))
	r, err := s.Reader(record.Position{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next on an empty spool: %v", err)
	}
	got := make(chan string)
	go func() {
		rec, err := r.Next(context.Background())
		got <- fmt.Sprint(string(rec.Data), err)
		_, err = r.Next(context.Background())
		got <- fmt.Sprint(err)
	}()
	appendOne(t, s, 1, "one")
	if g := <-got; g != "one<nil>" {
		t.Error(g)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if g := <-got; g != spool.ErrClosed.Error() {
		t.Error(g)
	}
}

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, small(dir))
	appendOne(t, s, 1, "x")
	for _, err := range []error{s.SaveMeta("edges", []byte("1")), s.Quarantine("row", []byte("1")), s.Ack(record.Position{}, record.Position{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %v, want %v", path, got, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
