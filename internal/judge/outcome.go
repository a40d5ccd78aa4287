package judge

import (
	"strings"

	"docket/internal/record"
)

// Flags of a verdict.
const (
	FlagPlaceholder = "media_placeholder"  // media that the judge was not shown
	FlagTrimmed     = "trimmed"            // the oldest messages were left out
	FlagPartial     = "partial"            // the reply broke off
	FlagRedacted    = "redacted"           // redaction rules took something out of what the judge was shown
	FlagSteering    = "steering_suspected" // the content seems to try to influence its grading
	FlagCalibrated  = "calibrated"         // the probability is the calibrated one
	FlagBound       = "bound"              // the probability is the bound of an interval that lies on one side of the threshold
	FlagSameModel   = "same_model"         // the judge is the judged model
	FlagReasonAfter = "reason_afterwards"  // the sentence was asked for after the outcome was known
)

const (
	appliesThreshold = 0.5
	canaryThreshold  = 0.5
)

// decide turns answers into outcomes.
func (r *run) decide() {
	for i := range r.results {
		res := &r.results[i]
		res.flags = r.flags(res)
		a := res.answer
		if res.applies != nil {
			switch applies := res.applies; {
			case applies.p == nil:
				a = unanswered(applies.reason, applies.detail)
			case *applies.p < appliesThreshold:
				res.outcome = record.OutcomeNotApplicable
				continue
			}
		}
		if fit := r.calibrationOf(res); fit != nil && a.p != nil {
			calibrated := fit.answer(a)
			res.raw, res.calibrated = a.p, calibrated.p
			if r.p.rubric.UseCalibrated {
				a = calibrated
				res.flags = append(res.flags, FlagCalibrated)
			}
		}
		res.outcome, res.reason, res.p = outcomeOf(a, res.criterion)
		res.detail = a.detail
		if res.p != nil && a.low != nil {
			res.flags = append(res.flags, FlagBound)
		}
	}
}

func (r *run) flags(res *result) []string {
	var out []string
	if c := res.call; c != nil && c.member.profile.format != formatRule {
		if c.shown.placeholders {
			out = append(out, FlagPlaceholder)
		}
		if c.shown.trimmed != "" {
			out = append(out, FlagTrimmed)
		}
		if c.model != "" && c.model == r.unit.Inference.RequestModel {
			out = append(out, FlagSameModel)
		}
	}
	if r.unit.Partial {
		out = append(out, FlagPartial)
	}
	if r.unit.Inference.Redacted != "" {
		out = append(out, FlagRedacted)
	}
	if r.canary != nil && r.canary.p != nil && *r.canary.p >= canaryThreshold {
		out = append(out, FlagSteering)
	}
	return out
}

// outcomeOf compares an answer with the criterion's threshold, unrounded. Of an
// interval, the end that is nearer to the threshold is the probability.
func outcomeOf(a answer, c Criterion) (outcome, reason string, p *float64) {
	threshold := deref(c.Threshold, defaultThreshold)
	if a.p == nil {
		return record.OutcomeInconclusive, a.reason, nil
	}
	p = a.p
	if a.low != nil && a.high != nil {
		switch {
		case *a.low >= threshold:
			p = a.low
		case *a.high < threshold:
			p = a.high
		default:
			return record.OutcomeInconclusive, record.ReasonUncertain, nil
		}
	}
	switch {
	case !isProbability(*p):
		return record.OutcomeInconclusive, record.ReasonOutOfRange, nil
	case c.Abstain.contains(*p):
		return record.OutcomeInconclusive, record.ReasonUncertain, p
	case *p >= threshold:
		return record.OutcomePass, "", p
	}
	return record.OutcomeFail, "", p
}

// rubricOutcome is the pass rule: every criterion that applies must pass, also
// those with weight 0.
func rubricOutcome(results []result) (outcome, reason, detail string) {
	applicable, inconclusive := 0, -1
	for i, res := range results {
		switch res.outcome {
		case record.OutcomeNotApplicable:
			continue
		case record.OutcomeFail:
			return record.OutcomeFail, "", ""
		case record.OutcomeInconclusive:
			if inconclusive < 0 {
				inconclusive = i
			}
		}
		applicable++
	}
	switch {
	case inconclusive >= 0:
		return record.OutcomeInconclusive, results[inconclusive].reason, results[inconclusive].detail
	case applicable == 0:
		return record.OutcomeNotApplicable, "", ""
	}
	return record.OutcomePass, "", ""
}

// score is the weighted mean of the probabilities, nil when a criterion that
// has weight has none.
func score(results []result) *float64 {
	var sum, weights float64
	for _, res := range results {
		w := res.criterion.weight()
		if w == 0 || res.outcome == record.OutcomeNotApplicable {
			continue
		}
		if res.p == nil {
			return nil
		}
		sum, weights = sum+w**res.p, weights+w
	}
	if weights == 0 {
		return nil
	}
	mean := sum / weights
	return &mean
}

// explainable lists the criteria that failed without a sentence.
func explainable(results []result) []int {
	var out []int
	for i, res := range results {
		if res.outcome == record.OutcomeFail && res.detail == "" {
			out = append(out, i)
		}
	}
	return out
}

// short makes one line of a judge's sentence, and bounds it.
func short(s string) string {
	const limit = 500
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "))
	if len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return string(runes)
}
