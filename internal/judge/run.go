package judge

import (
	"context"
	"slices"
	"sync"
	"time"

	"docket/internal/record"
)

// run is the judging of one unit by one rubric.
type run struct {
	j       *Judge
	p       *prepared
	unit    *Unit
	id      string
	started time.Time
	traceID string
	spanID  string
	results []result
	canary  *answer
	calls   []*call // those that were made, in order
}

// result is what is known about one criterion.
type result struct {
	criterion Criterion
	answer    answer
	applies   *answer // nil without applies_when
	call      *call   // that answered it, nil when no call was made
	outcome   string
	reason    string
	detail    string
	p         *float64 // as compared and averaged

	raw, calibrated *float64 // before and after the calibration, nil without one
	flags           []string
}

// call is one request to a judge.
type call struct {
	id        string
	spanID    string
	member    *member
	fallback  bool
	started   time.Time
	questions []question
	reply     reply
	shown     shown
	cached    bool
	cost      *uint64
	model     string // asked for
}

func newRun(j *Judge, p *prepared, u *Unit) *run {
	r := &run{
		j: j, p: p, unit: u, id: j.options.NewID(), started: j.options.Now(),
		traceID: hexID(j.options.NewID(), 32), spanID: hexID(j.options.NewID(), 16),
	}
	for _, c := range p.criteria(*u) {
		r.results = append(r.results, result{criterion: c})
	}
	return r
}

func (r *run) criteria() []Criterion {
	out := make([]Criterion, len(r.results))
	for i := range r.results {
		out[i] = r.results[i].criterion
	}
	return out
}

// failAll gives every criterion the same reason.
func (r *run) failAll(reason, detail string) {
	for i := range r.results {
		r.results[i].answer = unanswered(reason, detail)
	}
}

// ask puts all questions: those a program decides, then those of the judge and,
// for what it did not answer, of its fallbacks.
func (r *run) ask(ctx context.Context) {
	var rules, judged []question
	for _, c := range r.criteria() {
		if c.Check != nil {
			rules = append(rules, question{criterion: c, purpose: purposeCriterion, text: c.Text})
		} else {
			judged = append(judged, question{criterion: c, purpose: purposeCriterion})
		}
		if c.AppliesWhen != "" {
			judged = append(judged, appliesQuestion(c))
		}
	}
	if len(rules) > 0 {
		r.askMember(ctx, r.j.members[ruleName], rules, false)
	}
	if r.p.rubric.Canary && len(judged) > 0 {
		judged = append(judged, canaryQuestion())
	}
	for i, m := range r.p.chain {
		if len(judged) == 0 || ctx.Err() != nil && i > 0 {
			return
		}
		judged = r.askMember(ctx, m, judged, i > 0)
	}
}

// askMember asks one judge, in as many requests as it takes, and returns the
// questions that it did not answer.
func (r *run) askMember(ctx context.Context, m *member, questions []question, fallback bool) (left []question) {
	chunks := r.split(m, questions)
	calls := make([]*call, len(chunks))
	var wg sync.WaitGroup
	for i, chunk := range chunks {
		work := func() { calls[i] = r.askOnce(ctx, m, chunk, fallback) }
		if len(chunks) == 1 {
			work()
			continue
		}
		wg.Go(work)
	}
	wg.Wait()
	for _, c := range calls {
		if c.id != "" {
			r.calls = append(r.calls, c)
		}
		r.take(c)
		for i, a := range c.reply.answers {
			if another(a) {
				left = append(left, c.questions[i])
			}
		}
	}
	return left
}

// another says that it is worth asking a fallback: there is no answer, and not
// because the judge was unsure or may not be asked.
func another(a answer) bool {
	return a.p == nil && a.reason != record.ReasonUncertain && a.reason != record.ReasonOverBudget
}

// split deals questions to requests. A criterion and its applies_when stay
// together where two questions fit.
func (r *run) split(m *member, questions []question) [][]question {
	limit := max(m.profile.maxQuestions, 1)
	alone := r.p.rubric.Isolation == IsolationPerCriterion && m.profile.format != formatRule
	var out [][]question
	for len(questions) > 0 {
		n := groupLen(questions)
		group := questions[:n]
		questions = questions[n:]
		last := len(out) - 1
		if last >= 0 && !alone && len(out[last])+n <= limit {
			out[last] = append(out[last], group...)
			continue
		}
		for n > limit {
			out, group, n = append(out, slices.Clone(group[:limit])), group[limit:], n-limit
		}
		out = append(out, slices.Clone(group))
	}
	return out
}

