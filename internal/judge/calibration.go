package judge

import (
	"fmt"
	"math"
)

// answer applies the calibration to a probability and its bounds.
func (c Calibration) answer(a answer) answer {
	for _, p := range []**float64{&a.p, &a.low, &a.high} {
		if *p != nil {
			v := c.apply(**p)
			*p = &v
		}
	}
	return a
}

const calibrationEdge = 1e-6

func (c Calibration) apply(p float64) float64 {
	p = min(max(p, calibrationEdge), 1-calibrationEdge)
	return 1 / (1 + math.Exp(-(c.Slope*math.Log(p/(1-p)) + c.Intercept)))
}

// calibrationOf is the calibration of what was answered, nil when there is none
// for the judge that answered.
func (r *run) calibrationOf(res *result) *Calibration {
	if res.call == nil || res.call.fallback || !r.p.fits(res.criterion) {
		return nil
	}
	return res.criterion.Calibration
}

// fits says that the criterion has a calibration, and that it was not fitted for
// another judge than the rubric's.
func (p *prepared) fits(c Criterion) bool {
	bound := c.Calibration
	return bound != nil && (bound.JudgeConfig == "" || bound.JudgeConfig == p.configs[p.chain[0].name])
}

// checkCalibrations refuses to start with a calibration that is used and was
// fitted for another judge.
func (p *prepared) checkCalibrations() error {
	if stale := p.staleCalibrations(); p.rubric.UseCalibrated && len(stale) > 0 {
		return fmt.Errorf("%s", stale[0])
	}
	return nil
}

// staleCalibrations says which criteria have a calibration of another judge.
func (p *prepared) staleCalibrations() []string {
	var out []string
	for _, c := range p.rubric.Criteria {
		if c.Calibration != nil && c.Check == nil && !p.fits(c) {
			out = append(out, fmt.Sprintf("criterion %q: calibration.judge_config: %q: it was fitted for another judge configuration than %s; run evaluator calibrate again",
				c.key(), c.Calibration.JudgeConfig, p.configs[p.chain[0].name]))
		}
	}
	return out
}
