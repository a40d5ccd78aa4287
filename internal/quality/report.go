package quality

// Report is how well one judge does on one criterion. It is about one method,
// one model, one version of the criterion and one configuration of the judge.
type Report struct {
	Threshold float64 `json:"threshold"`
	Agreement
	Intervals Intervals `json:"intervals"`
	Bins      []Bin     `json:"bins"`
	Points    []Point   `json:"operating_points"`
	Suggested Figure    `json:"suggested_threshold"`
	Repeats   Repeats   `json:"repeatability"`
	Fit       *Fit      `json:"fit,omitempty"` // nil when none was asked for, or none can be
}

// Fit is a calibration with what it does for cases it was not fitted to.
type Fit struct {
	Platt
	Threshold float64   `json:"threshold"`
	OutOfFold Agreement `json:"out_of_fold"`
}

// NewReport computes everything about the cases. answers are those of each case
// when it was asked repeatedly, nil otherwise.
func NewReport(cases []Labelled, answers [][]float64, threshold float64, seed uint64) Report {
	r := Report{
		Threshold: threshold, Agreement: Measure(cases, threshold), Bins: Reliability(cases),
		Points: OperatingPoints(cases), Repeats: Repeatability(answers, threshold),
	}
	if len(cases) > 0 {
		r.Intervals = Bootstrap(cases, threshold, seed)
	}
	r.Suggested = SuggestThreshold(r.Points)
	return r
}

// NewFit fits a Platt calibration and measures it out of fold at the threshold.
func NewFit(cases []Labelled, threshold float64, seed uint64) (*Fit, error) {
	curve, err := FitPlatt(cases)
	if err != nil {
		return nil, err
	}
	held, err := OutOfFold(cases, seed)
	if err != nil {
		return nil, err
	}
	return &Fit{Platt: curve, Threshold: threshold, OutOfFold: Measure(held, threshold)}, nil
}
