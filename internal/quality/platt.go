package quality

import (
	"errors"
	"math"
)

// Platt maps a probability p to 1/(1+exp(-(Slope·logit(p)+Intercept))).
type Platt struct {
	Slope     float64 `json:"slope"`
	Intercept float64 `json:"intercept"`
}

// edge keeps logits finite.
const edge = 1e-6

func logit(p float64) float64 {
	p = min(max(p, edge), 1-edge)
	return math.Log(p / (1 - p))
}

// Apply returns the calibrated probability.
func (c Platt) Apply(p float64) float64 { return sigmoid(c.Slope*logit(p) + c.Intercept) }

func sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

// ErrOneClass says that labels are all pass or all fail, so nothing can be
// fitted.
var ErrOneClass = errors.New("labels are all equal: want passes and failures")

// FitPlatt fits a logistic curve over logit(p), with the targets (n1+1)/(n1+2)
// and 1/(n0+2) instead of 1 and 0, which keep it finite when the judge separates
// the labels (Platt, "Probabilistic outputs for support vector machines", 1999).
// The minimum is found by Newton's method with backtracking (Lin, Lin and Weng,
// "A note on Platt's probabilistic outputs", 2007).
func FitPlatt(cases []Labelled) (Platt, error) {
	x, target := make([]float64, len(cases)), make([]float64, len(cases))
	passes := 0
	for i, c := range cases {
		x[i] = logit(c.P)
		if c.Pass {
			passes++
		}
	}
	fails := len(cases) - passes
	if passes == 0 || fails == 0 {
		return Platt{}, ErrOneClass
	}
	for i, c := range cases {
		target[i] = 1 / float64(fails+2)
		if c.Pass {
			target[i] = float64(passes+1) / float64(passes+2)
		}
	}
	return newton(x, target, math.Log(float64(passes+1)/float64(fails+1))), nil
}

const (
	maxSteps = 100
	ridge    = 1e-12 // keeps the Hessian invertible
	minStep  = 1e-10
	flat     = 1e-9 // gradient at which the minimum is reached
)

func newton(x, target []float64, intercept float64) Platt {
	c := Platt{0, intercept}
	loss := logLoss(x, target, c)
	for range maxSteps {
		haa, hbb, hab, ga, gb := ridge, ridge, 0.0, 0.0, 0.0
		for i := range x {
			p := sigmoid(c.Slope*x[i] + c.Intercept)
			w, d := p*(1-p), p-target[i]
			haa, hbb, hab = haa+x[i]*x[i]*w, hbb+w, hab+x[i]*w
			ga, gb = ga+x[i]*d, gb+d
		}
		if math.Abs(ga) < flat && math.Abs(gb) < flat {
			break
		}
		det := haa*hbb - hab*hab
		da, db := -(hbb*ga-hab*gb)/det, -(haa*gb-hab*ga)/det
		downhill := ga*da + gb*db
		step := 1.0
		for ; step >= minStep; step /= 2 {
			next := Platt{c.Slope + step*da, c.Intercept + step*db}
			if l := logLoss(x, target, next); l < loss+1e-4*step*downhill {
				c, loss = next, l
				break
			}
		}
		if step < minStep {
			break
		}
	}
	return c
}

// logLoss is the cross entropy, written so that it does not overflow.
func logLoss(x, target []float64, c Platt) float64 {
	sum := 0.0
	for i := range x {
		f := c.Slope*x[i] + c.Intercept
		if f >= 0 {
			sum += (1-target[i])*f + math.Log1p(math.Exp(-f))
		} else {
			sum += -target[i]*f + math.Log1p(math.Exp(f))
		}
	}
	return sum
}

const folds = 5

// OutOfFold returns the cases with calibrated probabilities, each by a curve
// that was fitted without it: five folds, dealt by the seed, passes and failures
// apart so that each fold has its share of both (Stone, "Cross-validatory choice
// and assessment of statistical predictions", 1974). What Measure says of them
// is what the calibration will do for new cases.
func OutOfFold(cases []Labelled, seed uint64) ([]Labelled, error) {
	fold := make([]int, len(cases))
	random := newRandom(seed)
	next := 0
	for _, pass := range []bool{true, false} {
		for _, i := range random.Perm(len(cases)) {
			if cases[i].Pass == pass {
				fold[i] = next % folds
				next++
			}
		}
	}
	out := make([]Labelled, len(cases))
	for f := range folds {
		var rest []Labelled
		for i, c := range cases {
			if fold[i] != f {
				rest = append(rest, c)
			}
		}
		fit, err := FitPlatt(rest)
		if err != nil {
			return nil, err
		}
		for i, c := range cases {
			if fold[i] == f {
				out[i] = Labelled{fit.Apply(c.P), c.Pass}
			}
		}
	}
	return out, nil
}
