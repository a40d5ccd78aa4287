package store

import (
	"time"

	"docket/internal/record"
)

// gapRow is a gap with the id that makes writing it again harmless.
type gapRow struct {
	ID string
	record.Gap
}

func gaps() table[gapRow] {
	type R = gapRow
	return table[R]{
		name:    "capture_gaps",
		monthly: true,
		day:     func(r *R) time.Time { return r.Time },
		columns: []column[R]{
			text("gap_id", func(r *R) *string { return &r.ID }),
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			word("instance", func(r *R) *string { return &r.Instance }),
			word("project", func(r *R) *string { return &r.Project }),
			word("reason", func(r *R) *string { return &r.Reason }),
			field("count", "UInt64", func(r *R) *uint64 { return &r.Count }),
			field("bytes", "UInt64", func(r *R) *uint64 { return &r.Bytes }),
			text("detail", func(r *R) *string { return &r.Detail }),
		},
	}
}

func epochs() table[record.Epoch] {
	type R = record.Epoch
	return table[R]{
		name:    "eval_epochs",
		monthly: true,
		day:     func(r *R) time.Time { return r.Time },
		columns: []column[R]{
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			word("instance", func(r *R) *string { return &r.Instance }),
			word("project", func(r *R) *string { return &r.Project }),
			word("rule", func(r *R) *string { return &r.Rule }),
			word("stratum", func(r *R) *string { return &r.Stratum }),
			word("reason", func(r *R) *string { return &r.Reason }),
			field("threshold", "UInt64", func(r *R) *uint64 { return &r.Threshold }),
			field("count", "UInt64", func(r *R) *uint64 { return &r.Count }),
		},
	}
}

// cursorRow is how far a reader of candidates has come.
type cursorRow struct {
	Name    string
	At      time.Time
	ID      string
	Updated time.Time
}

func cursors() table[cursorRow] {
	type R = cursorRow
	return table[R]{
		name: "cursors",
		columns: []column[R]{
			text("name", func(r *R) *string { return &r.Name }),
			moment("at", func(r *R) *time.Time { return &r.At }),
			text("inference_id", func(r *R) *string { return &r.ID }),
			moment("updated_at", func(r *R) *time.Time { return &r.Updated }),
		},
	}
}

// candidates is fed by a view of inferences, and by feedback with INSERT ...
// SELECT; here it is only read.
func candidates() table[record.Candidate] {
	type R = record.Candidate
	return table[R]{
		name: "candidates",
		columns: []column[R]{
			moment("inserted_at", func(r *R) *time.Time { return &r.InsertedAt }),
			field("shard", "UInt8", func(r *R) *uint8 { return &r.Shard }),
			field("sample_value", "UInt64", func(r *R) *uint64 { return &r.SampleValue }),
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			word("project", func(r *R) *string { return &r.Project }),
			word("environment", func(r *R) *string { return &r.Environment }),
			text("inference_id", func(r *R) *string { return &r.InferenceID }),
			text("conversation_id", func(r *R) *string { return &r.ConversationID }),
			text("trace_id", func(r *R) *string { return &r.TraceID }),
			text("span_id", func(r *R) *string { return &r.SpanID }),
			word("stratum", func(r *R) *string { return &r.Stratum }),
			word("provider", func(r *R) *string { return &r.Provider }),
			word("api", func(r *R) *string { return &r.API }),
			word("operation", func(r *R) *string { return &r.Operation }),
			word("request_model", func(r *R) *string { return &r.RequestModel }),
			word("prompt_name", func(r *R) *string { return &r.PromptName }),
			word("prompt_version", func(r *R) *string { return &r.PromptVersion }),
			words("tags", func(r *R) *[]string { return &r.Tags }),
			words("tool_names", func(r *R) *[]string { return &r.ToolNames }),
			word("terminal_state", func(r *R) *string { return &r.TerminalState }),
			field("status", "UInt16", func(r *R) *uint16 { return &r.Status }),
			field("complete", "Bool", func(r *R) *bool { return &r.Complete }),
			word("capture_level", func(r *R) *string { return &r.CaptureLevel }),
			field("request_cut", "Bool", func(r *R) *bool { return &r.RequestCut }),
			field("response_cut", "Bool", func(r *R) *bool { return &r.ResponseCut }),
			field("undecodable", "Bool", func(r *R) *bool { return &r.Undecodable }),
			field("internal", "Bool", func(r *R) *bool { return &r.Internal }),
			field("tool_step", "Bool", func(r *R) *bool { return &r.ToolStep }),
			text("feedback_id", func(r *R) *string { return &r.FeedbackID }),
			word("feedback_label", func(r *R) *string { return &r.FeedbackLabel }),
			field("feedback_score", "Nullable(Float64)", func(r *R) **float64 { return &r.FeedbackScore }),
			word("feedback_source", func(r *R) *string { return &r.FeedbackSource }),
		},
	}
}
