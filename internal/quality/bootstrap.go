package quality

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is a 95 % interval.
type Interval struct {
	Low  Figure `json:"low"`
	High Figure `json:"high"`
}

// Intervals are those of the figures of an Agreement.
type Intervals struct {
	Accuracy         Interval `json:"accuracy"`
	BalancedAccuracy Interval `json:"balanced_accuracy"`
	FailureRecall    Interval `json:"failure_recall"`
	Kappa            Interval `json:"kappa"`
	Brier            Interval `json:"brier"`
	ECE              Interval `json:"ece"`
	AUC              Interval `json:"auc"`
}

// resamples is how often cases are drawn anew.
const resamples = 1000

// Bootstrap computes percentile intervals (Efron and Tibshirani, "An
// introduction to the bootstrap", 1993, chapter 13): the cases are drawn anew
// with replacement 1,000 times, and the interval leaves out 2.5 % at each end. A
// drawing in which a figure is not defined does not count for it; when more
// than half are such, there is no interval.
func Bootstrap(cases []Labelled, threshold float64, seed uint64) Intervals {
	random := newRandom(seed)
	drawn := make([]Labelled, len(cases))
	figures := make([][]float64, 7)
	for range resamples {
		for i := range drawn {
			drawn[i] = cases[random.IntN(len(cases))]
		}
		a := Measure(drawn, threshold)
		for i, f := range []Figure{a.Accuracy, a.BalancedAccuracy, a.FailureRecall, a.Kappa, a.Brier, a.ECE, a.AUC} {
			if f.Defined() {
				figures[i] = append(figures[i], float64(f))
			}
		}
	}
	out := make([]Interval, len(figures))
	for i, values := range figures {
		out[i] = percentiles(values)
	}
	return Intervals{out[0], out[1], out[2], out[3], out[4], out[5], out[6]}
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }

func percentiles(values []float64) Interval {
	if 2*len(values) < resamples {
		return Interval{undefined(), undefined()}
	}
	slices.Sort(values)
	return Interval{Figure(quantile(values, 0.025)), Figure(quantile(values, 0.975))}
}

// quantile interpolates between the two nearest of sorted values (type 7 of
// Hyndman and Fan, the default of R and NumPy).
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
