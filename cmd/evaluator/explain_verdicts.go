package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"docket/internal/judge"
	"docket/internal/record"
)

// verdicts prints the verdicts of one rubric, newest run first, and how each
// came to be.
func (e *explainer) verdicts(rubric string) {
	var rows []record.Verdict
	for _, v := range e.detail.Verdicts {
		if v.Rubric == rubric {
			rows = append(rows, v)
		}
	}
	ended := map[string]time.Time{}
	for _, v := range rows {
		if v.JudgedAt.After(ended[v.RunID]) {
			ended[v.RunID] = v.JudgedAt
		}
	}
	slices.SortStableFunc(rows, func(a, b record.Verdict) int {
		return cmp.Or(ended[b.RunID].Compare(ended[a.RunID]), cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.CriterionIndex, b.CriterionIndex))
	})
	now := e.askedNow(rubric)
	for _, v := range rows {
		e.printf("  judged: %s UTC: %s\n", v.JudgedAt.Format("2006-01-02 15:04:05"), withFlags(v))
		e.criterion(v, now)
		e.printf("    sampled by rule %s, stratum %s, inclusion probability %.6g, origin %s\n", orNone(v.Rule), v.Stratum, v.InclusionP, v.Origin)
		e.call(v)
	}
	if len(rows) == 0 {
		e.stopped("judged", e.whyNotJudged())
	}
}

// askedNow is how the rubric's criteria are put by the settings of now.
func (e *explainer) askedNow(rubric string) map[string]judge.Asked {
	out := map[string]judge.Asked{}
	if e.judge == nil {
		return out
	}
	var body record.Body
	if e.detail.Body != nil {
		body = *e.detail.Body
	}
	u, _ := judge.UnitFrom(e.detail.Inference, body)
	asked, err := e.judge.Asked(rubric, u)
	if err != nil { // the rubric is not in the settings any more
		return out
	}
	for _, a := range asked {
		out[a.Criterion] = a
	}
	return out
}

// criterion prints version, question and judge configuration, and whether they
// are still those of the settings.
func (e *explainer) criterion(v record.Verdict, now map[string]judge.Asked) {
	a, known := now[v.Criterion]
	switch {
	case !known:
		e.printf("    criterion %s, version %s; not in the settings of now\n", v.Criterion, v.CriterionVersion)
	case a.Version != v.CriterionVersion:
		e.printf("    criterion %s, version %s; in the settings of now it is version %s, so the question was another one\n", v.Criterion, v.CriterionVersion, a.Version)
	default:
		e.printf("    criterion %s, version %s, as in the settings of now\n", v.Criterion, v.CriterionVersion)
	}
	switch {
	case v.Method == record.MethodRule:
		e.printf("    decided by a program, no question was asked\n")
	case known && a.Version == v.CriterionVersion && a.JudgeConfig == v.JudgeConfig:
		e.printf("    question: %s\n      yes when: %s\n      no when: %s\n", oneLine(a.Question), oneLine(a.YesWhen), oneLine(a.NoWhen))
	default:
		e.printf("    question: made from: %s\n", oneLine(v.CriterionText))
	}
	same := either(known && a.JudgeConfig == v.JudgeConfig, "as in the settings of now", "other than in the settings of now")
	if v.RawProbability != nil && v.CalibratedProbability != nil {
		e.printf("    the judge answered %.4f, calibrated %.4f\n", *v.RawProbability, *v.CalibratedProbability)
	}
	e.printf("    judge %s, configuration %s (%s), model %s, method %s%s\n",
		v.Backend, v.JudgeConfig, same, orNone(v.JudgeModel), orNone(v.Method), either(v.Fallback, ", as a fallback", ""))
}

// call prints the call that answered: its cost, and the judge's own trace.
func (e *explainer) call(v record.Verdict) {
	i := slices.IndexFunc(e.detail.JudgeCalls, func(c record.JudgeCall) bool { return c.ID == v.JudgeCallID })
	if i < 0 {
		e.printf("    no call to a judge was made\n")
		return
	}
	c := e.detail.JudgeCalls[i]
	cost := "cost unknown"
	if c.CostNanoUSD != nil {
		cost = usd(*c.CostNanoUSD)
	}
	e.printf("    call %s: asked for model %s, %d questions, %s, %s tokens in, %s out, %v, %d attempts%s%s\n",
		c.ID, orNone(c.Model), c.Questions, cost, number(c.InputTokens), number(c.OutputTokens), c.Latency, c.Attempts,
		behind("; left out: ", c.Trimmed), behind("; error: ", strings.TrimSpace(c.ErrorReason+" "+c.ErrorMessage)))
	e.printf("    judge's own trace %s, span %s, service docket-judge\n", c.JudgeTraceID, c.JudgeSpanID)
}

func number(n *uint64) string {
	if n == nil {
		return "?"
	}
	return fmt.Sprint(*n)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
