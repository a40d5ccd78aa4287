package query_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"docket/internal/query"
	"docket/internal/record"
)

// fakeLabels keeps labels in memory.
type fakeLabels struct {
	kept    []record.Label
	reports []record.Calibration
}

func (f *fakeLabels) Calibrations(context.Context, string) ([]record.Calibration, error) {
	return f.reports, nil
}

func (f *fakeLabels) Labels(_ context.Context, filter record.LabelFilter) ([]record.Label, error) {
	var out []record.Label
	for _, l := range slices.Backward(f.kept) {
		if slices.Contains(filter.InferenceIDs, l.InferenceID) {
			out = append(out, l)
		}
	}
	return out, nil
}

func (f *fakeLabels) WriteLabels(_ context.Context, labels []record.Label) error {
	f.kept = append(f.kept, labels...)
	return nil
}

func serveLabels(t *testing.T) (*httptest.Server, *fakeLabels) {
	t.Helper()
	labels := &fakeLabels{}
	store := conversation()
	for i := range store.rows {
		store.rows[i].Project = "shop"
	}
	h, err := query.New(query.DefaultConfig(), query.Options{
		Store: store, Labels: labels, Criteria: []string{"apology", "tone"}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv, labels
}

func post(t *testing.T, srv *httptest.Server, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestPostLabel(t *testing.T) {
	srv, labels := serveLabels(t)
	status, body := post(t, srv, "/api/v1/labels",
		`{"inference_id":"`+strings.ToUpper(id(2))+`","criterion":"tone","label":"unsure","annotator":" ann ","comment":"hm","selection_p":0.25}`,
		"Content-Type", "application/json; charset=utf-8")
	if status != http.StatusCreated || !strings.Contains(body, `"selection_p":0.25`) {
		t.Fatalf("status %d: %s", status, body)
	}
	if status, body = post(t, srv, "/api/v1/labels", `{"inference_id":"`+id(1)+`","criterion":"status","label":"pass"}`, "Content-Type", "application/json"); status != http.StatusCreated {
		t.Fatalf("a criterion that only a verdict names: status %d: %s", status, body)
	}
	want := []record.Label{
		{Project: "shop", Criterion: "tone", InferenceID: id(2), Annotator: "ann", Label: "unsure", Comment: "hm", SelectionP: 0.25},
		{Project: "shop", Criterion: "status", InferenceID: id(1), Annotator: "anonymous", Label: "pass"},
	}
	if diff := cmp.Diff(want, labels.kept, cmpopts.IgnoreFields(record.Label{}, "Time")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestBadLabelsAreRefused(t *testing.T) {
	srv, labels := serveLabels(t)
	const json = "application/json"
	for name, c := range map[string]struct {
		body, kind string
		status     int
		want       string
	}{
		"no such inference":  {`{"inference_id":"` + id(7) + `","criterion":"tone","label":"pass"}`, json, 404, "no inference"},
		"not an id":          {`{"inference_id":"x","criterion":"tone","label":"pass"}`, json, 400, "inference_id"},
		"unknown criterion":  {`{"inference_id":"` + id(2) + `","criterion":"toon","label":"pass"}`, json, 400, "want one of status, apology, tone"},
		"unknown label":      {`{"inference_id":"` + id(2) + `","criterion":"tone","label":"good"}`, json, 400, "want one of pass, fail, unsure"},
		"misspelt key":       {`{"inference_id":"` + id(2) + `","criterion":"tone","label":"pass","commment":"x"}`, json, 400, "commment"},
		"selection of 0":     {`{"inference_id":"` + id(2) + `","criterion":"tone","label":"pass","selection_p":0}`, json, 400, "selection_p"},
		"selection above 1":  {`{"inference_id":"` + id(2) + `","criterion":"tone","label":"pass","selection_p":2}`, json, 400, "selection_p"},
		"long comment":       {`{"inference_id":"` + id(2) + `","criterion":"tone","label":"pass","comment":"` + long(4001) + `"}`, json, 400, "comment"},
		"long annotator":     {`{"inference_id":"` + id(2) + `","criterion":"tone","label":"pass","annotator":"` + long(101) + `"}`, json, 400, "annotator"},
		"two labels":         {`{"inference_id":"` + id(2) + `","criterion":"tone","label":"pass"}{"label":"fail"}`, json, 400, "more than one"},
		"not JSON":           {`label=pass`, json, 400, "body"},
		"the type of a form": {`{"inference_id":"` + id(2) + `","criterion":"tone","label":"pass"}`, "text/plain", 415, "application/json"},
		"much too long":      {`{"comment":"` + long(70000) + `"}`, json, 413, "at most"},
	} {
		if status, body := post(t, srv, "/api/v1/labels", c.body, "Content-Type", c.kind); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: status %d: %s", name, status, body)
		}
	}
	if len(labels.kept) > 0 {
		t.Errorf("kept %+v", labels.kept)
	}
}

func TestLabelsFromOtherSitesAreRefused(t *testing.T) {
	srv, labels := serveLabels(t)
	form := url.Values{"criterion": {"tone"}, "label": {"pass"}}.Encode()
	body := `{"inference_id":"` + id(2) + `","criterion":"tone","label":"pass"}`
	for name, header := range map[string][2]string{
		"cross-site fetch": {"Sec-Fetch-Site", "cross-site"}, "same site, other origin": {"Sec-Fetch-Site", "same-site"},
		"old browser": {"Origin", "https://attacker.example"}, "hidden origin": {"Origin", "null"},
	} {
		if status, _ := post(t, srv, "/api/v1/labels", body, "Content-Type", "application/json", header[0], header[1]); status != http.StatusForbidden {
			t.Errorf("%s: JSON has status %d", name, status)
		}
		if status, _ := post(t, srv, "/inferences/"+id(2)+"/labels", form, "Content-Type", "application/x-www-form-urlencoded", header[0], header[1]); status != http.StatusForbidden {
			t.Errorf("%s: the form has status %d", name, status)
		}
	}
	if len(labels.kept) > 0 {
		t.Errorf("kept %+v", labels.kept)
	}
}

// The buttons work as a plain form: back on the same page the label is shown,
// and the name is remembered.
func TestLabelButtonsWithoutAScript(t *testing.T) {
	srv, labels := serveLabels(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	srv.Client().Jar = jar
	const page = "/conversations/c%2F1%20%C3%BC"
	_, before := get(t, srv, page)
	for _, want := range []string{`action="/inferences/` + id(2) + `/labels"`, `value="` + page + `"`, "<option>tone</option>", `<button name="label" value="unsure">`} {
		if !strings.Contains(before, want) {
			t.Errorf("the page lacks %s:\n%s", want, before)
		}
	}
	if strings.Index(before, "<button disabled") > strings.Index(before, `<button name="label"`) || !strings.Contains(before, "<button disabled") {
		t.Error("Enter in a field would give a label")
	}
	form := url.Values{"criterion": {"tone"}, "label": {"fail"}, "comment": {"<b>rude</b>"}, "annotator": {"Änn <x>"}, "back": {page}}
	status, after := post(t, srv, "/inferences/"+id(2)+"/labels", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	if status != http.StatusOK || len(labels.kept) != 1 {
		t.Fatalf("status %d, kept %+v: %s", status, labels.kept, after)
	}
	for _, want := range []string{"Conversation c/1", "&lt;b&gt;rude&lt;/b&gt;", "by Änn &lt;x&gt;", `value="Änn &lt;x&gt;"`} {
		if !strings.Contains(after, want) {
			t.Errorf("the page lacks %s:\n%s", want, after)
		}
	}
	form.Set("label", "good")
	if status, body := post(t, srv, "/inferences/"+id(2)+"/labels", form.Encode(), "Content-Type", "application/x-www-form-urlencoded"); status != http.StatusBadRequest || !strings.Contains(body, "want one of pass") {
		t.Errorf("a wrong label: status %d: %s", status, body)
	}
	srv.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	form.Set("label", "pass")
	for _, back := range []string{"https://attacker.example/", "//attacker.example", "/\\attacker.example", "/login"} {
		form.Set("back", back)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/inferences/"+id(2)+"/labels", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got, want := res.Header.Get("Location"), "/inferences/"+id(2)+"#labels-"+id(2); got != want {
			t.Errorf("back to %s: %s", back, got)
		}
	}
}

// Rule 7: a criterion that was never compared with people for this version and
// judge is marked.
func TestRule07PagesMarkUncalibratedCriteria(t *testing.T) {
	srv, labels := serveLabels(t)
	const mark = ">not calibrated<"
	for _, path := range []string{"/inferences/" + id(2), "/conversations/c%2F1%20%C3%BC"} {
		labels.reports = nil
		if _, body := get(t, srv, path); strings.Count(body, mark) != 1 { // the inconclusive one says nothing to rely on
			t.Errorf("%s: %d marks", path, strings.Count(body, mark))
		}
		labels.reports = []record.Calibration{{Criterion: "apology", CriterionVersion: "another", N: 9}}
		if _, body := get(t, srv, path); strings.Count(body, mark) != 1 {
			t.Errorf("%s, calibrated in another version: %d marks", path, strings.Count(body, mark))
		}
		labels.reports = append(labels.reports, record.Calibration{Criterion: "apology", N: 40})
		if _, body := get(t, srv, path); strings.Contains(body, mark) || !strings.Contains(body, "compared with people on 40 labelled cases") {
			t.Errorf("%s, calibrated: %s", path, body)
		}
	}
}

func TestWithoutALabelStoreThereAreNoButtons(t *testing.T) {
	srv := serve(t, query.DefaultConfig(), conversation())
	if _, body := get(t, srv, "/inferences/"+id(2)); strings.Contains(body, `name="label"`) {
		t.Error("there are buttons")
	}
	if status, _ := post(t, srv, "/api/v1/labels", "{}", "Content-Type", "application/json"); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
}
