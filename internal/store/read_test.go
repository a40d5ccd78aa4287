package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/store"
)

func inferenceIDs(list []record.Inference) []string {
	out := []string{}
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

func verdictIDs(list []record.Verdict) []string {
	out := []string{}
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

// verdict is one of inference n.
func verdict(name string, n int, at time.Time, outcome string) record.Verdict {
	return record.Verdict{
		ID: name, JudgedAt: at.Add(time.Minute), Time: at, Project: "shop", Unit: "inference",
		InferenceID: id(n), TraceID: traceID(n), Rubric: "support", Criterion: "polite", Outcome: outcome,
		InclusionP: 0.5, Threshold: 0.5, Weight: 1,
	}
}

func writeVerdicts(t testing.TB, s *store.Store, list ...record.Verdict) {
	t.Helper()
	if err := s.WriteVerdicts(t.Context(), nil, list); err != nil {
		t.Fatal(err)
	}
}

func TestInferenceFilters(t *testing.T) {
	s, _ := open(t)
	at := now().Add(-time.Hour)
	var b record.Batch
	b.Token = "x"
	for i := range 4 {
		when := at.Add(time.Duration(i) * time.Minute)
		b.Inferences = append(b.Inferences, inference(i, when))
		b.Bodies = append(b.Bodies, body(i, when, fmt.Sprintf("Réponse número %d", i)))
	}
	r := &b.Inferences[1]
	r.Project, r.Environment, r.ConversationID, r.ResponseID = "mail", "prod", "conv-1", "chatcmpl-1"
	r.RequestModel, r.Operation, r.TerminalState = "large", "embeddings", record.StateUpstreamError
	b.Bodies[1].Project = "mail"
	b.Inferences[2].ResponseModel = "large"
	b.Bodies[3].Input = []record.Message{{Role: "user", Parts: []record.Part{{Type: record.PartText, Content: "say \"hi\" <b>\n100% _really_ 'ok' \\"}}}}
	write(t, s, b)
	writeVerdicts(t, s,
		verdict("v1", 1, b.Inferences[1].Time, record.OutcomeFail),
		verdict("v2", 2, b.Inferences[2].Time, record.OutcomeFail))
	again := verdict("v2", 2, b.Inferences[2].Time, record.OutcomePass)
	again.JudgedAt = again.JudgedAt.Add(time.Second)
	writeVerdicts(t, s, again)

	all := []int{3, 2, 1, 0}
	for name, tc := range map[string]struct {
		filter record.InferenceFilter
		want   []int
	}{
		"all":                     {record.InferenceFilter{}, all},
		"limit":                   {record.InferenceFilter{Limit: 2}, []int{3, 2}},
		"id":                      {record.InferenceFilter{ID: id(1)}, []int{1}},
		"unknown id":              {record.InferenceFilter{ID: "no uuid at all"}, nil},
		"project":                 {record.InferenceFilter{Project: "mail"}, []int{1}},
		"environment":             {record.InferenceFilter{Environment: "prod"}, []int{1}},
		"trace":                   {record.InferenceFilter{TraceID: traceID(2)}, []int{2}},
		"conversation":            {record.InferenceFilter{ConversationID: "conv-1"}, []int{1}},
		"response":                {record.InferenceFilter{ResponseID: "chatcmpl-1"}, []int{1}},
		"model":                   {record.InferenceFilter{Model: "large"}, []int{2, 1}},
		"operation":               {record.InferenceFilter{Operation: "embeddings"}, []int{1}},
		"state":                   {record.InferenceFilter{TerminalState: record.StateUpstreamError}, []int{1}},
		"since is included":       {record.InferenceFilter{Since: b.Inferences[2].Time}, []int{3, 2}},
		"until is not":            {record.InferenceFilter{Until: b.Inferences[2].Time}, []int{1, 0}},
		"failed now":              {record.InferenceFilter{Outcome: record.OutcomeFail}, []int{1}},
		"passed now":              {record.InferenceFilter{Outcome: record.OutcomePass}, []int{2}},
		"text, other case":        {record.InferenceFilter{Text: "RÉPONSE NÚMERO 2"}, []int{2}},
		"text of a project":       {record.InferenceFilter{Text: "réponse", Project: "mail"}, []int{1}},
		"text with special signs": {record.InferenceFilter{Text: "\"HI\" <b>\n100% _really_ 'ok' \\"}, []int{3}},
		"text as a pattern":       {record.InferenceFilter{Text: "%"}, []int{3}},
		"quote":                   {record.InferenceFilter{Project: `' OR 1=1 -- \`}, nil},
		"several":                 {record.InferenceFilter{Project: "shop", Model: "large", Outcome: "pass", Text: "2", TraceID: traceID(2)}, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Inferences(t.Context(), tc.filter)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{}
			for _, n := range tc.want {
				want = append(want, id(n))
			}
			if diff := cmp.Diff(want, inferenceIDs(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPagesOfInferencesMeet(t *testing.T) {
	s, _ := open(t)
	b := record.Batch{Token: "x"}
	ages := []time.Duration{0, 0, 0, time.Minute, 2 * time.Hour, 30 * time.Hour, 30 * time.Hour, 20 * 24 * time.Hour, 80 * 24 * time.Hour, 400 * 24 * time.Hour, -time.Hour}
	at := now()
	for i, age := range ages {
		b.Inferences = append(b.Inferences, inference(i, at.Add(-age)))
	}
	write(t, s, b)
	want, err := s.Inferences(t.Context(), record.InferenceFilter{Limit: 100})
	if err != nil || len(want) != len(ages) {
		t.Fatalf("got %d rows: %v", len(want), err)
	}
	for i := 1; i < len(want); i++ {
		a, b := want[i-1], want[i]
		if a.Time.Before(b.Time) || a.Time.Equal(b.Time) && a.ID <= b.ID {
			t.Errorf("row %d is not after row %d", i, i-1)
		}
	}
	for _, size := range []int{1, 2, 3, 7} {
		var got []record.Inference
		var before record.Cursor
		for {
			page, err := s.Inferences(t.Context(), record.InferenceFilter{Limit: size, Before: before})
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			last := page[len(page)-1]
			before = record.Cursor{Time: last.Time, ID: last.ID}
		}
		if diff := cmp.Diff(inferenceIDs(want), inferenceIDs(got)); diff != "" {
			t.Errorf("pages of %d: %s", size, diff)
		}
	}
}

func TestTextSearchIsBounded(t *testing.T) {
	s, _ := open(t, func(c *store.Config) { c.SearchWindow = 24 * time.Hour })
	at := now()
	near, far := at.Add(-time.Hour), at.Add(-48*time.Hour)
	write(t, s, record.Batch{
		Token:      "x",
		Inferences: []record.Inference{inference(0, near), inference(1, far)},
		Bodies:     []record.Body{body(0, near, "needle"), body(1, far, "needle")},
	})
	for name, tc := range map[string]struct {
		filter record.InferenceFilter
		want   []string
	}{
		"newest":       {record.InferenceFilter{Text: "needle"}, []string{id(0)}},
		"further back": {record.InferenceFilter{Text: "needle", Until: at.Add(-40 * time.Hour)}, []string{id(1)}},
		"next page":    {record.InferenceFilter{Text: "needle", Before: record.Cursor{Time: at.Add(-40 * time.Hour)}}, []string{id(1)}},
	} {
		got, err := s.Inferences(t.Context(), tc.filter)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, inferenceIDs(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestUnknownInference(t *testing.T) {
	s, _ := open(t)
	for _, name := range []string{"", "x", id(1)} {
		if _, err := s.Inference(t.Context(), name); !errors.Is(err, store.ErrNotFound) || !errors.Is(err, record.ErrNotFound) {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

func TestInferenceWithoutItsBody(t *testing.T) {
	s, _ := open(t)
	write(t, s, record.Batch{Token: "x", Inferences: []record.Inference{inference(0, now())}})
	got, err := s.Inference(t.Context(), id(0))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(record.InferenceDetail{Inference: got.Inference}, got); diff != "" {
		t.Error(diff)
	}
}

func TestVerdictFilters(t *testing.T) {
	s, _ := open(t)
	at := now().Add(-time.Hour)
	list := []record.Verdict{
		verdict("a", 0, at, record.OutcomePass),
		verdict("b", 1, at.Add(time.Minute), record.OutcomeFail),
		verdict("c", 2, at.Add(2*time.Minute), record.OutcomeFail),
		verdict("d", 2, at.Add(-50*24*time.Hour), record.OutcomeInconclusive),
	}
	list[1].Project, list[1].Rubric, list[1].Criterion, list[1].ConversationID = "mail", "mails", "short", "conv"
	list[3].Reason, list[1].Reason = record.ReasonUncertain, record.ReasonTimeout
	writeVerdicts(t, s, list...)
	newer := list[2]
	newer.Outcome, newer.JudgedAt = record.OutcomePass, newer.JudgedAt.Add(time.Second)
	writeVerdicts(t, s, newer)
	for name, tc := range map[string]struct {
		filter record.VerdictFilter
		want   []string
	}{
		"all":          {record.VerdictFilter{}, []string{"c", "b", "a", "d"}},
		"limit":        {record.VerdictFilter{Limit: 1}, []string{"c"}},
		"project":      {record.VerdictFilter{Project: "mail"}, []string{"b"}},
		"inferences":   {record.VerdictFilter{InferenceIDs: []string{id(0), id(2)}}, []string{"c", "a", "d"}},
		"trace":        {record.VerdictFilter{TraceID: traceID(1)}, []string{"b"}},
		"conversation": {record.VerdictFilter{ConversationID: "conv"}, []string{"b"}},
		"rubric":       {record.VerdictFilter{Rubric: "support"}, []string{"c", "a", "d"}},
		"criterion":    {record.VerdictFilter{Criterion: "short"}, []string{"b"}},
		"pass":         {record.VerdictFilter{Outcome: record.OutcomePass}, []string{"c", "a"}},
		"fail":         {record.VerdictFilter{Outcome: record.OutcomeFail}, []string{"b"}},
		"inconclusive": {record.VerdictFilter{Outcome: record.OutcomeInconclusive}, []string{"d"}},
		"reason":       {record.VerdictFilter{Reason: record.ReasonUncertain}, []string{"d"}},
		"two of them":  {record.VerdictFilter{Outcome: record.OutcomeInconclusive, Reason: record.ReasonUncertain}, []string{"d"}},
		"none":         {record.VerdictFilter{Outcome: record.OutcomePass, Reason: record.ReasonUncertain}, []string{}},
		"since":        {record.VerdictFilter{Since: at}, []string{"c", "b", "a"}},
		"until":        {record.VerdictFilter{Until: at}, []string{"d"}},
		"before":       {record.VerdictFilter{Before: record.Cursor{Time: at, ID: "a"}}, []string{"d"}},
		"before same":  {record.VerdictFilter{Before: record.Cursor{Time: at, ID: "b"}}, []string{"a", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Verdicts(t.Context(), tc.filter)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, verdictIDs(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	got, err := s.Verdicts(t.Context(), record.VerdictFilter{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]record.Verdict{newer}, got); diff != "" {
		t.Error(diff)
	}
}

func TestVerdictsOfManyInferences(t *testing.T) {
	s, _ := open(t)
	var ids []string
	for i := range 1200 {
		ids = append(ids, id(i))
	}
	at := now()
	writeVerdicts(t, s, verdict("a", 3, at, "pass"), verdict("b", 1100, at.Add(time.Second), "pass"), verdict("c", 700, at, "pass"))
	got, err := s.Verdicts(t.Context(), record.VerdictFilter{InferenceIDs: ids, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "c"}, verdictIDs(got)); diff != "" {
		t.Error(diff)
	}
}
