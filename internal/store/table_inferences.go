package store

import (
	"time"

	"docket/internal/record"
)

// inferences is the narrow table: one row for each exchange.
func inferences() table[record.Inference] {
	type R = record.Inference
	return table[R]{
		name: "inferences",
		day:  func(r *R) time.Time { return r.Time },
		size: func(r *R) int { return len(r.ErrorMessage) + len(r.Usage.Raw) },
		columns: []column[R]{
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			text("inference_id", func(r *R) *string { return &r.ID }),
			word("project", func(r *R) *string { return &r.Project }),
			word("environment", func(r *R) *string { return &r.Environment }),
			word("instance", func(r *R) *string { return &r.Instance }),

			text("trace_id", func(r *R) *string { return &r.TraceID }),
			text("span_id", func(r *R) *string { return &r.SpanID }),
			text("parent_span_id", func(r *R) *string { return &r.ParentSpanID }),
			text("upstream_span_id", func(r *R) *string { return &r.UpstreamSpanID }),
			field("trace_flags", "UInt8", func(r *R) *uint8 { return &r.TraceFlags }),
			text("trace_state", func(r *R) *string { return &r.TraceState }),
			field("sample_value", "UInt64", func(r *R) *uint64 { return &r.SampleValue }),

			text("conversation_id", func(r *R) *string { return &r.ConversationID }),
			word("conversation_source", func(r *R) *string { return &r.ConversationSource }),
			text("response_id", func(r *R) *string { return &r.ResponseID }),
			text("user_id", func(r *R) *string { return &r.UserID }),
			word("prompt_name", func(r *R) *string { return &r.PromptName }),
			word("prompt_version", func(r *R) *string { return &r.PromptVersion }),
			words("tags", func(r *R) *[]string { return &r.Tags }),

			word("upstream", func(r *R) *string { return &r.Upstream }),
			word("provider", func(r *R) *string { return &r.Provider }),
			word("api", func(r *R) *string { return &r.API }),
			word("operation", func(r *R) *string { return &r.Operation }),
			word("method", func(r *R) *string { return &r.Method }),
			text("path", func(r *R) *string { return &r.Path }),
			word("request_model", func(r *R) *string { return &r.RequestModel }),
			word("response_model", func(r *R) *string { return &r.ResponseModel }),
			field("stream", "Bool", func(r *R) *bool { return &r.Stream }),

			word("terminal_state", func(r *R) *string { return &r.TerminalState }),
			field("status", "UInt16", func(r *R) *uint16 { return &r.Status }),
			field("complete", "Bool", func(r *R) *bool { return &r.Complete }),
			word("finish_reason", func(r *R) *string { return &r.FinishReason }),
			word("error_type", func(r *R) *string { return &r.ErrorType }),
			text("error_message", func(r *R) *string { return &r.ErrorMessage }),

			field("input_tokens", "Nullable(UInt64)", func(r *R) **uint64 { return &r.Usage.Input }),
			field("cache_read_tokens", "Nullable(UInt64)", func(r *R) **uint64 { return &r.Usage.CacheRead }),
			field("cache_write_tokens", "Nullable(UInt64)", func(r *R) **uint64 { return &r.Usage.CacheWrite }),
			field("output_tokens", "Nullable(UInt64)", func(r *R) **uint64 { return &r.Usage.Output }),
			field("reasoning_tokens", "Nullable(UInt64)", func(r *R) **uint64 { return &r.Usage.Reasoning }),
			field("total_tokens", "Nullable(UInt64)", func(r *R) **uint64 { return &r.Usage.Total }),
			text("usage_raw", func(r *R) *string { return &r.Usage.Raw }),
			field("cost_nanousd", "Nullable(UInt64)", func(r *R) **uint64 { return &r.CostNanoUSD }),
			word("price_version", func(r *R) *string { return &r.PriceVersion }),

			firstToken(),
			micros("duration_us", func(r *R) *time.Duration { return &r.Duration }),
			field("chunks", "UInt32", func(r *R) *uint32 { return &r.Chunks }),
			field("request_bytes", "UInt64", func(r *R) *uint64 { return &r.RequestBytes }),
			field("response_bytes", "UInt64", func(r *R) *uint64 { return &r.ResponseBytes }),
			field("request_crc32c", "UInt32", func(r *R) *uint32 { return &r.RequestCRC }),
			field("response_crc32c", "UInt32", func(r *R) *uint32 { return &r.ResponseCRC }),
			text("upstream_request_id", func(r *R) *string { return &r.UpstreamRequestID }),

			word("capture_level", func(r *R) *string { return &r.CaptureLevel }),
			field("request_cut", "Bool", func(r *R) *bool { return &r.RequestCut }),
			field("response_cut", "Bool", func(r *R) *bool { return &r.ResponseCut }),
			field("undecodable", "Bool", func(r *R) *bool { return &r.Undecodable }),
			word("redacted", func(r *R) *string { return &r.Redacted }),
			counts("redactions", func(r *R) *map[string]uint32 { return &r.Redactions }),
			field("internal", "Bool", func(r *R) *bool { return &r.Internal }),
			field("tool_step", "Bool", func(r *R) *bool { return &r.ToolStep }),
			words("tool_names", func(r *R) *[]string { return &r.ToolNames }),
			word("stratum", func(r *R) *string { return &r.Stratum }),
			pairs("attributes", func(r *R) *map[string]string { return &r.Attributes }),
		},
	}
}

// firstToken is the time to the first byte of the answer, NULL without one.
func firstToken() column[record.Inference] {
	return convert("time_to_first_token_us", "Nullable(UInt64)",
		func(r *record.Inference) *uint64 {
			if r.TimeToFirstToken == nil {
				return nil
			}
			us := toMicros(*r.TimeToFirstToken)
			return &us
		},
		func(r *record.Inference, v *uint64) error {
			if v != nil {
				d := fromMicros(*v)
				r.TimeToFirstToken = &d
			}
			return nil
		})
}
