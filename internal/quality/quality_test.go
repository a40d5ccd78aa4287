package quality_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/quality"
	"docket/internal/record"
)

// twenty are the cases of which figures were computed once with scikit-learn
// 1.9 and SciPy 1.17.
func twenty() []quality.Labelled {
	ps := []float64{0.02, 0.11, 0.35, 0.35, 0.42, 0.5, 0.5, 0.58, 0.61, 0.66, 0.71, 0.74, 0.83, 0.88, 0.9, 0.93, 0.97, 1, 0.64, 0.27}
	labels := "00010101011011111110"
	out := make([]quality.Labelled, len(ps))
	for i, p := range ps {
		out[i] = quality.Labelled{P: p, Pass: labels[i] == '1'}
	}
	return out
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > 1e-6 {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestAgreementAgainstScikitLearn(t *testing.T) {
	for _, c := range []struct{ threshold, accuracy, balanced, recall, kappa float64 }{
		{0.5, 0.8, 0.7708333333333333, 0.625, 0.5652173913043478},
		{0.7, 0.7, 0.7291666666666667, 0.875, 0.42307692307692313},
	} {
		a := quality.Measure(twenty(), c.threshold)
		near(t, "accuracy", float64(a.Accuracy), c.accuracy)
		near(t, "balanced accuracy", float64(a.BalancedAccuracy), c.balanced)
		near(t, "failure recall", float64(a.FailureRecall), c.recall)
		near(t, "kappa", float64(a.Kappa), c.kappa)
		near(t, "Brier", float64(a.Brier), 0.139565)
		near(t, "ECE", float64(a.ECE), 0.1285)
		near(t, "AUC", float64(a.AUC), 0.875)
		near(t, "base rate", float64(a.BaseRate), 0.6)
		near(t, "always pass", float64(a.AlwaysPass), 0.6)
		if a.N != 20 || a.Passes != 12 {
			t.Errorf("n %d, passes %d", a.N, a.Passes)
		}
	}
}

// A judge that always says pass is accurate where most replies are good, and no
// figure beside accuracy takes it for a good one.
func TestAlwaysPassIsSeenThrough(t *testing.T) {
	var cases []quality.Labelled
	for i := range 100 {
		cases = append(cases, quality.Labelled{P: 1, Pass: i >= 10})
	}
	a := quality.Measure(cases, 0.5)
	near(t, "accuracy", float64(a.Accuracy), 0.9)
	near(t, "always pass", float64(a.AlwaysPass), 0.9)
	near(t, "balanced accuracy", float64(a.BalancedAccuracy), 0.5)
	near(t, "failure recall", float64(a.FailureRecall), 0)
	near(t, "kappa", float64(a.Kappa), 0)
	near(t, "AUC", float64(a.AUC), 0.5)
	if s := quality.SuggestThreshold(quality.OperatingPoints(cases)); s.Defined() {
		t.Errorf("threshold %v is suggested for a judge that separates nothing", s)
	}
}

func TestUndefinedFigures(t *testing.T) {
	for name, cases := range map[string][]quality.Labelled{"no cases": nil, "labels all equal": {{P: 0.9, Pass: true}, {P: 0.8, Pass: true}}} {
		a := quality.Measure(cases, 0.5)
		for what, f := range map[string]quality.Figure{"failure recall": a.FailureRecall, "balanced accuracy": a.BalancedAccuracy, "kappa": a.Kappa, "AUC": a.AUC} {
			if f.Defined() || f.String() != "-" {
				t.Errorf("%s: %s is %v, want none", name, what, f)
			}
		}
		data, err := json.Marshal(quality.NewReport(cases, nil, 0.5, 1))
		if err != nil || !strings.Contains(string(data), `"auc":null`) {
			t.Errorf("%s: %v: %s", name, err, data)
		}
		var back quality.Report
		if err := json.Unmarshal(data, &back); err != nil || back.AUC.Defined() {
			t.Errorf("%s: read back as %v: %v", name, back.AUC, err)
		}
		if _, err := quality.NewFit(cases, 0.5, 1); !errors.Is(err, quality.ErrOneClass) {
			t.Errorf("%s: fit: %v", name, err)
		}
	}
	if s := quality.Figure(-1e-17).String(); s != "0.000" {
		t.Errorf("almost 0 is printed as %s", s)
	}
	var f quality.Figure
	if err := json.Unmarshal([]byte(`"x"`), &f); err == nil {
		t.Error("a text is read as a figure")
	}
}

func TestReliabilityBins(t *testing.T) {
	bins := quality.Reliability([]quality.Labelled{{P: 0, Pass: false}, {P: 0.05, Pass: true}, {P: 0.1, Pass: true}, {P: 1, Pass: true}, {P: 0.95, Pass: false}})
	var got []string
	for _, b := range bins {
		if b.N > 0 {
			got = append(got, fmt.Sprintf("%.1f-%.1f n=%d p=%v pass=%v", b.Low, b.High, b.N, b.MeanP, b.PassRate))
		}
	}
	want := []string{"0.0-0.1 n=2 p=0.025 pass=0.500", "0.1-0.2 n=1 p=0.100 pass=1.000", "0.9-1.0 n=2 p=0.975 pass=0.500"}
	if diff := cmp.Diff(want, got); diff != "" || len(bins) != 10 {
		t.Errorf("%d bins (-want +got):\n%s", len(bins), diff)
	}
	near(t, "ECE", float64(quality.ECE(bins)), (2*0.475+0.9+2*0.475)/5)
}

func TestBootstrapIsSeededAndCovers(t *testing.T) {
	cases := twenty()
	first := quality.Bootstrap(cases, 0.5, 7)
	if diff := cmp.Diff(first, quality.Bootstrap(cases, 0.5, 7)); diff != "" {
		t.Errorf("the same seed gives other intervals:\n%s", diff)
	}
	if cmp.Equal(first, quality.Bootstrap(cases, 0.5, 8)) {
		t.Error("another seed gives the same intervals")
	}
	if !(first.Accuracy.Low < 0.8 && first.Accuracy.High > 0.8 && first.AUC.Low < 0.875 && first.AUC.High <= 1) {
		t.Errorf("intervals %+v do not hold the figures", first)
	}
	// The accuracy of 200 cases at 0.8: the normal approximation is good there.
	var many []quality.Labelled
	for i := range 200 {
		many = append(many, quality.Labelled{P: float64(i%5) / 4, Pass: i%5 > 0 && i%10 != 1})
	}
	a := float64(quality.Measure(many, 0.25).Accuracy)
	want := 1.96 * math.Sqrt(a*(1-a)/200)
	got := quality.Bootstrap(many, 0.25, 3).Accuracy
	if half := float64(got.High-got.Low) / 2; math.Abs(half-want) > 0.012 {
		t.Errorf("half width %v, the normal approximation has %v", half, want)
	}
}

func TestOperatingPoints(t *testing.T) {
	points := quality.OperatingPoints(twenty())
	if len(points) != 13 || points[0].Threshold != 0.3 || points[4].Threshold != 0.5 || points[12].Threshold != 0.9 {
		t.Fatalf("points %+v", points)
	}
	near(t, "pass rate at 0.5", float64(points[4].PassRate), 0.7)
	near(t, "failure precision at 0.5", float64(points[4].FailurePrecision), 5.0/6)
	// 0.55 finds 6 of 8 failures and 10 of 12 passes; 0.65 finds 7 and 8.
	if got := quality.SuggestThreshold(points); got != 0.55 {
		t.Errorf("suggested %v, want 0.55", got)
	}
}

func TestRepeatability(t *testing.T) {
	r := quality.Repeatability([][]float64{{0.5, 0.7, 0.6}, {0.9, 0.9, 0.9}, {0.4, 0.6, 0.5}, {0.1}}, 0.5)
	near(t, "SD", float64(r.SD), 0.08164965809277258)
	near(t, "agreement", float64(r.VerdictAgreement), 2.0/3)
	if r.Cases != 3 {
		t.Errorf("%d cases, want the 3 that were asked more than once", r.Cases)
	}
	if r := quality.Repeatability(nil, 0.5); r.SD.Defined() || r.VerdictAgreement.Defined() {
		t.Errorf("no repeats: %+v", r)
	}
}

func TestPlattAgainstSciPy(t *testing.T) {
	fit, err := quality.FitPlatt(twenty())
	if err != nil {
		t.Fatal(err)
	}
	near(t, "slope", fit.Slope, 0.7123863)
	near(t, "intercept", fit.Intercept, 0.07660334)
	near(t, "0.5", fit.Apply(0.5), 1/(1+math.Exp(-fit.Intercept)))
	for _, p := range []float64{0, 1} {
		if q := fit.Apply(p); !(q > 0 && q < 1) {
			t.Errorf("%v becomes %v", p, q)
		}
	}
}

// A judge that is far too sure is brought back by a fit, also for cases that the
// fit has not seen; a judge that separates everything does not make it diverge.
func TestPlattOutOfFold(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var cases []quality.Labelled
	for range 500 {
		x := random.NormFloat64() * 1.5
		cases = append(cases, quality.Labelled{P: 1 / (1 + math.Exp(-4*x)), Pass: random.Float64() < 1/(1+math.Exp(-x))})
	}
	fit, err := quality.NewFit(cases, 0.5, 5)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(fit.Slope-0.25) > 0.06 {
		t.Errorf("slope %v, the judge is four times too sure", fit.Slope)
	}
	raw := quality.Measure(cases, 0.5)
	if !(fit.OutOfFold.ECE < raw.ECE/2 && fit.OutOfFold.Brier < raw.Brier) {
		t.Errorf("out of fold ECE %v Brier %v, raw %v %v", fit.OutOfFold.ECE, fit.OutOfFold.Brier, raw.ECE, raw.Brier)
	}
	again, err := quality.NewFit(cases, 0.5, 5)
	if err != nil || !cmp.Equal(fit, again) {
		t.Errorf("the same seed gives %+v and %+v: %v", fit, again, err)
	}
	for i := range cases {
		cases[i].P = 0
		if cases[i].Pass {
			cases[i].P = 1
		}
	}
	if fit, err = quality.NewFit(cases, 0.5, 5); err != nil || !(fit.Slope > 0 && fit.Slope < 10) {
		t.Errorf("perfectly separated: %+v: %v", fit, err)
	}
}

func TestWilsonAgainstSciPy(t *testing.T) {
	for _, c := range []struct{ k, n, confidence, low, high float64 }{
		{8, 10, 0.95, 0.4901624715366418, 0.9433178485456248},
		{8, 10, 0.90, 0.5407928056874879, 0.9314420122624679},
		{10, 10, 0.95, 0.7224672001371109, 1},
		{0, 7, 0.95, 0, 0.35433043506668743},
		{90, 100, 0.95, 0.8256343384950865, 0.9447708629393249},
	} {
		low, high := quality.Wilson(c.k/c.n, c.n, c.confidence)
		near(t, fmt.Sprintf("%v of %v, low", c.k, c.n), low, c.low)
		near(t, fmt.Sprintf("%v of %v, high", c.k, c.n), high, c.high)
	}
	if low, high := quality.Wilson(0.5, 0, 0.95); low != 0 || high != 1 {
		t.Errorf("of nothing: %v to %v", low, high)
	}
}

func TestWeightedRate(t *testing.T) {
	verdict := func(trace, outcome string, p float64) record.Verdict {
		return record.Verdict{TraceID: trace, InferenceID: "i" + trace, Outcome: outcome, InclusionP: p}
	}
	sample, others := quality.Observations([]record.Verdict{
		verdict("a", "pass", 1), verdict("a", "fail", 1), verdict("b", "pass", 0.1), verdict("c", "pass", 0.1), verdict("c", "fail", 0.1),
		verdict("", "pass", 0.25), verdict("d", "inconclusive", 1), verdict("e", "not_applicable", 1), verdict("f", "inconclusive", 0.1),
	})
	if diff := cmp.Diff(map[string]int{"inconclusive": 2, "not_applicable": 1}, others); diff != "" {
		t.Error(diff)
	}
	r := quality.Weighted(sample, 0.95)
	near(t, "rate", float64(r.Rate), 25.0/36)
	near(t, "effective size", r.Effective, 2.4923076923076923)
	near(t, "low", float64(r.Low), 0.1988850287227132)
	near(t, "high", float64(r.High), 0.9541409420391002)
	if r.N != 6 || r.Clusters != 4 {
		t.Errorf("n %d, clusters %d", r.N, r.Clusters)
	}
	for i := range sample {
		sample[i].Cluster = "" // each on its own
	}
	r = quality.Weighted(append(sample, quality.Observation{Pass: true}), 0.95) // one that was never sampled
	near(t, "effective size without clusters", r.Effective, 4.0754716981132075)
	near(t, "low without clusters", float64(r.Low), 0.26563927369531337)
	near(t, "high without clusters", float64(r.High), 0.9345526639012441)
	if r := quality.Weighted(nil, 0.95); r.Rate.Defined() || r.N != 0 {
		t.Errorf("of nothing: %+v", r)
	}
}

// Failures judged a hundred times as often: the weighted rate is the truth, and
// its interval holds it about as often as it says.
func TestWeightedRateCoversTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const runs, truth = 400, 0.9
	held := 0
	for range runs {
		var sample []quality.Observation
		for range 4000 {
			pass := random.Float64() < truth
			p := 0.02
			if !pass && random.Float64() < 0.3 { // seen to fail at once
				p = 1
			}
			if random.Float64() < p {
				sample = append(sample, quality.Observation{Pass: pass, InclusionP: p})
			}
		}
		if r := quality.Weighted(sample, 0.95); r.Low <= truth && truth <= r.High {
			held++
		}
	}
	if share := float64(held) / runs; share < 0.92 {
		t.Errorf("the interval holds the truth in %.3f of the runs", share)
	}
}
