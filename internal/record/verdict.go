package record

import "time"

// Outcomes of a criterion and of a rubric.
const (
	OutcomePass          = "pass"
	OutcomeFail          = "fail"
	OutcomeInconclusive  = "inconclusive"
	OutcomeNotApplicable = "not_applicable"
)

// Reasons of an inconclusive outcome.
const (
	ReasonEmptyReply         = "empty_reply"
	ReasonJudgeError         = "judge_error"
	ReasonTimeout            = "timeout"
	ReasonRateLimited        = "rate_limited"
	ReasonRefused            = "refused"
	ReasonTruncated          = "truncated"
	ReasonMalformed          = "malformed"
	ReasonOutOfRange         = "out_of_range"
	ReasonMissingAnswer      = "missing_answer"
	ReasonLowLabelMass       = "low_label_mass"
	ReasonUncertain          = "uncertain"
	ReasonContextOverflow    = "context_overflow"
	ReasonUnsupportedContent = "unsupported_content"
	ReasonNotCaptured        = "not_captured"
	ReasonOverBudget         = "over_budget"
)

// Origins of a verdict.
const (
	OriginOnline   = "online"
	OriginBackfill = "backfill"
	OriginReplay   = "replay"
	OriginCache    = "cache"
)

// Methods: how a probability was obtained. A threshold fitted on one does not
// transfer to another.
const (
	MethodDecision   = "decision"
	MethodLogprobs   = "logprobs"
	MethodStructured = "structured"
	MethodRule       = "rule"
	MethodStatic     = "static"
	MethodHTTP       = "http"
)

// Candidate is an inference that may be judged: what eligibility, rules and
// sampling need, without the bodies.
type Candidate struct {
	InsertedAt     time.Time
	Shard          uint8 // cityHash64(conversation id, else trace id) % 64
	SampleValue    uint64
	Time           time.Time
	Project        string
	Environment    string
	InferenceID    string
	ConversationID string
	TraceID        string
	SpanID         string
	Stratum        string
	Provider       string
	API            string
	Operation      string
	RequestModel   string
	PromptName     string
	PromptVersion  string
	Tags           []string
	ToolNames      []string
	TerminalState  string
	Status         uint16
	Complete       bool
	CaptureLevel   string
	RequestCut     bool
	ResponseCut    bool
	Undecodable    bool
	Internal       bool
	ToolStep       bool

	// The feedback that made the inference a candidate again; all empty in the
	// candidate that capture makes.
	FeedbackID     string
	FeedbackLabel  string
	FeedbackScore  *float64
	FeedbackSource string
}

// HasFeedback says whether feedback made this candidate.
func (c Candidate) HasFeedback() bool { return c.FeedbackID != "" }

// WithoutFeedback is the candidate as capture made it.
func (c Candidate) WithoutFeedback() Candidate {
	c.FeedbackID, c.FeedbackLabel, c.FeedbackScore, c.FeedbackSource = "", "", nil, ""
	return c
}

// JudgeCall is one request to a judge about one unit: a run of a rubric has one
// or more. Rubric outcome and score stand on every call of the run.
type JudgeCall struct {
	ID            string // UUID
	RunID         string // UUID; equal for all calls of one run of a rubric over one unit
	Time          time.Time
	UnitTime      time.Time // of the judged inference
	Project       string
	InferenceID   string
	TraceID       string
	Rubric        string
	RubricVersion string
	Outcome       string   // of the rubric
	Score         *float64 // weighted mean of the probabilities, nil when one is missing
	Backend       string
	BackendFormat string
	Model         string // as configured
	ResolvedModel string // as the backend names it, "" if it does not
	Method        string
	Questions     uint16
	InputTokens   *uint64
	OutputTokens  *uint64
	CostNanoUSD   *uint64
	Latency       time.Duration
	Attempts      uint16
	Fallback      bool
	Trimmed       string // what of the conversation was left out, "" if nothing
	ErrorReason   string // one of Reason*, "" if the call succeeded
	ErrorMessage  string
	JudgeTraceID  string
	JudgeSpanID   string
	Origin        string
}

// Verdict is the outcome of one criterion for one unit.
type Verdict struct {
	ID               string // UUIDv5 of unit, revision, criterion, version and judge configuration
	JudgedAt         time.Time
	Time             time.Time // of the judged inference
	Project          string
	Environment      string
	Unit             string // "inference", "trace" or "conversation"
	UnitRevision     uint16
	InferenceID      string
	TraceID          string
	SpanID           string
	ConversationID   string
	JudgeCallID      string
	RunID            string
	Rubric           string
	RubricVersion    string
	Criterion        string // name
	CriterionIndex   uint16
	CriterionVersion string
	CriterionText    string
	JudgeConfig      string
	Backend          string
	JudgeModel       string // resolved
	Method           string
	Outcome          string
	Reason           string   // one of Reason*, for inconclusive
	Detail           string   // one sentence from the judge, or the error message
	Probability      *float64 // as it was compared with the threshold
	LabelMass        *float64
	Threshold        float64
	Weight           float64
	Fallback         bool

	// What the judge answered and what its calibration makes of it; nil for a
	// criterion without one. Probability is one of the two.
	RawProbability        *float64
	CalibratedProbability *float64

	Flags         []string // "media_placeholder", "trimmed", ...
	Rule          string   // sampling rule
	Stratum       string
	InclusionP    float64
	Origin        string
	RequestModel  string
	PromptName    string
	PromptVersion string
	ToolNames     []string
	JudgeTraceID  string
}

// Epoch says what a sampling rule did with the candidates of a period: the
// record of what was not judged, and why.
type Epoch struct {
	Time      time.Time // start of the period
	Instance  string
	Project   string
	Rule      string
	Stratum   string
	Reason    string // "sampled", "not_sampled", "over_budget", "expired", "backfilled", or why it was not eligible
	Threshold uint64 // T on 56 bits; 0 when not decided by sampling
	Count     uint64
}

// Reasons why a candidate is not eligible.
const (
	NotGeneration = "not_generation"
	BodyOff       = "body_off"
	BodyCut       = "body_cut"
	Incomplete    = "incomplete"
	Undecodable   = "undecodable"
	DocketJudge   = "docket_judge"
	ToolStep      = "tool_step"
	CallFailed    = "call_failed"
)
