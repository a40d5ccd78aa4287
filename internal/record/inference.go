package record

import "time"

// Terminal states of an inference: how the exchange ended, seen from the proxy.
const (
	StateComplete          = "complete"           // the provider's own end arrived, or the body ended as announced
	StateClientCancelled   = "client_cancelled"   // the client left before the end
	StateUpstreamError     = "upstream_error"     // no answer: refused, reset, bad address, TLS
	StateUpstreamTruncated = "upstream_truncated" // the answer broke off
	StateTimeoutConnect    = "timeout_connect"
	StateTimeoutHeader     = "timeout_header"
	StateTimeoutFirstByte  = "timeout_first_byte"
	StateTimeoutIdle       = "timeout_idle"
	StateProxyDied         = "proxy_died" // the proxy ended without writing an end
)

// Sources of a conversation id.
const (
	ConversationHeader           = "header"
	ConversationBody             = "body"
	ConversationPreviousResponse = "previous_response"
	ConversationHistory          = "history"
	ConversationNone             = "none"
)

// Capture levels: how much of an exchange is kept.
const (
	CaptureOff      = "off"
	CaptureMetadata = "metadata"
	CaptureFull     = "full"
)

// Strata of candidates, decided when the exchange ends.
const (
	StratumOK        = "ok"
	StratumRefusal   = "refusal"
	StratumLength    = "length"     // cut by the token limit
	StratumToolError = "tool_error" // a tool result of the turn is marked as an error
	StratumError     = "error"      // the call itself failed
)

// StratumFeedback is the stratum of what a rule with a filter on feedback
// chose: such a rule draws from calls with that feedback only.
const StratumFeedback = "feedback"

// What redaction did to the stored content of an inference.
const (
	RedactedMasked  = "masked"       // something was replaced
	RedactedRaw     = "raw_dropped"  // and the bytes of a body are left out: only its messages could be cleaned with certainty
	RedactedDropped = "body_dropped" // a body is left out, as it could not be searched
)

// Inference is one call to a model (or another exchange on a routed prefix)
// with its trace: the narrow row, without bodies.
type Inference struct {
	ID          string    // UUIDv7, lower-case with hyphens
	Time        time.Time // when the request head was read
	Project     string
	Environment string
	Instance    string // of the proxy that recorded it

	TraceID        string // 32 hex digits, never all zero
	SpanID         string // 16 hex digits: our SERVER span
	ParentSpanID   string // the caller's span, or ""
	UpstreamSpanID string // our CLIENT span, sent upstream; "" if nothing was sent
	TraceFlags     uint8  // W3C trace flags as they apply to our spans
	TraceState     string // as received
	SampleValue    uint64 // 56-bit sampling randomness, see package sampling

	ConversationID     string
	ConversationSource string // one of Conversation*
	ResponseID         string // the provider's id of the answer
	UserID             string
	PromptName         string
	PromptVersion      string
	Tags               []string

	Upstream      string // name of the route
	Provider      string // gen_ai.provider.name
	API           string // wire format, e.g. "openai.chat", "" if opaque
	Operation     string // gen_ai.operation.name, "" if opaque
	Method        string
	Path          string // request path without the query
	RequestModel  string
	ResponseModel string
	Stream        bool // the answer came as a stream

	TerminalState string // one of State*
	Status        uint16 // HTTP status the client was given; 0 if none
	Complete      bool   // the provider's own end signal arrived and no error was seen
	FinishReason  string // the provider's word, first choice
	ErrorType     string
	ErrorMessage  string

	Usage        Usage
	CostNanoUSD  *uint64 // nil when the model has no known price
	PriceVersion string  // which price table, "" without cost

	TimeToFirstToken  *time.Duration // nil when no body byte arrived
	Duration          time.Duration
	Chunks            uint32 // reads of the answer's body that brought bytes
	RequestBytes      uint64 // whole size, also when the copy was cut
	ResponseBytes     uint64
	RequestCRC        uint32 // CRC-32C of the whole body
	ResponseCRC       uint32
	UpstreamRequestID string

	CaptureLevel string // one of Capture*
	RequestCut   bool   // the copy of the request is shorter than the request
	ResponseCut  bool
	Undecodable  bool              // a body of a known API could not be understood
	Redacted     string            // one of Redacted*, "" when nothing was redacted
	Redactions   map[string]uint32 // what was, by the names of the rules
	Internal     bool              // Docket's own traffic
	ToolStep     bool              // the reply ends in tool calls: not the last reply of the turn
	ToolNames    []string
	Stratum      string            // one of Stratum*
	Attributes   map[string]string // rate limits and other allowed response headers, metadata fields
}

// Usage is token counts in disjoint buckets: their sum is all tokens of the
// call. A nil bucket was not reported.
type Usage struct {
	Input      *uint64 // without CacheRead and CacheWrite
	CacheRead  *uint64
	CacheWrite *uint64
	Output     *uint64 // without Reasoning
	Reasoning  *uint64
	Total      *uint64 // as the provider reports it, nil if it does not
	Raw        string  // the provider's usage object verbatim, "" if none
}

// Body is what an inference said: raw bytes and the normal form. It is stored
// apart from the inference and may expire earlier.
type Body struct {
	InferenceID     string
	Time            time.Time // of the inference
	Project         string
	RequestHeaders  map[string]string // allowed headers only, lower-case names
	ResponseHeaders map[string]string
	Request         []byte    // as sent, possibly cut; nil under metadata capture
	Response        []byte    // as received, content encoding removed when possible, possibly cut
	Input           []Message // gen_ai.input.messages
	Output          []Message // gen_ai.output.messages: one per choice
	Tools           string    // gen_ai.tool.definitions, JSON as sent, "" if none
}

// Batch is one unit of delivery to the store: rows that are written under one
// token, so that a resend with the same token changes nothing.
type Batch struct {
	Token      string // stable over resends; unique to these rows
	FirstSent  time.Time
	Resend     bool // it may have been stored before
	Piece      bool // rows may be stored under the token of another batch: part of one that was refused, or its edges are lost
	Inferences []Inference
	Bodies     []Body
	Spans      []Span
	Gaps       []Gap
}

// Gap counts exchanges that could not be kept, by reason.
type Gap struct {
	Time     time.Time // start of the period
	Instance string
	Project  string
	Reason   string // one of Gap*
	Count    uint64
	Bytes    uint64
	Detail   string // an example, without content
}

// Reasons of a Gap.
const (
	GapDiskFull    = "disk_full"    // the disk has less than min_free left, or the file system refused the append
	GapByteCap     = "byte_cap"     // the spool's quota is used up
	GapBufferCap   = "buffer_cap"   // the capture memory budget is used up
	GapPoisonRow   = "poison_row"   // the store refuses this row for good; it is in quarantine
	GapCorrupt     = "corrupt"      // a spool record failed its checksum
	GapUndecodable = "undecodable"  // kept as metadata only
	GapCaptureOff  = "capture_off"  // the client or the route asked for it
	GapAtRisk      = "at_risk"      // went on before its record was in the page cache
	GapUnknownEnd  = "unknown_end"  // the end could not be recorded
	GapShutdown    = "shutdown"     // left when the drain budget at shutdown was used up
	GapSpoolClosed = "spool_closed" // the spool could not be opened or written at all
)
