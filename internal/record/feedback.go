package record

import "time"

// Labels of feedback that the page draws as thumbs. Any other short word is a
// label, too.
const (
	FeedbackUp   = "up"
	FeedbackDown = "down"
)

// FeedbackAny stands for feedback of every label in a filter.
const FeedbackAny = "any"

// Feedback is what a user of the application, or the application itself, says
// about one answer. One with the same id replaces it.
type Feedback struct {
	ID      string
	Time    time.Time // when this version arrived
	Updated time.Time // the version: the latest one counts
	Project string    // of the inference; "" until it is known

	// What it is about, as it was given: one of the three. InferenceID is filled
	// in when the inference is found.
	InferenceID string
	ResponseID  string // the provider's id of the answer
	TraceID     string

	Score   *float64 // from 0, bad, to 1, good
	Label   string   // FeedbackUp, FeedbackDown or another word
	Comment string
	User    string
	Source  string // where it was given, such as "web"

	// Linked says that the inference was found and is a candidate again.
	Linked bool
}

// SameAs says whether both say the same about the same.
func (f Feedback) SameAs(g Feedback) bool {
	sameScore := f.Score == nil && g.Score == nil || f.Score != nil && g.Score != nil && *f.Score == *g.Score
	byInference := f.ResponseID == "" && f.TraceID == ""
	return sameScore && f.ID == g.ID && f.ResponseID == g.ResponseID && f.TraceID == g.TraceID && (!byInference || f.InferenceID == g.InferenceID) &&
		f.Label == g.Label && f.Comment == g.Comment && f.User == g.User && f.Source == g.Source
}

// FeedbackFilter selects feedback. Zero fields do not filter.
type FeedbackFilter struct {
	ID           string
	Project      string
	InferenceIDs []string
	TraceID      string // as it was given
	ResponseID   string // as it was given
	Label        string
	User         string
	Source       string
	Linked       *bool
	Since, Until time.Time
	Limit        int
	Before       Cursor
}
