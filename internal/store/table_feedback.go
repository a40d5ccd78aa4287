package store

import (
	"time"

	"docket/internal/record"
)

// feedback is what users of the application say about answers; a row that is
// written again replaces the older one.
func feedback() table[record.Feedback] {
	type R = record.Feedback
	return table[R]{
		name: "feedback",
		columns: []column[R]{
			text("feedback_id", func(r *R) *string { return &r.ID }),
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			moment("updated_at", func(r *R) *time.Time { return &r.Updated }),
			word("project", func(r *R) *string { return &r.Project }),
			text("inference_id", func(r *R) *string { return &r.InferenceID }),
			text("response_id", func(r *R) *string { return &r.ResponseID }),
			text("trace_id", func(r *R) *string { return &r.TraceID }),
			field("score", "Nullable(Float64)", func(r *R) **float64 { return &r.Score }),
			word("label", func(r *R) *string { return &r.Label }),
			text("comment", func(r *R) *string { return &r.Comment }),
			text("user_id", func(r *R) *string { return &r.User }),
			word("source", func(r *R) *string { return &r.Source }),
			field("linked", "Bool", func(r *R) *bool { return &r.Linked }),
		},
	}
}
