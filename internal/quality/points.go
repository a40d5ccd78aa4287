package quality

import "math"

// Point is what a threshold would give.
type Point struct {
	Threshold        float64 `json:"threshold"`
	PassRate         Figure  `json:"pass_rate"` // of the verdicts
	Accuracy         Figure  `json:"accuracy"`
	BalancedAccuracy Figure  `json:"balanced_accuracy"`
	FailureRecall    Figure  `json:"failure_recall"`
	FailurePrecision Figure  `json:"failure_precision"` // share of real failures among those the judge fails
	Kappa            Figure  `json:"kappa"`
}

// OperatingPoints are the thresholds from 0.30 to 0.90 in steps of 0.05.
func OperatingPoints(cases []Labelled) []Point {
	var out []Point
	for percent := 30; percent <= 90; percent += 5 {
		t := float64(percent) / 100
		c := count(cases, t)
		out = append(out, Point{
			Threshold: t, PassRate: ratio(c.passPass+c.failPass, c.n()), Accuracy: c.accuracy(),
			BalancedAccuracy: c.balancedAccuracy(), FailureRecall: c.failureRecall(),
			FailurePrecision: ratio(c.failFail, c.failFail+c.passFail), Kappa: c.kappa(),
		})
	}
	return out
}

// SuggestThreshold returns the operating point with the highest balanced
// accuracy, which is Youden's index ("Index for rating diagnostic tests",
// 1950); among equals the one nearest to 0.5. It is not defined when none is
// better than chance. It is fitted to these cases, so on others it does a little
// worse.
func SuggestThreshold(points []Point) Figure {
	best, at := 0.5, undefined()
	for _, p := range points {
		b := float64(p.BalancedAccuracy)
		nearer := at.Defined() && b == best && math.Abs(p.Threshold-0.5) < math.Abs(float64(at)-0.5)
		if b > best || nearer {
			best, at = b, Figure(p.Threshold)
		}
	}
	return at
}

// Repeats is how much a judge differs from itself when it is asked again.
type Repeats struct {
	Cases            int    `json:"cases"`             // that were asked at least twice
	SD               Figure `json:"sd"`                // of the probability within a case
	VerdictAgreement Figure `json:"verdict_agreement"` // share of cases with the same verdict each time
}

// Repeatability compares the answers to the same case. The SD is the root of
// the mean within-case variance (the repeatability SD of ISO 5725-2).
func Repeatability(answers [][]float64, threshold float64) Repeats {
	var r Repeats
	sum, freedom, agreed := 0.0, 0, 0
	for _, ps := range answers {
		if len(ps) < 2 {
			continue
		}
		r.Cases++
		mean, same := 0.0, true
		for _, p := range ps {
			mean += p / float64(len(ps))
			same = same && (p >= threshold) == (ps[0] >= threshold)
		}
		for _, p := range ps {
			sum += (p - mean) * (p - mean)
		}
		freedom += len(ps) - 1
		if same {
			agreed++
		}
	}
	r.SD, r.VerdictAgreement = undefined(), ratio(agreed, r.Cases)
	if freedom > 0 {
		r.SD = Figure(math.Sqrt(sum / float64(freedom)))
	}
	return r
}
