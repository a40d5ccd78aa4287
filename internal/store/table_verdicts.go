package store

import (
	"time"

	"docket/internal/record"
)

// verdicts is one row for each criterion and unit; a row that is written again
// replaces the older one.
func verdicts() table[record.Verdict] {
	type R = record.Verdict
	return table[R]{
		name:    "verdicts",
		monthly: true,
		day:     func(r *R) time.Time { return r.Time },
		columns: []column[R]{
			text("verdict_id", func(r *R) *string { return &r.ID }),
			moment("judged_at", func(r *R) *time.Time { return &r.JudgedAt }),
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			word("project", func(r *R) *string { return &r.Project }),
			word("environment", func(r *R) *string { return &r.Environment }),
			word("unit", func(r *R) *string { return &r.Unit }),
			field("unit_revision", "UInt16", func(r *R) *uint16 { return &r.UnitRevision }),
			text("inference_id", func(r *R) *string { return &r.InferenceID }),
			text("trace_id", func(r *R) *string { return &r.TraceID }),
			text("span_id", func(r *R) *string { return &r.SpanID }),
			text("conversation_id", func(r *R) *string { return &r.ConversationID }),
			text("judge_call_id", func(r *R) *string { return &r.JudgeCallID }),
			text("run_id", func(r *R) *string { return &r.RunID }),
			word("rubric", func(r *R) *string { return &r.Rubric }),
			word("rubric_version", func(r *R) *string { return &r.RubricVersion }),
			word("criterion", func(r *R) *string { return &r.Criterion }),
			field("criterion_index", "UInt16", func(r *R) *uint16 { return &r.CriterionIndex }),
			word("criterion_version", func(r *R) *string { return &r.CriterionVersion }),
			word("criterion_text", func(r *R) *string { return &r.CriterionText }),
			word("judge_config", func(r *R) *string { return &r.JudgeConfig }),
			word("backend", func(r *R) *string { return &r.Backend }),
			word("judge_model", func(r *R) *string { return &r.JudgeModel }),
			word("method", func(r *R) *string { return &r.Method }),
			word("outcome", func(r *R) *string { return &r.Outcome }),
			word("reason", func(r *R) *string { return &r.Reason }),
			text("detail", func(r *R) *string { return &r.Detail }),
			field("probability", "Nullable(Float64)", func(r *R) **float64 { return &r.Probability }),
			field("raw_probability", "Nullable(Float64)", func(r *R) **float64 { return &r.RawProbability }),
			field("calibrated_probability", "Nullable(Float64)", func(r *R) **float64 { return &r.CalibratedProbability }),
			field("label_mass", "Nullable(Float64)", func(r *R) **float64 { return &r.LabelMass }),
			field("threshold", "Float64", func(r *R) *float64 { return &r.Threshold }),
			field("weight", "Float64", func(r *R) *float64 { return &r.Weight }),
			field("fallback", "Bool", func(r *R) *bool { return &r.Fallback }),
			words("flags", func(r *R) *[]string { return &r.Flags }),
			word("rule", func(r *R) *string { return &r.Rule }),
			word("stratum", func(r *R) *string { return &r.Stratum }),
			field("inclusion_p", "Float64", func(r *R) *float64 { return &r.InclusionP }),
			word("origin", func(r *R) *string { return &r.Origin }),
			word("request_model", func(r *R) *string { return &r.RequestModel }),
			word("prompt_name", func(r *R) *string { return &r.PromptName }),
			word("prompt_version", func(r *R) *string { return &r.PromptVersion }),
			words("tool_names", func(r *R) *[]string { return &r.ToolNames }),
			text("judge_trace_id", func(r *R) *string { return &r.JudgeTraceID }),
		},
	}
}

// judgeCalls is one row for each request to a judge: the only place of its cost.
func judgeCalls() table[record.JudgeCall] {
	type R = record.JudgeCall
	return table[R]{
		name:    "judge_calls",
		monthly: true,
		day:     func(r *R) time.Time { return r.Time },
		columns: []column[R]{
			text("judge_call_id", func(r *R) *string { return &r.ID }),
			text("run_id", func(r *R) *string { return &r.RunID }),
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			moment("unit_ts", func(r *R) *time.Time { return &r.UnitTime }),
			word("project", func(r *R) *string { return &r.Project }),
			text("inference_id", func(r *R) *string { return &r.InferenceID }),
			text("trace_id", func(r *R) *string { return &r.TraceID }),
			word("rubric", func(r *R) *string { return &r.Rubric }),
			word("rubric_version", func(r *R) *string { return &r.RubricVersion }),
			word("outcome", func(r *R) *string { return &r.Outcome }),
			field("score", "Nullable(Float64)", func(r *R) **float64 { return &r.Score }),
			word("backend", func(r *R) *string { return &r.Backend }),
			word("backend_format", func(r *R) *string { return &r.BackendFormat }),
			word("model", func(r *R) *string { return &r.Model }),
			word("resolved_model", func(r *R) *string { return &r.ResolvedModel }),
			word("method", func(r *R) *string { return &r.Method }),
			field("questions", "UInt16", func(r *R) *uint16 { return &r.Questions }),
			field("input_tokens", "Nullable(UInt64)", func(r *R) **uint64 { return &r.InputTokens }),
			field("output_tokens", "Nullable(UInt64)", func(r *R) **uint64 { return &r.OutputTokens }),
			field("cost_nanousd", "Nullable(UInt64)", func(r *R) **uint64 { return &r.CostNanoUSD }),
			micros("latency_us", func(r *R) *time.Duration { return &r.Latency }),
			field("attempts", "UInt16", func(r *R) *uint16 { return &r.Attempts }),
			field("fallback", "Bool", func(r *R) *bool { return &r.Fallback }),
			text("trimmed", func(r *R) *string { return &r.Trimmed }),
			word("error_reason", func(r *R) *string { return &r.ErrorReason }),
			text("error_message", func(r *R) *string { return &r.ErrorMessage }),
			text("judge_trace_id", func(r *R) *string { return &r.JudgeTraceID }),
			text("judge_span_id", func(r *R) *string { return &r.JudgeSpanID }),
			word("origin", func(r *R) *string { return &r.Origin }),
		},
	}
}
