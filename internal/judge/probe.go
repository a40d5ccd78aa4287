package judge

import (
	"context"
	"maps"
	"slices"
	"time"

	"docket/internal/record"
)

// probeTimeout bounds the question to one model.
const probeTimeout = 15 * time.Second

// Probe asks the models of chat backends that choose their method themselves
// one harmless question each, so that it is known and logged at the start
// whether they give log-probabilities. The answer is remembered per backend and
// model as one of a real call is. A model that cannot be reached now is asked
// when there is something to judge.
func (j *Judge) Probe(ctx context.Context) {
	type target struct {
		chat  *chat
		model string
	}
	done := map[target]bool{}
	for _, name := range slices.Sorted(maps.Keys(j.rubrics)) {
		p := j.rubrics[name]
		for _, m := range p.chain {
			c, ok := m.backend.(*chat)
			t := target{c, p.model(m)}
			if !ok || done[t] || c.config.Method == record.MethodLogprobs || !c.useLogprobs(t.model) {
				continue
			}
			done[t] = true
			method, err := c.probe(ctx, t.model)
			if err != nil {
				j.options.Log.Warn("the judge does not answer yet", "backend", m.name, "model", t.model, "reason", err.reason, "error", err.message)
				continue
			}
			j.options.Log.Info("the judge answers", "backend", m.name, "model", t.model, "method", method)
		}
	}
}

// probe says by which method a model answers.
func (c *chat) probe(ctx context.Context, model string) (method string, err *callError) {
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, c.config.Timeout))
	defer cancel()
	q := question{
		purpose: purposeCriterion, criterion: Criterion{Text: "The reply is written in words."},
		yesWhen: "it is made of words", noWhen: "it is not",
	}
	s := &session{chat: c, question: q, request: request{
		model: model, questions: []question{q},
		shown: shown{state: state{UserMessage: "Are you there?", Response: "I am here."}},
	}}
	out, have := s.logprobs(ctx)
	switch {
	case out.err != nil:
		return "", out.err
	case have:
		return record.MethodLogprobs, nil
	}
	c.learn(model, func(a *ability) { a.noLogprobsUntil = c.transport.now().Add(probeAgain) })
	return record.MethodStructured, nil
}
