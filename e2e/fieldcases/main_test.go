package fieldcases

import (
	"testing"

	"docket/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// TestFieldCases runs all cases with one store. What passes the proxy once comes
// first, in all its feeds; then the scenarios, most of them at the same time.
func TestFieldCases(t *testing.T) {
	s := newSuite(t)
	var plays []*play
	var scenarios []fieldCase
	for _, c := range readCases(t) {
		if c.format() == "scenario" {
			scenarios = append(scenarios, c)
			continue
		}
		for _, f := range c.feeds(t) {
			plays = append(plays, s.play(t, c, f))
		}
	}
	s.collect(t, plays)
	for _, p := range plays {
		t.Run(p.c.id()+"/"+p.feed.name, func(t *testing.T) { p.check(t, s) })
	}
	t.Run("conversation over two proxies", s.conversation)
	for _, c := range scenarios {
		t.Run(c.id(), func(t *testing.T) { s.scenario(t, c) })
	}
}
