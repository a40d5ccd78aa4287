package query

import (
	"cmp"
	"slices"
	"time"

	"docket/internal/record"
)

// verdictView is a verdict with all its fields and the line that a terminal
// would show.
type verdictView struct {
	ID                    string    `json:"id"`
	JudgedAt              time.Time `json:"judged_at"`
	Time                  time.Time `json:"time"`
	Project               string    `json:"project"`
	Environment           string    `json:"environment"`
	Unit                  string    `json:"unit"`
	UnitRevision          uint16    `json:"unit_revision"`
	InferenceID           string    `json:"inference_id"`
	TraceID               string    `json:"trace_id"`
	SpanID                string    `json:"span_id"`
	ConversationID        *string   `json:"conversation_id"`
	JudgeCallID           string    `json:"judge_call_id"`
	RunID                 string    `json:"run_id"`
	Rubric                string    `json:"rubric"`
	RubricVersion         string    `json:"rubric_version"`
	Criterion             string    `json:"criterion"`
	CriterionIndex        uint16    `json:"criterion_index"`
	CriterionVersion      string    `json:"criterion_version"`
	CriterionText         string    `json:"criterion_text"`
	JudgeConfig           string    `json:"judge_config"`
	Backend               string    `json:"backend"`
	JudgeModel            string    `json:"judge_model"`
	Method                string    `json:"method"`
	Outcome               string    `json:"outcome"`
	Reason                *string   `json:"reason"`
	Detail                *string   `json:"detail"`
	Probability           *float64  `json:"probability"`
	RawProbability        *float64  `json:"raw_probability"`
	CalibratedProbability *float64  `json:"calibrated_probability"`
	LabelMass             *float64  `json:"label_mass"`
	Threshold             float64   `json:"threshold"`
	Weight                float64   `json:"weight"`
	Fallback              bool      `json:"fallback"`
	Flags                 []string  `json:"flags"`
	Rule                  string    `json:"rule"`
	Stratum               string    `json:"stratum"`
	InclusionP            float64   `json:"inclusion_probability"`
	Origin                string    `json:"origin"`
	RequestModel          string    `json:"request_model"`
	PromptName            string    `json:"prompt_name"`
	PromptVersion         string    `json:"prompt_version"`
	ToolNames             []string  `json:"tool_names"`
	JudgeTraceID          *string   `json:"judge_trace_id"`
	Line                  string    `json:"line"`
}

func newVerdictViews(rows []record.Verdict) []verdictView {
	views := make([]verdictView, len(rows))
	for i, r := range rows {
		views[i] = verdictView{
			ID: r.ID, JudgedAt: r.JudgedAt, Time: r.Time, Project: r.Project, Environment: r.Environment,
			Unit: r.Unit, UnitRevision: r.UnitRevision, InferenceID: r.InferenceID, TraceID: r.TraceID, SpanID: r.SpanID,
			ConversationID: optional(r.ConversationID), JudgeCallID: r.JudgeCallID, RunID: r.RunID,
			Rubric: r.Rubric, RubricVersion: r.RubricVersion, Criterion: r.Criterion, CriterionIndex: r.CriterionIndex,
			CriterionVersion: r.CriterionVersion, CriterionText: r.CriterionText, JudgeConfig: r.JudgeConfig,
			Backend: r.Backend, JudgeModel: r.JudgeModel, Method: r.Method, Outcome: r.Outcome,
			Reason: optional(r.Reason), Detail: optional(r.Detail), Probability: r.Probability,
			RawProbability: r.RawProbability, CalibratedProbability: r.CalibratedProbability, LabelMass: r.LabelMass,
			Threshold: r.Threshold, Weight: r.Weight, Fallback: r.Fallback, Flags: list(r.Flags), Rule: r.Rule, Stratum: r.Stratum,
			InclusionP: r.InclusionP, Origin: r.Origin, RequestModel: r.RequestModel, PromptName: r.PromptName,
			PromptVersion: r.PromptVersion, ToolNames: list(r.ToolNames), JudgeTraceID: optional(r.JudgeTraceID), Line: r.Line(),
		}
	}
	return views
}

// byCriterion orders the verdicts of one inference: by rubric, newest run
// first, and in a run the criteria in the order of the rubric.
func byCriterion(rows []record.Verdict) []record.Verdict {
	ended := make(map[string]time.Time)
	for _, v := range rows {
		if v.JudgedAt.After(ended[v.RunID]) {
			ended[v.RunID] = v.JudgedAt
		}
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b record.Verdict) int {
		return cmp.Or(cmp.Compare(a.Rubric, b.Rubric), ended[b.RunID].Compare(ended[a.RunID]),
			cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.CriterionIndex, b.CriterionIndex))
	})
	return rows
}
