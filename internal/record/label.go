package record

import "time"

// Labels that a person can give.
const (
	LabelPass   = "pass"
	LabelFail   = "fail"
	LabelUnsure = "unsure"
)

// Label is what one person says about one criterion of one inference. A later
// one of the same person replaces it.
type Label struct {
	Time        time.Time // when it was given
	Project     string    // of the inference
	Criterion   string    // name
	InferenceID string
	Annotator   string
	Label       string // one of Label*
	Comment     string
	// SelectionP is the probability with which the inference was chosen to be
	// labelled; 0 when it was picked by hand or is not known.
	SelectionP float64
}

// LabelFilter selects labels. Zero fields do not filter.
type LabelFilter struct {
	Project      string
	Criterion    string
	InferenceIDs []string
	Limit        int
}

// CalibrationAnswer is what a judge said about one criterion of one labelled
// case. It is kept apart from verdicts, which are about traffic.
type CalibrationAnswer struct {
	VerdictID        string // of the case, criterion, version and judge configuration
	Repeat           uint16 // 0 for the first time it was asked
	Time             time.Time
	CaseID           string // of the label file, or the inference
	Rubric           string
	Criterion        string
	CriterionVersion string
	CriterionText    string
	JudgeConfig      string
	Backend          string
	JudgeModel       string // resolved
	Method           string
	Outcome          string
	Reason           string
	Detail           string
	Probability      *float64
	Threshold        float64
}

// Calibration is the stored report on one criterion, for one version of it, one
// judge configuration, one model and one method.
type Calibration struct {
	Time             time.Time
	Rubric           string
	Criterion        string
	CriterionVersion string
	CriterionText    string
	JudgeConfig      string
	Backend          string
	JudgeModel       string
	Method           string
	Labels           string // where the labels came from
	N                uint32
	Threshold        float64
	Report           string   // JSON
	Slope            *float64 // of the fitted calibration, nil without one
	Intercept        *float64
}
