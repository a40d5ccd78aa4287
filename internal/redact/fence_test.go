package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFaultDropsTheText: where a detector has a fault, nothing of the text is
// kept, and nothing else fails.
func TestFaultDropsTheText(t *testing.T) {
	broken := &Filter{patterns: []*rule{{label: "x", find: func(s string, _ []span) []span { return []span{{0, len(s[:len(s)+1])}} }}}}
	marks := Marks{}
	got := broken.Body([]byte(`{"a":"some text"}`), false, marks)
	if diff := cmp.Diff(Body{Changed: true, Dropped: true}, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if got := broken.Text("some text", marks); got != "[redacted:undecoded]" {
		t.Errorf("text: %q", got)
	}
	a, b := "some", "text"
	if !broken.Pieces([]*string{&a, &b}, marks) || a != "[redacted:undecoded]" || b != "" {
		t.Errorf("pieces: %q, %q", a, b)
	}
	if diff := cmp.Diff(Marks{"undecoded": 3}, marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}
