package query

import (
	"context"
	"fmt"
	"slices"

	"docket/internal/record"
)

// shownVerdict is a verdict as a page shows it.
type shownVerdict struct {
	record.Verdict
	// Calibration says on how many labels the judge was compared with people for
	// this criterion; "" when it never was.
	Calibration  string
	Uncalibrated bool // nobody knows how far it can be relied on
}

// flagCalibrated is on verdicts whose probability is the calibrated one.
const flagCalibrated = "calibrated"

// shown adds to verdicts whether their criterion was calibrated for the judge
// that gave them.
func (s *server) shown(ctx context.Context, verdicts map[string][]record.Verdict) (map[string][]shownVerdict, error) {
	var reports []record.Calibration
	if s.opts.Labels != nil && len(verdicts) > 0 {
		var err error
		if reports, err = s.opts.Labels.Calibrations(ctx, ""); err != nil {
			return nil, err
		}
	}
	type key struct{ criterion, version, config string }
	known := make(map[key]uint32, len(reports))
	for _, r := range reports {
		k := key{r.Criterion, r.CriterionVersion, r.JudgeConfig}
		known[k] = max(known[k], r.N)
	}
	out := make(map[string][]shownVerdict, len(verdicts))
	for id, list := range verdicts {
		for _, v := range list {
			shown := shownVerdict{Verdict: v}
			n, ok := known[key{v.Criterion, v.CriterionVersion, v.JudgeConfig}]
			switch {
			case ok:
				shown.Calibration = fmt.Sprintf("compared with people on %d labelled cases", n)
			case slices.Contains(v.Flags, flagCalibrated):
				shown.Calibration = "the probability is the calibrated one"
			case v.Method == record.MethodRule || v.Method == record.MethodStatic || v.Outcome == record.OutcomeInconclusive:
			default:
				shown.Uncalibrated = s.opts.Labels != nil
			}
			out[id] = append(out[id], shown)
		}
	}
	return out, nil
}
