package fieldcases

import (
	"strings"
	"sync"

	"docket/internal/upstreamtest"
)

// caseHeader names the feed that a call gets as its answer.
const caseHeader = "X-Field-Case"

// script is what the upstream answers, by the value of caseHeader. Calls
// without the header are those of cases that bring whole requests: they run one
// at a time, under the empty name.
type script struct {
	mu   sync.Mutex // guards what follows
	acts map[string]*act
}

// act is one answer, and what came of it.
type act struct {
	answer func(*upstreamtest.Conn) (goOn bool)
	ended  chan struct{} // closed when the answer was given

	mu       sync.Mutex
	requests []upstreamtest.Request // guarded by mu
}

func (s *script) init() { s.acts = map[string]*act{} }

// add sets the answer to the calls of that name.
func (s *script) add(name string, answer func(*upstreamtest.Conn) bool) *act {
	a := &act{answer: answer, ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acts[name] = a
	return a
}

// serve answers the calls of one connection.
func (s *script) serve(c *upstreamtest.Conn) {
	for {
		r, err := c.ReadRequest()
		if err != nil {
			return
		}
		s.mu.Lock()
		a := s.acts[strings.Join(r.Values(caseHeader), "")]
		s.mu.Unlock()
		if a == nil {
			return
		}
		a.mu.Lock()
		a.requests = append(a.requests, r)
		first := len(a.requests) == 1
		a.mu.Unlock()
		goOn := a.answer(c)
		if first {
			close(a.ended)
		}
		if !goOn {
			return
		}
	}
}

// seen are the requests so far.
func (a *act) seen() []upstreamtest.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]upstreamtest.Request(nil), a.requests...)
}

// answer plays a feed.
func (f feed) answer(c *upstreamtest.Conn) bool {
	for _, p := range f.parts {
		if c.Send(p) != nil {
			return false
		}
	}
	if f.hold {
		c.AwaitClose()
		return false
	}
	return !f.close
}
