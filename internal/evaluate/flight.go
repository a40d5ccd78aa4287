package evaluate

import "sync"

// flightKey is what must not be judged twice at the same time.
type flightKey struct{ rubric, inference string }

func (u unit) key() flightKey { return flightKey{u.rule.Rubric, u.candidate.InferenceID} }

// flight knows what is being judged, from when it was chosen until its verdicts
// are written.
type flight struct {
	mu   sync.Mutex
	open map[flightKey]bool
}

func newFlight() *flight { return &flight{open: make(map[flightKey]bool)} }

// begin says whether k was free, and takes it.
func (f *flight) begin(k flightKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[k] {
		return false
	}
	f.open[k] = true
	return true
}

func (f *flight) done(k flightKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, k)
}
