package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
)

func writeLabels(t *testing.T, write func([]record.Label) error, list ...record.Label) {
	t.Helper()
	for range 2 { // writing again changes nothing
		if err := write(list); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLaterLabelOfTheSamePersonReplaces(t *testing.T) {
	s, dsn := open(t)
	at := now()
	write(t, s, batch("1", 0, 2, at))
	label := func(n int, who, what string, after time.Duration) record.Label {
		return record.Label{Time: at.Add(after), Project: "shop", Criterion: "polite", InferenceID: id(n), Annotator: who, Label: what, Comment: "because", SelectionP: 0.5}
	}
	put := func(list []record.Label) error { return s.WriteLabels(t.Context(), list) }
	writeLabels(t, put, label(0, "ann", "pass", 0), label(0, "bob", "fail", time.Second), label(1, "ann", "unsure", 2*time.Second))
	writeLabels(t, put, label(0, "ann", "fail", 3*time.Second))
	want := []record.Label{label(0, "ann", "fail", 3*time.Second), label(1, "ann", "unsure", 2*time.Second), label(0, "bob", "fail", time.Second)}
	for _, f := range []record.LabelFilter{{}, {Project: "shop", Criterion: "polite"}, {InferenceIDs: []string{id(0), id(1)}}} {
		got, err := s.Labels(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: (-want +got):\n%s", f, diff)
		}
	}
	if got, err := s.Labels(t.Context(), record.LabelFilter{Criterion: "other"}); err != nil || len(got) != 0 {
		t.Errorf("another criterion: %v: %v", got, err)
	}
	d, err := s.Inference(t.Context(), id(0))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]record.Label{want[0], want[2]}, d.Labels); diff != "" {
		t.Errorf("labels of the inference (-want +got):\n%s", diff)
	}
	if n := count(t, dsn, "SELECT count() FROM human_labels FINAL"); n != 3 {
		t.Errorf("%d rows after merging, want 3", n)
	}
	many := make([]string, 2500)
	for i := range many {
		many[i] = id(i)
	}
	if got, err := s.Labels(t.Context(), record.LabelFilter{InferenceIDs: many}); err != nil || len(got) != 3 {
		t.Errorf("of many inferences: %d labels: %v", len(got), err)
	}
}

func TestCalibrationRowsComeBack(t *testing.T) {
	s, _ := open(t)
	at := now()
	answer := filled[record.CalibrationAnswer](at)
	again := answer
	again.Time, again.Outcome = answer.Time.Add(time.Second), "later"
	second := answer
	second.Repeat++
	for range 2 {
		for _, list := range [][]record.CalibrationAnswer{{answer, second}, {again}} {
			if err := s.WriteCalibrationAnswers(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := s.CalibrationAnswers(t.Context(), []string{answer.VerdictID, "other"})
	if err != nil {
		t.Fatal(err)
	}
	want := []record.CalibrationAnswer{again, second}
	slices.SortFunc(want, func(a, b record.CalibrationAnswer) int { return int(a.Repeat) - int(b.Repeat) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	report := filled[record.Calibration](at)
	newer := report
	newer.Time, newer.Slope, newer.Intercept = report.Time.Add(time.Minute), nil, nil
	for _, c := range []record.Calibration{report, newer} {
		if err := s.WriteCalibrations(t.Context(), []record.Calibration{c}); err != nil {
			t.Fatal(err)
		}
	}
	for _, rubric := range []string{"", report.Rubric} {
		reports, err := s.Calibrations(t.Context(), rubric)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]record.Calibration{newer}, reports); diff != "" {
			t.Errorf("reports of %q (-want +got):\n%s", rubric, diff)
		}
	}
	if reports, err := s.Calibrations(t.Context(), "other"); err != nil || len(reports) != 0 {
		t.Errorf("another rubric: %v: %v", reports, err)
	}
}
