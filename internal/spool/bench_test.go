package spool_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"docket/internal/record"
	"docket/internal/spool"
)

// cpuTime is what this process has used, user and system.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkAppend appends from some goroutines at once. Beside the time it
// reports the CPU time and the tail of the waits.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{2 << 10, 1 << 20} {
		for _, goroutines := range []int{1, 32} {
			for _, mode := range []string{spool.SyncInterval, spool.SyncAlways} {
				b.Run(fmt.Sprintf("size=%v/goroutines=%d/sync=%s", record.ByteSize(size), goroutines, mode), func(b *testing.B) {
					c := spool.DefaultConfig()
					c.Dir = b.TempDir()
					c.MaxWait = time.Minute
					c.Sync = mode
					benchmarkAppend(b, c, goroutines, size)
				})
			}
		}
	}
}

func benchmarkAppend(b *testing.B, c spool.Config, goroutines, size int) {
	s := open(b, c)
	head, data := make([]byte, 200), make([]byte, size-200)
	waits := make([][]time.Duration, goroutines)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var wg sync.WaitGroup
	before := cpuTime(b)
	b.ResetTimer()
	for g := range goroutines {
		n := b.N / goroutines
		if g == 0 {
			n += b.N % goroutines
		}
		waits[g] = make([]time.Duration, 0, n)
		wg.Go(func() {
			written := 0
			for range n {
				start := time.Now()
				pos, err := s.Append(b.Context(), 1, head, data)
				if err != nil {
					b.Error(err)
					return
				}
				waits[g] = append(waits[g], time.Since(start))
				if written += size; g == 0 && written > 64<<20/goroutines {
					written = 0
					if err := s.Ack(pos, pos); err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
	reportWaits(b, slices.Concat(waits...))
}

// BenchmarkAppendPaced shows the waits of appends at a pace of 4,000 a second
// while a drainer acknowledges, five times a second.
func BenchmarkAppendPaced(b *testing.B) {
	c := spool.DefaultConfig()
	c.Dir = b.TempDir()
	c.MaxWait = time.Minute
	s := open(b, c)
	data := make([]byte, 2<<10)
	waits := make([]time.Duration, 0, b.N)
	var drainer sync.WaitGroup
	b.ResetTimer()
	start := time.Now()
	for i := range b.N {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / 4000)))
		before := time.Now()
		pos, err := s.Append(b.Context(), 1, data)
		if err != nil {
			b.Fatal(err)
		}
		waits = append(waits, time.Since(before))
		if i%800 == 0 {
			drainer.Wait()
			drainer.Go(func() {
				if err := errors.Join(s.SaveMeta("edges", data[:100]), s.Ack(pos, pos)); err != nil {
					b.Error(err)
				}
			})
		}
	}
	drainer.Wait()
	reportWaits(b, waits)
}

// reportWaits reports the tail of the waits.
func reportWaits(b *testing.B, waits []time.Duration) {
	slices.Sort(waits)
	for name, p := range map[string]float64{"p50-µs": .5, "p99-µs": .99, "p99.9-µs": .999, "max-µs": 1} {
		b.ReportMetric(float64(waits[int(p*float64(len(waits)-1))].Nanoseconds())/1000, name)
	}
}

// BenchmarkRead reads 2 KB records through a Reader.
func BenchmarkRead(b *testing.B) {
	c := spool.DefaultConfig()
	c.Dir = b.TempDir()
	s := open(b, c)
	const n = 10_000
	data := make([]byte, 2<<10)
	for range n {
		if _, err := s.Append(b.Context(), 1, data); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; left -= n {
		r, err := s.Reader(record.Position{})
		if err != nil {
			b.Fatal(err)
		}
		for range min(left, n) {
			if _, err := r.Next(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