// groupLen is the number of leading questions about the same criterion.
func groupLen(questions []question) int {
	n := 1
	for n < len(questions) && questions[n].purpose == purposeApplies && questions[n].criterion.key() == questions[0].criterion.key() {
		n++
	}
	return n
}

// askOnce makes one request, unless it is known beforehand that there is no use
// in it.
func (r *run) askOnce(ctx context.Context, m *member, questions []question, fallback bool) *call {
	c := &call{member: m, fallback: fallback, questions: questions, model: r.p.model(m)}
	if fail := r.show(c); fail != nil {
		c.reply = failed(len(questions), methodOf(m.profile.format), fail.reason, fail.message)
		return c
	}
	key := r.j.cache.key(r.p, c)
	if hit, ok := r.j.cache.get(key); ok {
		zero := uint64(0)
		c.reply, c.cached, c.cost = hit, true, &zero
		r.name(c)
		r.j.meter.asked(c)
		return c
	}
	done, fail := r.j.budget.reserve(ctx, r.p, c)
	if fail != nil {
		c.reply = failed(len(questions), methodOf(m.profile.format), fail.reason, fail.message)
		return c
	}
	r.name(c)
	c.reply = m.ask(withTraceParent(ctx, r.traceID, c.spanID), r.j.options.Now, request{
		shown: c.shown, questions: c.questions, model: c.model, system: r.p.rubric.System, user: r.p.rubric.User,
	})
	c.cost = cost(m.config, c.reply)
	done(c.cost)
	r.j.meter.asked(c)
	r.j.cache.put(key, c.reply)
	return c
}

// name gives a call that is made its ids.
func (r *run) name(c *call) {
	c.id, c.spanID, c.started = r.j.options.NewID(), hexID(r.j.options.NewID(), 16), r.j.options.Now()
}

// show renders the unit for the judge and completes the questions, whose
// wording depends on what is shown.
func (r *run) show(c *call) *callError {
	m, rubric := c.member, r.p.rubric
	view := renderer{unit: r.unit, imageMode: m.profile.images, maxImages: m.profile.maxImages, tools: rubric.SourceTools}
	limit := m.profile.maxInput
	if own := int(rubric.MaxInput); own > 0 && (limit == 0 || own < limit) {
		limit = own
	}
	if m.profile.format == formatRule {
		limit = 0
	}
	var ok bool
	c.shown, ok = view.fit(limit, rubric.Trim, func(s shown) int {
		return len(encode(s.state)) + textLen(complete(c.questions, m, s))
	})
	c.questions = complete(c.questions, m, c.shown)
	switch {
	case !ok:
		return &callError{record.ReasonContextOverflow, "the content is larger than the judge takes, and nothing more can be left out"}
	case c.shown.placeholders && rubric.Media == MediaInconclusive && m.profile.format != formatRule:
		return &callError{record.ReasonUnsupportedContent, "the conversation has media that the judge cannot be shown"}
	}
	return nil
}

// complete words the questions for what is shown and gives them keys.
func complete(questions []question, m *member, s shown) []question {
	out := make([]question, len(questions))
	for i, q := range questions {
		if q.purpose == purposeCriterion && q.criterion.Check == nil {
			q = criterionQuestion(q.criterion, s.state.Conversation != nil)
		}
		q.key = keyOf(m.profile.format, i+1)
		out[i] = q
	}
	return out
}

// keyOf names the nth question: plain names are safe in every format.
func keyOf(format string, n int) string {
	if format == formatOpenAI {
		return "c" + string(encode(n))
	}
	return "q" + string(encode(n))
}

func textLen(questions []question) int {
	n := 0
	for _, q := range questions {
		n += len(q.text) + len(q.yesWhen) + len(q.noWhen)
	}
	return n
}

// take hands the answers of a call to their criteria. A later call, to a
// fallback, replaces what an earlier one failed to answer.
func (r *run) take(c *call) {
	for i, q := range c.questions {
		a := c.reply.answers[i]
		if q.purpose == purposeCanary {
			r.canary = &a
			continue
		}
		for k := range r.results {
			res := &r.results[k]
			if res.criterion.key() != q.criterion.key() {
				continue
			}
			if q.purpose == purposeApplies {
				res.applies = &a
				continue
			}
			res.answer, res.call = a, nil
			if c.id != "" {
				res.call = c
			}
		}
	}
}
