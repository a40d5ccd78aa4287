package judge

import (
	"context"
	"math"
	"sync"
	"time"

	"docket/internal/record"
)

// budget holds rubrics to their ceilings of calls and cost per day (UTC). What
// is not known counts as used up.
type budget struct {
	now   func() time.Time
	spent func(context.Context, string, time.Time) (int, uint64, error)

	mu   sync.Mutex // guards days; also held while spent is asked, once per rubric and day
	days map[string]*usage
}

type usage struct {
	day   time.Time
	calls int
	nano  uint64 // spent, with reservations of calls under way
}

func newBudget(o Options) *budget {
	return &budget{now: o.Now, spent: o.Spent, days: map[string]*usage{}}
}

// reserve takes one call out of the rubric's budget, or says why not. done
// settles it when the cost is known.
func (b *budget) reserve(ctx context.Context, p *prepared, c *call) (done func(cost *uint64), fail *callError) {
	r := p.rubric
	if r.MaxCallsPerDay == 0 && r.MaxUSDPerDay == 0 || c.member.profile.format == formatRule {
		return func(*uint64) {}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	u, err := b.today(ctx, p.name)
	if err != nil {
		return nil, &callError{record.ReasonOverBudget, "what the rubric spent today is not known: " + err.Error()}
	}
	ceiling := uint64(math.Round(r.MaxUSDPerDay * 1e9))
	guess := estimate(c)
	switch {
	case r.MaxCallsPerDay > 0 && u.calls >= r.MaxCallsPerDay:
		return nil, &callError{record.ReasonOverBudget, "the rubric's calls of today are used up"}
	case ceiling > 0 && u.nano+guess > ceiling:
		return nil, &callError{record.ReasonOverBudget, "the rubric's cost of today is used up"}
	}
	u.calls++
	u.nano += guess
	return func(cost *uint64) {
		b.mu.Lock()
		defer b.mu.Unlock()
		u.nano = u.nano - guess + deref(cost, guess)
	}, nil
}

func (b *budget) today(ctx context.Context, rubric string) (*usage, error) {
	day := b.now().UTC().Truncate(24 * time.Hour)
	if u, ok := b.days[rubric]; ok && u.day.Equal(day) {
		return u, nil
	}
	u := &usage{day: day}
	if b.spent != nil {
		var err error
		if u.calls, u.nano, err = b.spent(ctx, rubric, day); err != nil {
			return nil, err
		}
	}
	b.days[rubric] = u
	return u, nil
}

// estimate is what a call will cost at most, from its size: three bytes for a
// token is on the safe side for most texts.
func estimate(c *call) uint64 {
	if c.member.config.InputUSD == nil {
		return 0
	}
	tokens := float64(len(encode(c.shown.state))+textLen(c.questions)) / 3
	return uint64(tokens * *c.member.config.InputUSD * 1000)
}
