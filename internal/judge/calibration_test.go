package judge_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

// A calibration counts for the judge that it was fitted for and for no other.
func TestCalibrationIsBoundToTheJudge(t *testing.T) {
	rubric := judge.Rubric{Criteria: []judge.Criterion{{Name: "polite", Text: "The reply is polite."}}}
	got, _ := ask(t, "systemone", rubric, judgetest.Unit(), always(0.6))
	config := got.Verdicts[0].JudgeConfig
	if v := got.Verdicts[0]; v.RawProbability != nil || v.CalibratedProbability != nil {
		t.Errorf("without a calibration: %v, %v", v.RawProbability, v.CalibratedProbability)
	}
	want := 1 / (1 + math.Exp(-(2*math.Log(0.6/0.4) - 1)))
	near := func(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-12 }

	for _, used := range []bool{false, true} {
		rubric.UseCalibrated = used
		rubric.Criteria[0].Calibration = &judge.Calibration{Slope: 2, Intercept: -1, JudgeConfig: config}
		got, _ = ask(t, "systemone", rubric, judgetest.Unit(), always(0.6))
		v := got.Verdicts[0]
		compared := map[bool]float64{false: 0.6, true: want}[used]
		if !near(v.RawProbability, 0.6) || !near(v.CalibratedProbability, want) || !near(v.Probability, compared) || slices.Contains(v.Flags, judge.FlagCalibrated) != used {
			t.Errorf("used %v: raw %v, calibrated %v, compared %v, flags %v", used, *v.RawProbability, *v.CalibratedProbability, *v.Probability, v.Flags)
		}
		if (v.JudgeConfig == config) == used {
			t.Errorf("used %v: configuration %s, without calibration %s", used, v.JudgeConfig, config)
		}
	}

	rubric.Criteria[0].Calibration.JudgeConfig = "0123456789abcdef"
	wantError(t, newWith(rubric), "polite", "calibration.judge_config", "0123456789abcdef", "calibrate again")
	rubric.UseCalibrated = false // then it is only of no use
	got, _ = ask(t, "systemone", rubric, judgetest.Unit(), always(0.6))
	if v := got.Verdicts[0]; v.CalibratedProbability != nil || *v.Probability != 0.6 {
		t.Errorf("another judge's calibration was applied: %+v", v)
	}
}

// What a fallback answers is not calibrated by what was fitted for the first
// judge.
func TestCalibrationIsNotForFallbacks(t *testing.T) {
	down, _ := server(t, scripted{Status: 400, Body: []byte(`{}`)})
	up, _ := server(t, scripted{Status: 200, Body: []byte(`{"answers":{"q1":{"type":"noul","noul":0.6}}}`)})
	first, second := formatOfWire("systemone"), formatOfWire("systemone")
	first.URL, second.URL, second.Model = down, up, "judge-2"
	rubric := judge.Rubric{
		Backend: "first", Fallbacks: []string{"second"}, UseCalibrated: true,
		Criteria: []judge.Criterion{{Text: "The reply is polite.", Calibration: &judge.Calibration{Slope: 2, Intercept: -1}}},
	}
	j, err := judge.New(judge.Config{Backends: map[string]judge.BackendConfig{"first": first, "second": second}}, map[string]judge.Rubric{"r": rubric}, judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := j.Judge(t.Context(), "r", judgetest.Unit()).Verdicts[0]
	if !v.Fallback || v.Outcome != record.OutcomePass || *v.Probability != 0.6 || v.CalibratedProbability != nil || strings.Contains(strings.Join(v.Flags, " "), judge.FlagCalibrated) {
		t.Errorf("%+v", v)
	}
}
