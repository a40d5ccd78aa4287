package query

import (
	"encoding/json"
	"time"

	"docket/internal/record"
)

type inferenceList struct {
	Inferences []inferenceView `json:"inferences"`
	NextCursor string          `json:"next_cursor,omitempty"`
}

type verdictList struct {
	Verdicts   []verdictView `json:"verdicts"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

// inferenceView is an inference as the API shows it. A null says that nothing
// was reported.
type inferenceView struct {
	ID                 string            `json:"id"`
	Time               time.Time         `json:"time"`
	Project            string            `json:"project"`
	Environment        string            `json:"environment"`
	Instance           string            `json:"instance"`
	TraceID            string            `json:"trace_id"`
	SpanID             string            `json:"span_id"`
	ParentSpanID       *string           `json:"parent_span_id"`
	UpstreamSpanID     *string           `json:"upstream_span_id"`
	TraceState         string            `json:"trace_state"`
	Sampled            bool              `json:"trace_sampled"`
	ConversationID     *string           `json:"conversation_id"`
	ConversationSource string            `json:"conversation_source"`
	ResponseID         *string           `json:"response_id"`
	UserID             *string           `json:"user"`
	PromptName         *string           `json:"prompt_name"`
	PromptVersion      *string           `json:"prompt_version"`
	Tags               []string          `json:"tags"`
	Upstream           string            `json:"upstream"`
	Provider           string            `json:"provider"`
	API                string            `json:"api"`
	Operation          string            `json:"operation"`
	Method             string            `json:"method"`
	Path               string            `json:"path"`
	RequestModel       *string           `json:"request_model"`
	ResponseModel      *string           `json:"response_model"`
	Stream             bool              `json:"stream"`
	TerminalState      string            `json:"terminal_state"`
	Status             uint16            `json:"status"`
	Complete           bool              `json:"complete"`
	FinishReason       *string           `json:"finish_reason"`
	Error              *errorView        `json:"error"`
	Usage              *usageView        `json:"usage"`
	RawUsage           json.RawMessage   `json:"raw_usage"`
	CostUSD            *float64          `json:"cost_usd"`
	PriceVersion       *string           `json:"price_version"`
	FirstTokenMS       *float64          `json:"time_to_first_token_ms"`
	DurationMS         float64           `json:"duration_ms"`
	Chunks             uint32            `json:"chunks"`
	RequestBytes       uint64            `json:"request_bytes"`
	ResponseBytes      uint64            `json:"response_bytes"`
	RequestCRC         uint32            `json:"request_crc32c"`
	ResponseCRC        uint32            `json:"response_crc32c"`
	UpstreamRequestID  *string           `json:"upstream_request_id"`
	Capture            captureView       `json:"capture"`
	ToolNames          []string          `json:"tool_names"`
	ToolStep           bool              `json:"tool_step"`
	Stratum            string            `json:"stratum"`
	Attributes         map[string]string `json:"attributes"`
}

type errorView struct {
	Type    *string `json:"type"`
	Message *string `json:"message"`
}

type captureView struct {
	Level       string `json:"level"`
	RequestCut  bool   `json:"request_cut"`
	ResponseCut bool   `json:"response_cut"`
	Undecodable bool   `json:"undecodable"`
	// What redaction did, null for nothing, and what it found, by rule.
	Redacted   *string           `json:"redacted"`
	Redactions map[string]uint32 `json:"redactions"`
}

// usageView counts the whole input and the whole output, as the OpenAI API
// does, and names the parts of each.
type usageView struct {
	PromptTokens     *uint64 `json:"prompt_tokens"`
	CompletionTokens *uint64 `json:"completion_tokens"`
	TotalTokens      *uint64 `json:"total_tokens"`
	CachedTokens     *uint64 `json:"cached_tokens"`
	CacheWriteTokens *uint64 `json:"cache_write_tokens"`
	ReasoningTokens  *uint64 `json:"reasoning_tokens"`
}

func newInferenceView(r record.Inference) inferenceView {
	v := inferenceView{
		ID: r.ID, Time: r.Time, Project: r.Project, Environment: r.Environment, Instance: r.Instance,
		TraceID: r.TraceID, SpanID: r.SpanID, ParentSpanID: optional(r.ParentSpanID), UpstreamSpanID: optional(r.UpstreamSpanID),
		TraceState: r.TraceState, Sampled: r.TraceFlags&1 == 1,
		ConversationID: optional(r.ConversationID), ConversationSource: r.ConversationSource, ResponseID: optional(r.ResponseID),
		UserID: optional(r.UserID), PromptName: optional(r.PromptName), PromptVersion: optional(r.PromptVersion), Tags: list(r.Tags),
		Upstream: r.Upstream, Provider: r.Provider, API: r.API, Operation: r.Operation, Method: r.Method, Path: r.Path,
		RequestModel: optional(r.RequestModel), ResponseModel: optional(r.ResponseModel), Stream: r.Stream,
		TerminalState: r.TerminalState, Status: r.Status, Complete: r.Complete, FinishReason: optional(r.FinishReason),
		Usage: newUsageView(r.Usage), PriceVersion: optional(r.PriceVersion), DurationMS: millis(r.Duration), Chunks: r.Chunks,
		RequestBytes: r.RequestBytes, ResponseBytes: r.ResponseBytes, RequestCRC: r.RequestCRC, ResponseCRC: r.ResponseCRC,
		UpstreamRequestID: optional(r.UpstreamRequestID),
		Capture:           captureView{Level: r.CaptureLevel, RequestCut: r.RequestCut, ResponseCut: r.ResponseCut, Undecodable: r.Undecodable, Redacted: optional(r.Redacted), Redactions: r.Redactions},
		ToolNames:         list(r.ToolNames), ToolStep: r.ToolStep, Stratum: r.Stratum, Attributes: r.Attributes,
	}
	if r.ErrorType != "" || r.ErrorMessage != "" {
		v.Error = &errorView{Type: optional(r.ErrorType), Message: optional(r.ErrorMessage)}
	}
	if json.Valid([]byte(r.Usage.Raw)) {
		v.RawUsage = json.RawMessage(r.Usage.Raw)
	}
	if r.CostNanoUSD != nil {
		usd := float64(*r.CostNanoUSD) / 1e9
		v.CostUSD = &usd
	}
	if r.TimeToFirstToken != nil {
		ms := millis(*r.TimeToFirstToken)
		v.FirstTokenMS = &ms
	}
	return v
}

func newUsageView(u record.Usage) *usageView {
	if u.Input == nil && u.CacheRead == nil && u.CacheWrite == nil && u.Output == nil && u.Reasoning == nil && u.Total == nil {
		return nil
	}
	return &usageView{
		PromptTokens: sum(u.Input, u.CacheRead, u.CacheWrite), CompletionTokens: sum(u.Output, u.Reasoning), TotalTokens: u.Total,
		CachedTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite, ReasoningTokens: u.Reasoning,
	}
}

// sum adds what was reported, and is nil when nothing was.
func sum(parts ...*uint64) *uint64 {
	var total *uint64
	for _, p := range parts {
		switch {
		case p == nil:
		case total == nil:
			n := *p
			total = &n
		default:
			*total += *p
		}
	}
	return total
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
