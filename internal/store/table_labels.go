package store

import (
	"time"

	"docket/internal/record"
)

// labels holds work of people. Like the tables of calibration it is small: it
// has no partitions and its rows do not expire.
func labels() table[record.Label] {
	type R = record.Label
	return table[R]{
		name: "human_labels",
		columns: []column[R]{
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			word("project", func(r *R) *string { return &r.Project }),
			word("criterion", func(r *R) *string { return &r.Criterion }),
			text("inference_id", func(r *R) *string { return &r.InferenceID }),
			word("annotator", func(r *R) *string { return &r.Annotator }),
			word("label", func(r *R) *string { return &r.Label }),
			text("comment", func(r *R) *string { return &r.Comment }),
			field("selection_p", "Float64", func(r *R) *float64 { return &r.SelectionP }),
		},
	}
}

func calibrationAnswers() table[record.CalibrationAnswer] {
	type R = record.CalibrationAnswer
	return table[R]{
		name: "calibration_answers",
		columns: []column[R]{
			text("verdict_id", func(r *R) *string { return &r.VerdictID }),
			field("repeat", "UInt16", func(r *R) *uint16 { return &r.Repeat }),
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			text("case_id", func(r *R) *string { return &r.CaseID }),
			word("rubric", func(r *R) *string { return &r.Rubric }),
			word("criterion", func(r *R) *string { return &r.Criterion }),
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
			field("threshold", "Float64", func(r *R) *float64 { return &r.Threshold }),
		},
	}
}

func calibrations() table[record.Calibration] {
	type R = record.Calibration
	return table[R]{
		name: "calibrations",
		columns: []column[R]{
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			word("rubric", func(r *R) *string { return &r.Rubric }),
			word("criterion", func(r *R) *string { return &r.Criterion }),
			word("criterion_version", func(r *R) *string { return &r.CriterionVersion }),
			word("criterion_text", func(r *R) *string { return &r.CriterionText }),
			word("judge_config", func(r *R) *string { return &r.JudgeConfig }),
			word("backend", func(r *R) *string { return &r.Backend }),
			word("judge_model", func(r *R) *string { return &r.JudgeModel }),
			word("method", func(r *R) *string { return &r.Method }),
			text("labels", func(r *R) *string { return &r.Labels }),
			field("n", "UInt32", func(r *R) *uint32 { return &r.N }),
			field("threshold", "Float64", func(r *R) *float64 { return &r.Threshold }),
			text("report", func(r *R) *string { return &r.Report }),
			field("slope", "Nullable(Float64)", func(r *R) **float64 { return &r.Slope }),
			field("intercept", "Nullable(Float64)", func(r *R) **float64 { return &r.Intercept }),
		},
	}
}
