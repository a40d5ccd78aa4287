package judge

import (
	"context"

	"docket/internal/record"
)

// static gives fixed answers and asks nobody.
type static struct{ config StaticConfig }

func newStatic(c BackendConfig, _ profile, _ *transport) (backend, error) {
	return static{config: c.Static}, nil
}

func (s static) ask(_ context.Context, r request) reply {
	out := reply{method: record.MethodStatic, model: "static", attempts: 1}
	for _, q := range r.questions {
		out.answers = append(out.answers, s.answer(q))
	}
	return out
}

func (s static) answer(q question) answer {
	switch q.purpose {
	case purposeApplies:
		return probability(1)
	case purposeCanary:
		return probability(0)
	}
	p, ok := s.config.ByCriterion[q.criterion.key()]
	if !ok && s.config.Probability == nil {
		return unanswered(record.ReasonMissingAnswer, "static has no probability for this criterion")
	}
	if !ok {
		p = *s.config.Probability
	}
	a := probability(p)
	a.detail = s.config.Reason
	return a
}
