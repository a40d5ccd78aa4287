package evaluate

import "time"

// seen remembers which candidates were decided lately, so that looking again
// decides nothing twice. It is used by one goroutine.
type seen struct {
	ids   map[string]time.Time
	queue []place // in the order of adding
}

func newSeen() *seen { return &seen{ids: make(map[string]time.Time)} }

// add notes a candidate, and says whether it is new.
func (s *seen) add(p place) bool {
	if _, ok := s.ids[p.id]; ok {
		return false
	}
	s.ids[p.id] = p.at
	s.queue = append(s.queue, p)
	return true
}

// forget drops what was inserted before t. A straggler that was added late sits
// behind younger ones, and is dropped with them.
func (s *seen) forget(t time.Time) {
	n := 0
	for n < len(s.queue) && s.queue[n].at.Before(t) {
		delete(s.ids, s.queue[n].id)
		n++
	}
	s.queue = s.queue[n:] // the next growth of the queue leaves behind what is before it
}
