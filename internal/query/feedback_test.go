package query_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"docket/internal/query"
	"docket/internal/record"
)

// fakeFeedback keeps feedback in memory.
type fakeFeedback struct {
	kept   []record.Feedback
	filter record.FeedbackFilter
	err    error
}

func (f *fakeFeedback) Feedback(_ context.Context, filter record.FeedbackFilter) ([]record.Feedback, error) {
	f.filter = filter
	var out []record.Feedback
	for _, r := range slices.Backward(f.kept) {
		if (filter.ID == "" || r.ID == filter.ID) && (filter.InferenceIDs == nil || slices.Contains(filter.InferenceIDs, r.InferenceID)) && len(out) < filter.Limit {
			out = append(out, r)
		}
	}
	return out, f.err
}

func (f *fakeFeedback) WriteFeedback(_ context.Context, list []record.Feedback) error {
	f.kept = append(f.kept, list...)
	return f.err
}

func (f *fakeFeedback) FeedbackTarget(_ context.Context, r record.Feedback) (record.Inference, error) {
	if r.InferenceID == id(2) || r.ResponseID == "chatcmpl-2" {
		return record.Inference{ID: id(2), Project: "shop"}, f.err
	}
	return record.Inference{}, fmt.Errorf("%w", record.ErrNotFound)
}

func serveFeedback(t *testing.T, change ...func(*query.Config)) (*httptest.Server, *fakeFeedback) {
	t.Helper()
	feedback := &fakeFeedback{}
	config := query.DefaultConfig()
	for _, f := range change {
		f(&config)
	}
	h, err := query.New(config, query.Options{Store: conversation(), Feedback: feedback, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv, feedback
}

const jsonType = "application/json"

func TestPostFeedback(t *testing.T) {
	srv, feedback := serveFeedback(t)
	for _, c := range []struct {
		name, body string
		status     int
		answer     string
	}{
		{"known inference", `{"inference_id":"` + strings.ToUpper(id(2)) + `","label":" Down ","score":0.25,"comment":" no ","user":"u","source":"web","id":"mine"}`, 201, `"project":"shop"`},
		{"the same again", `{"inference_id":"` + id(2) + `","label":"down","score":0.25,"comment":"no","user":"u","source":"web","id":"mine"}`, 200, `"id":"mine"`},
		{"another mind", `{"inference_id":"` + id(2) + `","label":"up","id":"mine"}`, 201, `"label":"up"`},
		{"response", `{"response_id":"chatcmpl-2","score":0}`, 201, `"inference_id":"` + id(2)},
		{"not stored yet", `{"response_id":"chatcmpl-3","score":1}`, 202, `"state":"waiting"`},
		{"trace", `{"trace_id":"` + strings.Repeat("AB", 16) + `","label":"wrong_tone"}`, 202, `"inference_id":null`},
	} {
		status, body := post(t, srv, "/api/v1/feedback", c.body, "Content-Type", jsonType)
		if status != c.status || !strings.Contains(body, c.answer) {
			t.Errorf("%s: status %d: %s", c.name, status, body)
		}
	}
	want := []record.Feedback{
		{ID: "mine", Project: "shop", InferenceID: id(2), Label: "down", Score: ptr(0.25), Comment: "no", User: "u", Source: "web"},
		{ID: "mine", Project: "shop", InferenceID: id(2), Label: "up"},
		{Project: "shop", InferenceID: id(2), ResponseID: "chatcmpl-2", Score: ptr(0.0)},
		{ResponseID: "chatcmpl-3", Score: ptr(1.0)},
		{TraceID: strings.Repeat("ab", 16), Label: "wrong_tone"},
	}
	opts := []cmp.Option{cmpopts.IgnoreFields(record.Feedback{}, "Time", "Updated"), cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "ID" },
		cmp.Comparer(func(a, b string) bool { return a == b || a == "" && len(b) == 36 || b == "" && len(a) == 36 }))}
	if diff := cmp.Diff(want, feedback.kept, opts...); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestBadFeedbackIsRefused(t *testing.T) {
	srv, feedback := serveFeedback(t)
	target := `"inference_id":"` + id(2) + `"`
	for name, c := range map[string]struct {
		body, kind string
		status     int
		says       string
	}{
		"form":          {`{` + target + `,"label":"up"}`, "text/plain", 415, "application/json"},
		"too large":     {`{"comment":"` + strings.Repeat("x", 70<<10) + `"}`, jsonType, 413, "at most 65536 bytes"},
		"unknown field": {`{` + target + `,"labels":"up"}`, jsonType, 400, `unknown field`},
		"empty":         {``, jsonType, 400, "body: empty: want a JSON object"},
		"array":         {`[]`, jsonType, 400, "body: want a JSON object, found array"},
		"text score":    {`{` + target + `,"score":"1"}`, jsonType, 400, "score: want a number, found string"},
		"huge score":    {`{` + target + `,"score":1e400}`, jsonType, 400, "score: 1e400 is too large"},
		"number label":  {`{` + target + `,"label":1}`, jsonType, 400, "label: want a text, found number"},
		"two values":    {`{` + target + `,"label":"up"} {}`, jsonType, 400, "more than one"},
		"no target":     {`{"label":"up"}`, jsonType, 400, "exactly one of inference_id, response_id and trace_id, found 0"},
		"two targets":   {`{` + target + `,"response_id":"r","label":"up"}`, jsonType, 400, "found 2"},
		"bad inference": {`{"inference_id":"x","label":"up"}`, jsonType, 400, `inference_id: \"x\"`},
		"bad trace":     {`{"trace_id":"12","label":"up"}`, jsonType, 400, "want 32 hexadecimal digits"},
		"nothing said":  {`{` + target + `,"comment":"hm"}`, jsonType, 400, "want a score, a label, or both"},
		"score":         {`{` + target + `,"score":1.5}`, jsonType, 400, "score: 1.5: want a number from 0 (bad) to 1 (good)"},
		"label":         {`{` + target + `,"label":"not a word"}`, jsonType, 400, `label: \"not a word\"`},
		"comment":       {`{` + target + `,"label":"up","comment":"` + strings.Repeat("é", 4001) + `"}`, jsonType, 400, "comment: longer than 4000 characters"},
		"user":          {`{` + target + `,"label":"up","user":"` + strings.Repeat("u", 201) + `"}`, jsonType, 400, "user: longer than 200 characters"},
		"id":            {`{` + target + `,"label":"up","id":"` + strings.Repeat("u", 201) + `"}`, jsonType, 400, "id: longer than 200 characters"},
	} {
		status, body := post(t, srv, "/api/v1/feedback", c.body, "Content-Type", c.kind)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: status %d, want %d: %s", name, status, c.status, body)
		}
	}
	if status, _ := post(t, srv, "/api/v1/feedback", `{`+target+`,"label":"up"}`, "Content-Type", jsonType, "Origin", "https://evil.example"); status != http.StatusForbidden {
		t.Errorf("from another site: status %d", status)
	}
	if len(feedback.kept) != 0 {
		t.Errorf("kept %+v", feedback.kept)
	}
}

