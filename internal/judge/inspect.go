package judge

import (
	"context"
	"fmt"
	"strings"
)

// Asked is how one criterion would be put to the rubric's judge.
type Asked struct {
	Criterion   string
	Version     string
	JudgeConfig string
	Backend     string
	Model       string // as configured
	Question    string // "" for what a program decides
	YesWhen     string
	NoWhen      string
}

// CriterionNames lists the names of the rubric's criteria in their order.
func (r Rubric) CriterionNames() []string {
	var out []string
	for _, c := range r.Criteria {
		out = append(out, c.key())
	}
	return out
}

// Asked returns how the criteria are put today, in their order. It asks nobody.
func (j *Judge) Asked(rubric string, u Unit) ([]Asked, error) {
	p, ok := j.rubrics[rubric]
	if !ok {
		return nil, fmt.Errorf("rubric %q: want one of %s", rubric, strings.Join(j.Rubrics(), ", "))
	}
	r := newRun(j, p, &u)
	var out []Asked
	for _, c := range p.criteria(u) {
		m := p.memberOf(c)
		a := Asked{Criterion: c.key(), Version: criterionVersion(c), JudgeConfig: p.judgeConfig(m, c), Backend: ruleName}
		if m != nil {
			a.Backend, a.Model = m.name, p.model(m)
			ask := &call{member: m, questions: []question{{criterion: c, purpose: purposeCriterion}}}
			// What is too long to be shown has no wording of its own; the question
			// is the same.
			_ = r.show(ask)
			q := ask.questions[0]
			a.Question, a.YesWhen, a.NoWhen = q.text, q.yesWhen, q.noWhen
		}
		out = append(out, a)
	}
	return out, nil
}

// Estimate is what judging a unit would send, before any answer is known.
type Estimate struct {
	Requests    int
	Bytes       int
	InputTokens uint64  // at most: three bytes a token
	CostNanoUSD *uint64 // of the input, nil when the backend has no price
}

// Estimate reckons with the requests of DryRun. It sends nothing; output tokens
// and retries come on top.
func (j *Judge) Estimate(ctx context.Context, rubric string, u Unit) (Estimate, error) {
	requests, err := j.DryRun(ctx, rubric, u)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Requests: len(requests)}
	for _, r := range requests {
		e.Bytes += len(r.Body)
	}
	e.InputTokens = uint64(e.Bytes+2) / 3
	if price := j.rubrics[rubric].chain[0].config.InputUSD; price != nil {
		nano := uint64(float64(e.InputTokens) * *price * 1000)
		e.CostNanoUSD = &nano
	}
	return e, nil
}
