package evaluate

import (
	"sync"
	"time"

	"docket/internal/record"
	"docket/internal/sampling"
)

// epochLength is the period that one epoch row covers.
const epochLength = time.Minute

type epochKey struct {
	period    time.Time
	project   string
	rule      string
	stratum   string
	reason    string
	threshold uint64
}

// epochs counts what the rules did with the candidates, until it is taken to be
// written.
type epochs struct {
	instance string

	mu     sync.Mutex
	counts map[epochKey]uint64
}

func newEpochs(instance string) *epochs {
	return &epochs{instance: instance, counts: make(map[epochKey]uint64)}
}

func (e *epochs) add(c record.Candidate, rule sampling.Rule, reason string, threshold uint64) {
	stratum := c.Stratum
	if rule.AboutFeedback() {
		stratum = record.StratumFeedback
	}
	k := epochKey{c.Time.UTC().Truncate(epochLength), c.Project, rule.Name, stratum, reason, threshold}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts[k]++
}

// take returns the counts since the last take.
func (e *epochs) take() []record.Epoch {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]record.Epoch, 0, len(e.counts))
	for k, n := range e.counts {
		out = append(out, record.Epoch{
			Time: k.period, Instance: e.instance, Project: k.project, Rule: k.rule, Stratum: k.stratum,
			Reason: k.reason, Threshold: k.threshold, Count: n,
		})
	}
	clear(e.counts)
	return out
}

// giveBack returns counts that could not be written.
func (e *epochs) giveBack(rows []record.Epoch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range rows {
		e.counts[epochKey{r.Time, r.Project, r.Rule, r.Stratum, r.Reason, r.Threshold}] += r.Count
	}
}
