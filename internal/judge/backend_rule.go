package judge

import (
	"context"

	"docket/internal/record"
)

// ruleBackend decides criteria with a check. Its probability is 0 or 1.
type ruleBackend struct{}

func (ruleBackend) ask(_ context.Context, r request) reply {
	out := reply{method: record.MethodRule, model: ruleName, attempts: 1}
	for _, q := range r.questions {
		out.answers = append(out.answers, decide(q, r.shown.unit))
	}
	return out
}

func decide(q question, u *Unit) answer {
	check, err := q.criterion.Check.compile()
	if err != nil { // checked at the start; a file's criteria may still differ
		return unanswered(record.ReasonJudgeError, err.Error())
	}
	met, detail := check(u)
	a := probability(0)
	if met {
		a = probability(1)
	}
	a.detail = short(detail)
	return a
}
