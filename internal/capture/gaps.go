package capture

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"docket/internal/record"
)

const (
	maxGapKeys     = 1000 // projects times reasons; a client chooses project names
	otherProjects  = "(others)"
	maxDetailBytes = 512
)

type gapKey struct{ project, reason string }

// gapCounter adds up what could not be kept until it is appended to the spool.
type gapCounter struct {
	mu     sync.Mutex // guards counts
	counts map[gapKey]record.Gap
}

func (g *gapCounter) add(at time.Time, project, reason string, count, bytes uint64, detail string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.addLocked(record.Gap{Time: at, Project: project, Reason: reason, Count: count, Bytes: bytes, Detail: bounded(detail, maxDetailBytes)})
}

func (g *gapCounter) addLocked(n record.Gap) {
	key := gapKey{n.Project, n.Reason}
	old, ok := g.counts[key]
	if !ok && len(g.counts) >= maxGapKeys {
		n.Project = otherProjects
		key.project = otherProjects
		old, ok = g.counts[key]
	}
	if ok {
		n.Time = old.Time
		n.Count += old.Count
		n.Bytes += old.Bytes
		n.Detail = cmp.Or(old.Detail, n.Detail)
	}
	if g.counts == nil {
		g.counts = make(map[gapKey]record.Gap)
	}
	g.counts[key] = n
}

// takeAll returns what was counted, in a fixed order, and starts again at
// nothing.
func (g *gapCounter) takeAll(instance string) []record.Gap {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]record.Gap, 0, len(g.counts))
	for _, n := range g.counts {
		n.Instance = instance
		out = append(out, n)
	}
	g.counts = nil
	slices.SortFunc(out, func(a, b record.Gap) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// putBack returns counts that could not be appended.
func (g *gapCounter) putBack(gaps []record.Gap) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range gaps {
		g.addLocked(n)
	}
}

func encodeGaps(gaps []record.Gap) ([]byte, error) { return json.Marshal(gaps) }

func decodeGaps(data []byte) ([]record.Gap, error) {
	var gaps []record.Gap
	err := json.Unmarshal(data, &gaps)
	return gaps, err
}
