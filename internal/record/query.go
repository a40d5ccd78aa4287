package record

import "time"

// InferenceFilter selects inferences. Zero fields do not filter.
type InferenceFilter struct {
	ID             string
	Project        string
	Environment    string
	TraceID        string
	ConversationID string
	ResponseID     string
	Model          string // request or response model
	Operation      string
	TerminalState  string
	Outcome        string // only inferences with a verdict of this outcome
	Rubric         string // only inferences with a verdict of this rubric
	Criterion      string // only inferences with a verdict on this criterion
	Feedback       string // only inferences with feedback of this label, or FeedbackAny
	UserID         string
	Text           string // substring of what was said, without regard to case
	Since, Until   time.Time
	Limit          int
	Before         Cursor // only rows older than this one
}

// Cursor is a place in a list that is ordered newest first.
type Cursor struct {
	Time time.Time
	ID   string
}

// VerdictFilter selects verdicts. Zero fields do not filter.
type VerdictFilter struct {
	Project        string
	InferenceIDs   []string
	TraceID        string
	ConversationID string
	Rubric         string
	Criterion      string
	Outcome        string
	Reason         string // of inconclusive ones
	Since, Until   time.Time
	Limit          int
	Before         Cursor
}

// InferenceDetail is everything known about one inference.
type InferenceDetail struct {
	Inference  Inference
	Body       *Body // nil when it expired or was not kept
	Verdicts   []Verdict
	JudgeCalls []JudgeCall
	Labels     []Label    // newest first
	Feedback   []Feedback // newest first
}

// CandidateQuery selects candidates by the time they were inserted, oldest
// first: those after (After, AfterID), up to and including Until.
type CandidateQuery struct {
	Shards  []uint8 // empty: all 64
	After   time.Time
	AfterID string
	Until   time.Time
	Limit   int
}

// ResponseKey names an answer by the provider's id of it.
type ResponseKey struct {
	Project    string
	ResponseID string
}
