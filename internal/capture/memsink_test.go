package capture_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
)

// memSink stores batches as the store does: a token that was seen before
// changes nothing. The same token with other rows fails the test, since a real
// store would lose rows silently.
type memSink struct {
	t *testing.T

	mu      sync.Mutex
	tokens  map[string]record.Batch
	order   []string
	rows    []record.Inference
	bodies  map[string]record.Body
	spans   []record.Span
	gaps    []record.Gap
	writes  int
	before  func(n int, b record.Batch) error // fails a write before it is stored
	after   func(n int, b record.Batch) error // fails it afterwards
	stored  chan struct{}
	blocked chan struct{} // while not nil, writes wait for it or their context
}

func newMemSink(t *testing.T) *memSink {
	return &memSink{t: t, tokens: map[string]record.Batch{}, bodies: map[string]record.Body{}, stored: make(chan struct{}, 1)}
}

var errSink = errors.New("sink is down")

type refusedError struct{ row string }

func (e refusedError) Error() string { return "refused: " + e.row }
func (e refusedError) Refused() bool { return true }

func (s *memSink) Write(ctx context.Context, b record.Batch) error {
	s.mu.Lock()
	blocked := s.blocked
	s.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.before != nil {
		if err := s.before(s.writes, b); err != nil {
			return err
		}
	}
	s.storeLocked(b)
	if s.after != nil {
		if err := s.after(s.writes, b); err != nil {
			return err
		}
	}
	select {
	case s.stored <- struct{}{}:
	default:
	}
	return nil
}

func (s *memSink) storeLocked(b record.Batch) {
	b.Resend = false
	if old, ok := s.tokens[b.Token]; ok {
		if diff := cmp.Diff(old, b); diff != "" {
			s.t.Errorf("token %s came again with other rows:\n%s", b.Token, diff)
		}
		return
	}
	s.tokens[b.Token] = b
	s.order = append(s.order, b.Token)
	if b.Piece { // what is stored under another token stays out
		b.Inferences = slices.DeleteFunc(slices.Clone(b.Inferences), func(r record.Inference) bool {
			return slices.ContainsFunc(s.rows, func(old record.Inference) bool { return old.ID == r.ID })
		})
		b.Spans = slices.DeleteFunc(slices.Clone(b.Spans), func(r record.Span) bool {
			return slices.ContainsFunc(s.spans, func(old record.Span) bool {
				return old.SpanID == r.SpanID && old.Attributes[record.AttrInferenceID] == r.Attributes[record.AttrInferenceID]
			})
		})
	}
	s.rows = append(s.rows, b.Inferences...)
	for _, body := range b.Bodies {
		s.bodies[body.InferenceID] = body
	}
	s.spans = append(s.spans, b.Spans...)
	s.gaps = append(s.gaps, b.Gaps...)
}

// states returns the terminal state of each row, and fails on a double.
func (s *memSink) states() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for _, r := range s.rows {
		if _, ok := out[r.ID]; ok {
			s.t.Errorf("inference %s is stored twice", r.ID)
		}
		out[r.ID] = r.TerminalState
	}
	return out
}

func (s *memSink) only() (record.Inference, record.Body) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rows) != 1 {
		s.t.Fatalf("%d rows stored, want 1", len(s.rows))
	}
	return s.rows[0], s.bodies[s.rows[0].ID]
}

func (s *memSink) gapCounts() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]uint64{}
	for _, g := range s.gaps {
		out[g.Reason] += g.Count
	}
	return out
}

// everything prints all that is stored, to look for secrets in.
func (s *memSink) everything() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, r := range s.rows {
		fmt.Fprintf(&b, "%+v\n", r)
	}
	for _, body := range s.bodies {
		fmt.Fprintf(&b, "%+v %s %s\n", body, body.Request, body.Response)
	}
	fmt.Fprintf(&b, "%+v\n%+v\n%v\n", s.spans, s.gaps, slices.Clone(s.order))
	return b.String()
}
