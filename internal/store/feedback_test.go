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

func ptr[T any](v T) *T { return &v }

func said(id string, at time.Time, change func(*record.Feedback)) record.Feedback {
	f := record.Feedback{ID: id, Time: at, Updated: at, Label: "down"}
	change(&f)
	return f
}

func TestFeedbackIsKeptOnceAndReplaced(t *testing.T) {
	s, _ := open(t)
	at := now()
	rows := []record.Feedback{
		said("a", at, func(f *record.Feedback) {
			f.InferenceID, f.Score, f.Comment, f.User, f.Source, f.Project = id(1), ptr(0.25), "no 'way'\n\tté", "u'1", "web", "shop"
		}),
		said("b", at.Add(time.Second), func(f *record.Feedback) { f.ResponseID = "chatcmpl-1" }),
		said("c", at.Add(2*time.Second), func(f *record.Feedback) { f.TraceID, f.Label, f.Linked = traceID(3), "up", true }),
	}
	for range 2 {
		if err := s.WriteFeedback(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	read := func(f record.FeedbackFilter) []record.Feedback {
		t.Helper()
		out, err := s.Feedback(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff([]record.Feedback{rows[2], rows[1], rows[0]}, read(record.FeedbackFilter{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		filter record.FeedbackFilter
		want   []record.Feedback
	}{
		"id":          {record.FeedbackFilter{ID: "b"}, rows[1:2]},
		"inference":   {record.FeedbackFilter{InferenceIDs: []string{id(1), id(2)}}, rows[:1]},
		"trace":       {record.FeedbackFilter{TraceID: traceID(3)}, rows[2:]},
		"response":    {record.FeedbackFilter{ResponseID: "chatcmpl-1"}, rows[1:2]},
		"label":       {record.FeedbackFilter{Label: "up"}, rows[2:]},
		"user":        {record.FeedbackFilter{User: "u'1"}, rows[:1]},
		"source":      {record.FeedbackFilter{Source: "web"}, rows[:1]},
		"project":     {record.FeedbackFilter{Project: "shop"}, rows[:1]},
		"linked":      {record.FeedbackFilter{Linked: ptr(true)}, rows[2:]},
		"not linked":  {record.FeedbackFilter{Linked: ptr(false)}, []record.Feedback{rows[1], rows[0]}},
		"times":       {record.FeedbackFilter{Since: at.Add(time.Second), Until: at.Add(2 * time.Second)}, rows[1:2]},
		"page":        {record.FeedbackFilter{Limit: 1}, rows[2:]},
		"second page": {record.FeedbackFilter{Limit: 1, Before: record.Cursor{Time: rows[2].Time, ID: "c"}}, rows[1:2]},
	} {
		if diff := cmp.Diff(c.want, read(c.filter)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// A new version is another one: filters see only what it says.
	changed := rows[0]
	changed.Label, changed.Score, changed.Time, changed.Updated = "up", nil, at.Add(time.Minute), at.Add(time.Minute)
	if err := s.WriteFeedback(t.Context(), []record.Feedback{changed}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]record.Feedback{changed}, read(record.FeedbackFilter{InferenceIDs: []string{id(1)}})); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if got := read(record.FeedbackFilter{Label: "down", User: "u'1"}); len(got) != 0 {
		t.Errorf("the old version is still found: %+v", got)
	}
}

func TestFeedbackFindsItsInference(t *testing.T) {
	s, _ := open(t)
	at := now().Add(-time.Minute)
	b := record.Batch{Token: "t"}
	for n := range 5 {
		inf := inference(n, at.Add(time.Duration(n)*time.Second))
		inf.TraceID, inf.ResponseID = traceID(7), fmt.Sprintf("chatcmpl-%d", n)
		b.Inferences = append(b.Inferences, inf)
	}
	b.Inferences[2].ToolStep = true
	b.Inferences[3].Operation = "embeddings"
	b.Inferences[4].ResponseID = "chatcmpl-1" // the same answer, from a cache
	write(t, s, b)
	for name, c := range map[string]struct {
		f    record.Feedback
		want string
	}{
		"inference":            {record.Feedback{InferenceID: id(3)}, id(3)},
		"response":             {record.Feedback{ResponseID: "chatcmpl-2"}, id(2)},
		"the latest of two":    {record.Feedback{ResponseID: "chatcmpl-1"}, id(4)},
		"trace":                {record.Feedback{TraceID: traceID(7), Time: at.Add(time.Minute)}, id(4)},
		"trace, earlier":       {record.Feedback{TraceID: traceID(7), Time: at.Add(3500 * time.Millisecond)}, id(1)},
		"unknown inference":    {record.Feedback{InferenceID: id(99)}, ""},
		"unknown response":     {record.Feedback{ResponseID: "chatcmpl-99"}, ""},
		"before the trace was": {record.Feedback{TraceID: traceID(7), Time: at.Add(-time.Second)}, ""},
	} {
		inf, err := s.FeedbackTarget(t.Context(), c.f)
		if inf.ID != c.want || errors.Is(err, store.ErrNotFound) != (c.want == "") {
			t.Errorf("%s: %q, %v; want %q", name, inf.ID, err, c.want)
		}
	}
}

func TestLinkedFeedbackMakesOneCandidate(t *testing.T) {
	s, dsn := open(t)
	at := now()
	b := batch("t", 0, 3, at)
	write(t, s, b)
	f := said("a", at, func(f *record.Feedback) { f.InferenceID, f.Project, f.Score = id(1), "shop", ptr(0.0) })
	if err := s.WriteFeedback(t.Context(), []record.Feedback{f}); err != nil {
		t.Fatal(err)
	}
	for range 3 { // also when a linker stopped in between, or there are two
		if err := s.LinkFeedback(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.FeedbackCandidates(t.Context(), []string{id(0), id(1)})
	if err != nil || len(got) != 1 {
		t.Fatalf("%d candidates: %v", len(got), err)
	}
	all, err := s.Candidates(t.Context(), record.CandidateQuery{})
	if err != nil || len(all) != 4 {
		t.Fatalf("%d candidates in all: %v", len(all), err)
	}
	c := got[0]
	if diff := cmp.Diff(all[3], c); diff != "" {
		t.Errorf("the last one (-want +got):\n%s", diff)
	}
	plain := c.WithoutFeedback()
	plain.InsertedAt = all[1].InsertedAt
	if diff := cmp.Diff(all[1], plain); diff != "" {
		t.Errorf("but for feedback and time it is what capture made (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"a", "down", ptr(0.0), ""}, []any{c.FeedbackID, c.FeedbackLabel, c.FeedbackScore, c.FeedbackSource}); diff != "" {
		t.Errorf("feedback (-want +got):\n%s", diff)
	}
	rows, err := s.Feedback(t.Context(), record.FeedbackFilter{Linked: ptr(true)})
	if err != nil || len(rows) != 1 || rows[0].InferenceID != id(1) {
		t.Errorf("linked: %+v, %v", rows, err)
	}
	// A version that came while the older one was linked wins.
	newer := f
	newer.Label, newer.Updated = "up", f.Updated.Add(time.Second)
	if err := s.WriteFeedback(t.Context(), []record.Feedback{newer}); err != nil {
		t.Fatal(err)
	}
	if err := s.LinkFeedback(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if rows, err = s.Feedback(t.Context(), record.FeedbackFilter{Linked: ptr(false)}); err != nil || len(rows) != 1 || rows[0].Label != "up" {
		t.Errorf("newer: %+v, %v", rows, err)
	}
	// What a failed view left out is still put in, though feedback made one.
	if n := count(t, dsn, "SELECT count() FROM candidates WHERE feedback_id = ''"); n != 3 {
		t.Errorf("%d candidates of capture", n)
	}
	for name, filter := range map[string]record.InferenceFilter{"any": {Feedback: record.FeedbackAny}, "label": {Feedback: "up"}} {
		found, err := s.Inferences(t.Context(), filter)
		if err != nil || len(found) != 1 || found[0].ID != id(1) {
			t.Errorf("inferences with feedback, %s: %d, %v", name, len(found), err)
		}
	}
	d, err := s.Inference(t.Context(), id(1))
	if err != nil || len(d.Feedback) != 1 || d.Feedback[0].Label != "up" {
		t.Errorf("detail: %+v, %v", d.Feedback, err)
	}
}
