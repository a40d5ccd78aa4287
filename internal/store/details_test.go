package store_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
)

// Reads that must miss nothing go on past the limit of a page.
func TestAllMeansAll(t *testing.T) {
	s, _ := open(t)
	at, n := now(), 10_050
	inf := inference(1, at)
	verdicts, labels := make([]record.Verdict, n), make([]record.Label, n)
	for i := range n {
		verdicts[i] = record.Verdict{ID: fmt.Sprintf("v%06d", i), JudgedAt: at, Time: at, InferenceID: inf.ID, Rubric: "r", Criterion: "c", Outcome: record.OutcomePass, InclusionP: 1}
		labels[i] = record.Label{Time: at, Criterion: "c", InferenceID: inf.ID, Annotator: fmt.Sprint("a", i), Label: record.LabelPass}
	}
	write(t, s, record.Batch{Token: "t", Inferences: []record.Inference{inf}})
	if err := s.WriteVerdicts(t.Context(), nil, verdicts); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteLabels(t.Context(), labels); err != nil {
		t.Fatal(err)
	}
	page, err := s.Labels(t.Context(), record.LabelFilter{Criterion: "c", Limit: 1 << 20})
	if err != nil || len(page) != 10_000 {
		t.Errorf("a page has %d labels: %v", len(page), err)
	}
	all, err := s.AllLabels(t.Context(), record.LabelFilter{Criterion: "c"})
	if err != nil || len(all) != n {
		t.Errorf("%d labels, want %d: %v", len(all), n, err)
	}
	d, err := s.Details(t.Context(), []record.Inference{inf})
	if err != nil || len(d) != 1 {
		t.Fatal(err)
	}
	distinct := map[string]bool{}
	for _, v := range d[0].Verdicts {
		distinct[v.ID] = true
	}
	if diff := cmp.Diff([]int{n, n, n}, []int{len(d[0].Verdicts), len(distinct), len(d[0].Labels)}); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}
