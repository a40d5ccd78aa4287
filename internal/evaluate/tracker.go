package evaluate

import (
	"container/heap"
	"sync"
	"time"
)

// place is where a candidate stands in the order of reading.
type place struct {
	at time.Time
	id string
}

func (p place) before(q place) bool {
	if !p.at.Equal(q.at) {
		return p.at.Before(q.at)
	}
	return p.id < q.id
}

// tracker knows up to where everything is done, while candidates are finished
// in any order.
type tracker struct {
	mu   sync.Mutex
	high place         // the last place that was read
	open map[place]int // units at this place that are not written yet
	heap placeHeap     // the keys of open, and some that are done
}

func newTracker(start place) *tracker {
	return &tracker{high: start, open: make(map[place]int)}
}

// begin notes one more unit at p.
func (t *tracker) begin(p place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[p]++; t.open[p] == 1 {
		heap.Push(&t.heap, p)
	}
}

// done notes that a unit of p is written.
func (t *tracker) done(p place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[p]--; t.open[p] <= 0 {
		delete(t.open, p)
	}
}

// read notes that everything up to p has been read.
func (t *tracker) read(p place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.high.before(p) {
		t.high = p
	}
}

// last is the last place that was read.
func (t *tracker) last() place {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.high
}

// low is the last place before which nothing is open, and how many places are.
func (t *tracker) low() (place, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.heap) > 0 {
		first := t.heap[0]
		if t.open[first] == 0 {
			heap.Pop(&t.heap)
			continue
		}
		if t.high.before(first) {
			break
		}
		return place{at: first.at.Add(-time.Microsecond)}, len(t.open)
	}
	return t.high, len(t.open)
}

type placeHeap []place

func (h placeHeap) Len() int           { return len(h) }
func (h placeHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h placeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *placeHeap) Push(x any)        { *h = append(*h, x.(place)) }
func (h *placeHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
