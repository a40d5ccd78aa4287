package quality

import (
	"cmp"
	"math"
	"slices"
)

// Labelled is a case that a person labelled and a judge gave a probability.
type Labelled struct {
	P    float64 // that the criterion is met
	Pass bool    // what the person says
}

// Agreement is how well the verdicts at one threshold, and the probabilities
// behind them, agree with people.
type Agreement struct {
	N          int    `json:"n"`
	Passes     int    `json:"passes"`      // by the labels
	BaseRate   Figure `json:"base_rate"`   // share of passes among the labels
	AlwaysPass Figure `json:"always_pass"` // accuracy of a judge that always says pass

	Accuracy         Figure `json:"accuracy"`
	BalancedAccuracy Figure `json:"balanced_accuracy"` // 0.5 for every judge that does not look
	FailureRecall    Figure `json:"failure_recall"`    // share of the failures that the judge finds
	Kappa            Figure `json:"kappa"`
	Brier            Figure `json:"brier"`
	ECE              Figure `json:"ece"`
	AUC              Figure `json:"auc"`
}

// counts is the table of labels against verdicts.
type counts struct{ passPass, passFail, failPass, failFail int } // label, then verdict

func count(cases []Labelled, threshold float64) counts {
	var c counts
	for _, x := range cases {
		switch met := x.P >= threshold; {
		case x.Pass && met:
			c.passPass++
		case x.Pass:
			c.passFail++
		case met:
			c.failPass++
		default:
			c.failFail++
		}
	}
	return c
}

func (c counts) n() int { return c.passPass + c.passFail + c.failPass + c.failFail }

func (c counts) accuracy() Figure { return ratio(c.passPass+c.failFail, c.n()) }

// failureRecall is the specificity: of the cases that people fail, the share
// that the judge fails.
func (c counts) failureRecall() Figure { return ratio(c.failFail, c.failPass+c.failFail) }

func (c counts) passRecall() Figure { return ratio(c.passPass, c.passPass+c.passFail) }

// balancedAccuracy is the mean of the two recalls (Brodersen and others, "The
// balanced accuracy and its posterior distribution", 2010); undefined when the
// labels are all equal.
func (c counts) balancedAccuracy() Figure { return (c.failureRecall() + c.passRecall()) / 2 }

// kappa is Cohen's: (po-pe)/(1-pe), with pe the agreement that the two marginal
// rates give by chance ("A coefficient of agreement for nominal scales", 1960).
func (c counts) kappa() Figure {
	n := float64(c.n())
	if n == 0 {
		return undefined()
	}
	po := float64(c.passPass+c.failFail) / n
	label, verdict := float64(c.passPass+c.passFail)/n, float64(c.passPass+c.failPass)/n
	pe := label*verdict + (1-label)*(1-verdict)
	if pe >= 1 {
		return undefined()
	}
	return Figure((po - pe) / (1 - pe))
}

// Measure compares probabilities, and the verdicts they give at the threshold,
// with labels. The order of the cases does not matter.
func Measure(cases []Labelled, threshold float64) Agreement {
	c := count(cases, threshold)
	passes := c.passPass + c.passFail
	return Agreement{
		N: len(cases), Passes: passes, BaseRate: ratio(passes, len(cases)), AlwaysPass: ratio(passes, len(cases)),
		Accuracy: c.accuracy(), BalancedAccuracy: c.balancedAccuracy(), FailureRecall: c.failureRecall(), Kappa: c.kappa(),
		Brier: Brier(cases), ECE: ECE(Reliability(cases)), AUC: AUC(cases),
	}
}

// Brier is the mean of (p-y)² (Brier, "Verification of forecasts expressed in
// terms of probability", 1950). A judge that always answers the base rate b has
// b(1-b).
func Brier(cases []Labelled) Figure {
	if len(cases) == 0 {
		return undefined()
	}
	sum := 0.0
	for _, x := range cases {
		d := x.P - y(x)
		sum += d * d
	}
	return Figure(sum / float64(len(cases)))
}

func y(x Labelled) float64 {
	if x.Pass {
		return 1
	}
	return 0
}

// binCount is the number of equally wide bins of reliability.
const binCount = 10

// Bin is one bin of reliability: the probabilities from Low up to High (the
// last bin includes 1), and how often the criterion was met among them.
type Bin struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	N        int     `json:"n"`
	MeanP    Figure  `json:"mean_p"`
	PassRate Figure  `json:"pass_rate"`
}

// Reliability sorts the cases into ten bins of equal width.
func Reliability(cases []Labelled) []Bin {
	var sumP, sumY [binCount]float64
	bins := make([]Bin, binCount)
	for i := range bins {
		bins[i].Low, bins[i].High = float64(i)/binCount, float64(i+1)/binCount
	}
	for _, x := range cases {
		i := min(max(int(x.P*binCount), 0), binCount-1)
		bins[i].N++
		sumP[i] += x.P
		sumY[i] += y(x)
	}
	for i := range bins {
		n := float64(bins[i].N)
		bins[i].MeanP, bins[i].PassRate = Figure(sumP[i]/n), Figure(sumY[i]/n) // NaN when empty
	}
	return bins
}

// ECE is the expected calibration error: the distance of mean probability and
// pass rate, averaged over the bins by their number of cases (Naeini, Cooper,
// Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
// 2015).
func ECE(bins []Bin) Figure {
	sum, n := 0.0, 0
	for _, b := range bins {
		if b.N > 0 {
			sum += float64(b.N) * math.Abs(float64(b.MeanP-b.PassRate))
			n += b.N
		}
	}
	if n == 0 {
		return undefined()
	}
	return Figure(sum / float64(n))
}

// AUC is the area under the ROC curve: the probability that a passed case has a
// higher probability than a failed one, ties counted half. It is the
// Mann-Whitney statistic by midranks, U/(n1·n0) with U = R1 - n1(n1+1)/2
// (Hanley and McNeil, "The meaning and use of the area under a ROC curve",
// 1982). It does not depend on any threshold.
func AUC(cases []Labelled) Figure {
	sorted := slices.Clone(cases)
	slices.SortFunc(sorted, func(a, b Labelled) int { return cmp.Compare(a.P, b.P) })
	ranks, passes := 0.0, 0
	for i := 0; i < len(sorted); {
		k := i
		for k < len(sorted) && sorted[k].P == sorted[i].P {
			k++
		}
		mid := float64(i+1+k) / 2
		for ; i < k; i++ {
			if sorted[i].Pass {
				ranks += mid
				passes++
			}
		}
	}
	fails := len(sorted) - passes
	if passes == 0 || fails == 0 {
		return undefined()
	}
	n1, n0 := float64(passes), float64(fails)
	return Figure((ranks - n1*(n1+1)/2) / (n1 * n0))
}
