package spool_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"docket/internal/record"
	"docket/internal/spool"
)

// torture appends from several goroutines to a disk that stalls, fills up and
// breaks at random, restarts now and then, and keeps account of every record.
type torture struct {
	t    *testing.T
	rng  *rand.Rand
	disk *disk
	cfg  spool.Config
	s    *spool.Spool

	mu      sync.Mutex
	next    int
	written map[int]record.Position
	stalled map[int]bool
	failed  map[int]bool
	lost    int
	owned   map[int]int // appending goroutine of a record
}

func TestTorture(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &torture{
					t: t, rng: rand.New(rand.NewPCG(seed, 1)), disk: newDisk(), cfg: stalling(t),
					written: map[int]record.Position{}, stalled: map[int]bool{}, failed: map[int]bool{}, owned: map[int]int{},
				}
				x.cfg.SegmentBytes = 128 * record.KiB
				x.cfg.QueueBytes = 200 * record.KiB
				x.open()
				for range 25 {
					x.round()
				}
				x.check()
			})
		})
	}
}

func (x *torture) open() {
	x.s = x.disk.open(x.t, x.cfg, spool.Options{OnLost: func(spool.Loss) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.lost++
	}})
}

// round appends under one randomly chosen trouble.
func (x *torture) round() {
	release := func() {}
	switch x.rng.IntN(5) {
	case 0:
		release = x.disk.stall()
	case 1:
		x.disk.set(func() {
			x.disk.room, x.disk.writeErr = x.rng.Int64N(100_000), []error{syscall.ENOSPC, syscall.EIO}[x.rng.IntN(2)]
		})
	case 2:
		release = x.disk.stall()
		x.disk.set(func() { x.disk.room, x.disk.writeErr = x.rng.Int64N(100_000), syscall.ENOSPC })
	}
	var wg sync.WaitGroup
	for g := range 1 + x.rng.IntN(6) {
		sizes := make([]int, x.rng.IntN(6))
		for i := range sizes {
			sizes[i] = x.rng.IntN([]int{100, 2 * spool.CopyLimit, 60_000}[x.rng.IntN(3)])
		}
		wg.Go(func() { x.append(g, sizes) })
	}
	time.Sleep(time.Duration(x.rng.IntN(60)) * time.Millisecond)
	release()
	wg.Wait()
	synctest.Wait()
	x.disk.set(func() { x.disk.room = -1 })
	if x.rng.IntN(5) == 0 {
		if err := x.s.Close(); err != nil {
			x.t.Error(err)
		}
		x.open()
	}
}

// append appends records that name themselves.
func (x *torture) append(goroutine int, sizes []int) {
	for _, size := range sizes {
		x.mu.Lock()
		id := x.next
		x.next++
		x.owned[id] = goroutine
		x.mu.Unlock()
		data := append(fmt.Appendf(nil, "%d ", id), bytes.Repeat([]byte{byte(id)}, size)...)
		pos, err := x.s.Append(x.t.Context(), 1, data[:1], data[1:])
		clear(data)
		var e *spool.AppendError
		x.mu.Lock()
		switch {
		case err == nil:
			x.written[id] = pos
		case isStalled(err):
			x.stalled[id] = true
		case errors.As(err, &e):
			x.failed[id] = true
		default:
			x.t.Error(err)
		}
		x.mu.Unlock()
	}
}

// check reads everything back and compares it with the account.
func (x *torture) check() {
	entries, positions, corrupt := readAll(x.t, x.s, record.Position{})
	seen := map[int]bool{}
	latest := map[int]int{} // by goroutine
	for i, e := range entries {
		var id int
		if _, err := fmt.Sscanf(e.Data[:min(10, len(e.Data))], "%d ", &id); err != nil {
			x.t.Fatalf("record at %v is not ours: %.20q", positions[i], e.Data)
		}
		head := len(fmt.Sprint(id)) + 1
		if rest := e.Data[head:]; rest != string(bytes.Repeat([]byte{byte(id)}, len(rest))) {
			x.t.Errorf("record %d at %v has other bytes", id, positions[i])
		}
		pos, ok := x.written[id]
		if seen[id] || x.failed[id] || ok && pos != positions[i] {
			x.t.Errorf("record %d at %v: seen before %v, failed %v, returned %v", id, positions[i], seen[id], x.failed[id], pos)
		}
		if g := x.owned[id]; id < latest[g] {
			x.t.Errorf("record %d comes after %d of the same goroutine", id, latest[g])
		} else {
			latest[g] = id
		}
		seen[id] = true
	}
	lost := 0
	for id := range x.next {
		switch _, ok := x.written[id]; {
		case ok && !seen[id]:
			x.t.Errorf("record %d at %v is gone", id, x.written[id])
		case x.stalled[id] && !seen[id]:
			lost++
		}
	}
	if lost != x.lost || len(corrupt) > 0 {
		x.t.Errorf("%d records lost after a stall, %d reported; corrupt: %v", lost, x.lost, corrupt)
	}
}
