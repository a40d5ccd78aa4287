package judge

import (
	"strconv"
	"time"

	"docket/internal/record"
)

const (
	judgeService = "docket-judge"
	scopeName    = "docket/judge"
)

// result turns the run into rows and spans.
func (r *run) result() Result {
	if r.undecided() {
		r.decide()
	}
	out := Result{RunID: r.id, Score: score(r.results)}
	out.Outcome, out.Reason, out.Detail = rubricOutcome(r.results)
	for _, c := range r.calls {
		out.Calls = append(out.Calls, r.callRow(c, out))
	}
	for i, res := range r.results {
		out.Verdicts = append(out.Verdicts, r.verdictRow(i, res))
	}
	if len(r.calls) > 0 {
		out.Spans = r.spans(out)
	}
	return out
}

func (r *run) undecided() bool { return len(r.results) > 0 && r.results[0].outcome == "" }

func (r *run) callRow(c *call, out Result) record.JudgeCall {
	inf := r.unit.Inference
	row := record.JudgeCall{
		ID: c.id, RunID: r.id, Time: micro(c.started), UnitTime: inf.Time, Project: inf.Project,
		InferenceID: inf.ID, TraceID: inf.TraceID, Rubric: r.p.name, RubricVersion: r.version(),
		Outcome: out.Outcome, Score: out.Score,
		Backend: c.member.name, BackendFormat: c.member.profile.format, Model: c.model, ResolvedModel: c.reply.model,
		Method: c.reply.method, Questions: uint16(len(c.questions)),
		InputTokens: c.reply.inputTokens, OutputTokens: c.reply.outputTokens, CostNanoUSD: c.cost,
		Latency: c.reply.latency, Attempts: uint16(c.reply.attempts), Fallback: c.fallback, Trimmed: c.shown.trimmed,
		JudgeTraceID: r.traceID, JudgeSpanID: c.spanID, Origin: r.origin(c),
	}
	if c.reply.err != nil {
		row.ErrorReason, row.ErrorMessage = c.reply.err.reason, c.reply.err.message
	}
	return row
}

// version is that of the rubric, or of the criteria a file brought.
func (r *run) version() string {
	if len(r.unit.Criteria) > 0 {
		rubric := r.p.rubric
		rubric.Criteria = r.criteria()
		return rubricVersion(rubric)
	}
	return r.p.version
}

func (r *run) origin(c *call) string {
	if c != nil && c.cached {
		return record.OriginCache
	}
	return r.unit.origin()
}

func (r *run) verdictRow(i int, res result) record.Verdict {
	inf := r.unit.Inference
	home := r.p.memberOf(res.criterion)
	config := r.p.judgeConfig(home, res.criterion)
	v := record.Verdict{
		ID: verdictID(r.p.name, *r.unit, res.criterion, config), JudgedAt: micro(r.j.options.Now()), Time: inf.Time,
		Project: inf.Project, Environment: inf.Environment, Unit: r.unit.kind(), UnitRevision: r.unit.Revision,
		InferenceID: inf.ID, TraceID: inf.TraceID, SpanID: inf.SpanID, ConversationID: inf.ConversationID,
		RunID: r.id, Rubric: r.p.name, RubricVersion: r.version(),
		Criterion: res.criterion.key(), CriterionIndex: uint16(i), CriterionVersion: criterionVersion(res.criterion),
		CriterionText: criterionText(res.criterion), JudgeConfig: config,
		Outcome: res.outcome, Reason: res.reason, Detail: res.detail, Probability: res.p, RawProbability: res.raw, CalibratedProbability: res.calibrated, LabelMass: res.answer.mass,
		Threshold: deref(res.criterion.Threshold, defaultThreshold), Weight: res.criterion.weight(),
		Flags: res.flags, Rule: r.unit.Rule, Stratum: r.unit.Stratum, InclusionP: r.unit.InclusionP, Origin: r.unit.origin(),
		RequestModel: inf.RequestModel, PromptName: inf.PromptName, PromptVersion: inf.PromptVersion, ToolNames: inf.ToolNames,
	}
	if home != nil {
		v.Backend = home.name
	} else {
		v.Backend = ruleName
	}
	if c := res.call; c != nil {
		v.JudgeCallID, v.JudgeTraceID, v.Origin = c.id, r.traceID, r.origin(c)
		v.Backend, v.JudgeModel, v.Method, v.Fallback = c.member.name, c.reply.model, c.reply.method, c.fallback
		if c.fallback {
			v.JudgeConfig = r.p.judgeConfig(c.member, res.criterion)
		}
	}
	return v
}

func criterionText(c Criterion) string {
	if c.Text == "" && c.Check != nil {
		return c.Check.describe()
	}
	return c.Text
}

func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// spans is the judge's own trace: one span for the run, linked to the judged
// span, and one below it for each call.
func (r *run) spans(out Result) []record.Span {
	inf := r.unit.Inference
	root := r.span(r.spanID, "", "judge "+r.p.name, "Internal", r.started, r.j.options.Now().Sub(r.started))
	root.Attributes = map[string]string{
		record.AttrRubric: r.p.name, record.AttrInferenceID: inf.ID, record.AttrProject: inf.Project,
		record.AttrEvaluationLabel: out.Outcome,
	}
	if out.Score != nil {
		root.Attributes[record.AttrEvaluationScore] = strconv.FormatFloat(*out.Score, 'g', -1, 64)
	}
	if inf.TraceID != "" && inf.SpanID != "" {
		root.Links = []record.Link{{TraceID: inf.TraceID, SpanID: inf.SpanID, TraceState: inf.TraceState, Attributes: map[string]string{}}}
	}
	spans := []record.Span{root}
	for _, c := range r.calls {
		s := r.span(c.spanID, r.spanID, "judge "+c.member.name, "Client", c.started, c.reply.latency)
		s.Attributes = map[string]string{
			record.AttrJudgeCallID: c.id, record.AttrRubric: r.p.name, record.AttrOrigin: r.origin(c),
			record.AttrRequestModel: c.model, record.AttrResponseModel: c.reply.model,
		}
		addCount(s.Attributes, record.AttrUsageInput, c.reply.inputTokens)
		addCount(s.Attributes, record.AttrUsageOutput, c.reply.outputTokens)
		if c.reply.err != nil {
			s.StatusCode, s.StatusMessage = "Error", c.reply.err.message
			s.Attributes[record.AttrErrorType] = c.reply.err.reason
		}
		spans = append(spans, s)
	}
	return spans
}

func (r *run) span(id, parent, name, kind string, at time.Time, d time.Duration) record.Span {
	return record.Span{
		Time: micro(at), TraceID: r.traceID, SpanID: id, ParentSpanID: parent, Flags: 1,
		Name: name, Kind: kind, ServiceName: judgeService, ScopeName: scopeName,
		ResourceAttributes: map[string]string{record.AttrServiceName: judgeService},
		Duration:           max(d, 0), StatusCode: "Unset",
	}
}

func addCount(m map[string]string, key string, n *uint64) {
	if n != nil {
		m[key] = strconv.FormatUint(*n, 10)
	}
}
