package evaluate

import "time"

// seen remembers which candidates were decided lately, so that looking again
// decides nothing twice. It is used by one goroutine.
type seen struct {
	ids   map[seenKey]bool
	queue []seenAt // in the order of adding
}

// seenKey is an inference, and the version of feedback that made it a candidate
// again: the time tells versions apart.
type seenKey struct {
	inference, feedback string
	version             time.Time
}

type seenAt struct {
	key seenKey
	at  time.Time
}

func newSeen() *seen { return &seen{ids: make(map[seenKey]bool)} }

// add notes a candidate, and says whether it is new. feedback is "" for one that
// capture made.
func (s *seen) add(p place, feedback string) bool {
	k := seenKey{inference: p.id, feedback: feedback}
	if feedback != "" {
		k.version = p.at
	}
	if s.ids[k] {
		return false
	}
	s.ids[k] = true
	s.queue = append(s.queue, seenAt{k, p.at})
	return true
}

// forget drops what was inserted before t. A straggler that was added late sits
// behind younger ones, and is dropped with them.
func (s *seen) forget(t time.Time) {
	n := 0
	for n < len(s.queue) && s.queue[n].at.Before(t) {
		delete(s.ids, s.queue[n].key)
		n++
	}
	s.queue = s.queue[n:] // the next growth of the queue leaves behind what is before it
}
