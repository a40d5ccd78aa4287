package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"docket/internal/record"
)

// LabelStore keeps what people say about criteria. Methods are safe for
// concurrent use.
type LabelStore interface {
	// Labels returns the latest label of each person on each criterion and
	// inference, newest first.
	Labels(ctx context.Context, filter record.LabelFilter) ([]record.Label, error)
	// WriteLabels replaces what the same person said before.
	WriteLabels(ctx context.Context, labels []record.Label) error
	// Calibrations returns the latest report on each criterion, version and judge
	// configuration; of all rubrics when rubric is "".
	Calibrations(ctx context.Context, rubric string) ([]record.Calibration, error)
}

const (
	maxLabelBody    = 64 << 10 // bytes of a request
	maxComment      = 4000     // characters
	maxAnnotator    = 100      // characters
	anonymous       = "anonymous"
	annotatorCookie = "docket_annotator"
)

var labelValues = []string{record.LabelPass, record.LabelFail, record.LabelUnsure}

// labelRequest is a label as the API takes it.
type labelRequest struct {
	InferenceID string   `json:"inference_id"`
	Criterion   string   `json:"criterion"`
	Label       string   `json:"label"`
	Annotator   string   `json:"annotator"`
	Comment     string   `json:"comment"`
	SelectionP  *float64 `json:"selection_p"`
}

// postLabel is POST /api/v1/labels.
func (s *server) postLabel(c *gin.Context) {
	var in labelRequest
	if !s.readJSON(c, "label", maxLabelBody, &in) {
		return
	}
	label, err := s.keepLabel(c, in)
	if err != nil {
		c.JSON(s.status(c, err))
		return
	}
	c.JSON(http.StatusCreated, newLabelView(label))
}

// postLabelForm is what the buttons of a page send, also without a script.
func (s *server) postLabelForm(c *gin.Context) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxLabelBody)
	in := labelRequest{
		InferenceID: c.Param("id"), Criterion: c.PostForm("criterion"), Label: c.PostForm("label"),
		Annotator: c.PostForm("annotator"), Comment: c.PostForm("comment"),
	}
	label, err := s.keepLabel(c, in)
	if err != nil {
		s.renderError(c, err)
		return
	}
	http.SetCookie(c.Writer, &http.Cookie{
		Name: annotatorCookie, Value: cookieText(label.Annotator), Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: c.Request.TLS != nil, MaxAge: int((365 * 24 * time.Hour).Seconds()),
	})
	c.Redirect(http.StatusSeeOther, backTo(c.PostForm("back"), label.InferenceID))
}

// backTo is the page the form was on, if it is one of ours.
func backTo(page, inferenceID string) string {
	ours := strings.HasPrefix(page, "/conversations/") || strings.HasPrefix(page, "/inferences/")
	if !ours || strings.ContainsAny(page, "\r\n\\") {
		page = "/inferences/" + inferenceID
	}
	page, _, _ = strings.Cut(page, "#")
	return page + "#labels-" + inferenceID
}

// keepLabel checks a label and stores it.
func (s *server) keepLabel(ctx context.Context, in labelRequest) (record.Label, error) {
	id, err := uuid.Parse(in.InferenceID)
	if err != nil {
		return record.Label{}, badRequest{fmt.Errorf("inference_id: %q: want the id of an inference", in.InferenceID)}
	}
	label := record.Label{
		Time: time.Now().UTC().Truncate(time.Microsecond), Criterion: in.Criterion, InferenceID: id.String(),
		Annotator: cmp.Or(strings.TrimSpace(in.Annotator), anonymous), Label: in.Label, Comment: strings.TrimSpace(in.Comment),
	}
	if err := checkLabel(label, in.SelectionP); err != nil {
		return record.Label{}, badRequest{err}
	}
	if in.SelectionP != nil {
		label.SelectionP = *in.SelectionP
	}
	d, err := s.opts.Store.Inference(ctx, label.InferenceID)
	if err != nil {
		return record.Label{}, err
	}
	known := s.criteriaOf(d.Verdicts)
	if !slices.Contains(known, label.Criterion) {
		return record.Label{}, badRequest{fmt.Errorf("criterion: %q: want one of %s", label.Criterion, cmp.Or(strings.Join(known, ", "), "none: no rubric is set"))}
	}
	label.Project = d.Inference.Project
	return label, s.opts.Labels.WriteLabels(ctx, []record.Label{label})
}

func checkLabel(l record.Label, selection *float64) error {
	switch {
	case !slices.Contains(labelValues, l.Label):
		return fmt.Errorf("label: %q: want one of %s", l.Label, strings.Join(labelValues, ", "))
	case utf8.RuneCountInString(l.Comment) > maxComment:
		return fmt.Errorf("comment: longer than %d characters", maxComment)
	case utf8.RuneCountInString(l.Annotator) > maxAnnotator:
		return fmt.Errorf("annotator: longer than %d characters", maxAnnotator)
	case !utf8.ValidString(l.Comment) || !utf8.ValidString(l.Annotator):
		return errors.New("comment, annotator: want UTF-8")
	case selection != nil && !(*selection > 0 && *selection <= 1):
		return fmt.Errorf("selection_p: %v: want a number above 0 and at most 1, or leave it out", *selection)
	}
	return nil
}

// criteriaOf lists the criteria that can be labelled: those of the verdicts in
// their order, then the others that there are.
func (s *server) criteriaOf(verdicts []record.Verdict) []string {
	var out []string
	for _, v := range byCriterion(verdicts) {
		if !slices.Contains(out, v.Criterion) {
			out = append(out, v.Criterion)
		}
	}
	for _, name := range s.opts.Criteria {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// labelForm is what the buttons of one inference need; nil leaves them out.
type labelForm struct {
	Action    string
	Back      string
	Criteria  []string
	Annotator string
	Values    []string
}

func (s *server) labelForm(c *gin.Context, inferenceID string, verdicts []record.Verdict) *labelForm {
	criteria := s.criteriaOf(verdicts)
	if s.opts.Labels == nil || len(criteria) == 0 {
		return nil
	}
	f := &labelForm{Action: "/inferences/" + inferenceID + "/labels", Back: c.Request.URL.EscapedPath(), Criteria: criteria, Values: labelValues}
	if cookie, err := c.Request.Cookie(annotatorCookie); err == nil {
		f.Annotator = fromCookieText(cookie.Value)
	}
	return f
}

// labelsOf returns the labels of many inferences.
func (s *server) labelsOf(ctx context.Context, ids []string) (map[string][]record.Label, error) {
	out := make(map[string][]record.Label)
	if s.opts.Labels == nil || len(ids) == 0 {
		return out, nil
	}
	rows, err := s.opts.Labels.Labels(ctx, record.LabelFilter{InferenceIDs: ids, Limit: maxVerdicts})
	if err != nil {
		return nil, err
	}
	for _, l := range rows {
		out[l.InferenceID] = append(out[l.InferenceID], l)
	}
	return out, nil
}
