package judge

import "context"

// explainFailures asks a chat judge for one sentence about each criterion that
// failed without one. It changes no outcome and no probability.
func (r *run) explainFailures(ctx context.Context) {
	m := r.p.reasons
	b, ok := m.backend.(*chat)
	if !ok {
		return
	}
	for _, i := range explainable(r.results) {
		res := &r.results[i]
		if res.criterion.Check != nil {
			continue
		}
		c := &call{member: m, questions: []question{{criterion: res.criterion, purpose: purposeCriterion}}, model: m.config.Model}
		if r.show(c) != nil {
			continue
		}
		done, fail := r.j.budget.reserve(ctx, r.p, c)
		if fail != nil {
			return
		}
		r.name(c)
		r.calls = append(r.calls, c)
		explain := &member{name: m.name, config: m.config, profile: m.profile, backend: explainer{b}, slots: m.slots, limit: m.limit}
		c.reply = explain.ask(withTraceParent(ctx, r.traceID, c.spanID), r.j.options.Now, request{
			shown: c.shown, questions: c.questions, model: c.model, system: r.p.rubric.System, user: r.p.rubric.User,
		})
		c.cost = cost(m.config, c.reply)
		done(c.cost)
		r.j.meter.asked(c)
		if detail := c.reply.answers[0].detail; c.reply.err == nil && detail != "" {
			res.detail = detail
			res.flags = append(res.flags, FlagReasonAfter)
		}
	}
}