func TestFeedbackNeedsTheToken(t *testing.T) {
	srv, feedback := serveFeedback(t, func(c *query.Config) { c.Token = record.NewSecret("s3cret") })
	body := `{"inference_id":"` + id(2) + `","label":"up"}`
	if status, _ := post(t, srv, "/api/v1/feedback", body, "Content-Type", jsonType); status != http.StatusUnauthorized {
		t.Errorf("without the token: status %d", status)
	}
	if status, _ := post(t, srv, "/api/v1/feedback", body, "Content-Type", jsonType, "Authorization", "Bearer s3cret"); status != http.StatusCreated {
		t.Errorf("with it: status %d", status)
	}
	if len(feedback.kept) != 1 {
		t.Errorf("kept %+v", feedback.kept)
	}
}

func TestFeedbackIsShown(t *testing.T) {
	srv, feedback := serveFeedback(t)
	feedback.kept = []record.Feedback{
		{ID: "x/1", InferenceID: id(2), Label: "down", Score: ptr(0.25), Comment: "<b>no</b>", User: "u", Linked: true},
		{ID: "x/2", InferenceID: id(2), Label: "up"},
	}
	got := getJSON(t, srv, "/api/v1/feedback?limit=1&state=linked&user=u&label=down&source=web&inference_id="+id(2))
	if n := len(got["feedback"].([]any)); n != 1 || got["next_cursor"] == nil {
		t.Errorf("list: %v", got)
	}
	want := record.FeedbackFilter{Label: "down", User: "u", Source: "web", Linked: ptr(true), InferenceIDs: []string{id(2)}, Limit: 2}
	if diff := cmp.Diff(want, feedback.filter); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	getJSON(t, srv, "/api/v1/feedback?cursor="+got["next_cursor"].(string))
	if feedback.filter.Before.ID != "x/2" {
		t.Errorf("cursor: %+v", feedback.filter.Before)
	}
	for _, path := range []string{"/", "/conversations/c%2F1%20%C3%BC"} {
		_, page := get(t, srv, path)
		if !strings.Contains(page, "👎 0.25") || !strings.Contains(page, "👍") || strings.Contains(page, "<b>no</b>") || !strings.Contains(page, "&lt;b&gt;no") {
			t.Errorf("%s does not show it as text", path)
		}
	}
	if status, body := get(t, srv, "/api/v1/feedback?state=odd"); status != http.StatusBadRequest || !strings.Contains(body, "waiting, linked") {
		t.Errorf("status %d: %s", status, body)
	}
}
