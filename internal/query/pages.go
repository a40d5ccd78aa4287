package query

import (
	"bytes"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"docket/internal/record"
)

// render writes a template as a whole, so that a broken one never leaves half
// a page under status 200.
func (s *server) render(c *gin.Context, status int, name string, data any) {
	var buf bytes.Buffer
	if err := s.pages.ExecuteTemplate(&buf, name, data); err != nil {
		s.opts.Log.Error("render a page", "template", name, "error", err)
		c.String(http.StatusInternalServerError, "this page is broken; see the log of the evaluator\n")
		return
	}
	c.Data(status, "text/html; charset=utf-8", buf.Bytes())
}

func (s *server) renderError(c *gin.Context, err error) {
	status, p := s.status(c, err)
	s.render(c, status, "error.html", p.Error)
}

// callsData is the list of latest calls.
type callsData struct {
	Title      string
	JudgingOff string
	Query      url.Values // the filters as they were sent
	Filtered   bool
	Rows       []callRow
	Next       string // link to the next page
	Fragment   string // link to the live list, "" on later pages
	Problem    string
}

// callRow is one line of the list.
type callRow struct {
	record.Inference
	Asked, Replied string // the beginning of what was said
	Verdicts       []record.Verdict
	Feedback       []record.Feedback
	BodyGone       bool
}

func (s *server) callsPage(c *gin.Context) {
	d, err := s.calls(c)
	if err != nil {
		s.renderError(c, err)
		return
	}
	s.render(c, http.StatusOK, "calls.html", d)
}

func (s *server) callsFragment(c *gin.Context) {
	d, err := s.calls(c)
	if err != nil {
		s.renderError(c, err)
		return
	}
	s.render(c, http.StatusOK, "calls_list.html", d)
}

func (s *server) calls(c *gin.Context) (callsData, error) {
	values := filled(c.Request.URL.Query())
	f, err := inferenceFilter(values)
	if err != nil {
		return callsData{}, err
	}
	rows, next, err := s.page(c, f)
	if err != nil {
		return callsData{}, err
	}
	d := callsData{Title: "Calls", JudgingOff: s.opts.JudgingOff, Query: values}
	if d.Rows, err = s.callRows(c, rows); err != nil {
		return callsData{}, err
	}
	if next != "" {
		d.Next = "/?" + with(values, "cursor", next).Encode()
	}
	if values.Get("cursor") == "" {
		d.Fragment = "/calls?" + values.Encode()
	}
	d.Filtered = len(with(values, "cursor", "")) > 0
	return d, nil
}

// callRows adds to each row what was said and what was judged.
func (s *server) callRows(c *gin.Context, rows []record.Inference) ([]callRow, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	bodies, err := s.opts.Store.InferenceMessages(c, ids)
	if err != nil {
		return nil, err
	}
	verdicts, err := s.verdictsOf(c, ids)
	if err != nil {
		return nil, err
	}
	feedback, err := s.feedbackOf(c, ids)
	if err != nil {
		return nil, err
	}
	out := make([]callRow, len(rows))
	for i, r := range rows {
		body, ok := bodies[r.ID]
		out[i] = callRow{Inference: r, Verdicts: verdicts[r.ID], Feedback: feedback[r.ID], BodyGone: !ok, Asked: asked(body.Input), Replied: replied(body.Output)}
	}
	return out, nil
}

// maxVerdicts is how many rows the store returns at a time.
const maxVerdicts = 10_000

// verdictsOf returns all verdicts of the inferences on a page, in the order in
// which they are shown.
func (s *server) verdictsOf(c *gin.Context, ids []string) (map[string][]record.Verdict, error) {
	out := make(map[string][]record.Verdict)
	f := record.VerdictFilter{InferenceIDs: ids, Limit: maxVerdicts}
	for {
		rows, err := s.opts.Store.Verdicts(c, f)
		if err != nil {
			return nil, err
		}
		for _, v := range rows {
			out[v.InferenceID] = append(out[v.InferenceID], v)
		}
		if len(rows) < maxVerdicts {
			break
		}
		last := rows[len(rows)-1]
		f.Before = record.Cursor{Time: last.Time, ID: last.ID}
	}
	for id, v := range out {
		out[id] = byCriterion(v)
	}
	return out, nil
}

// filled leaves out the parameters that a form sent empty.
func filled(values url.Values) url.Values {
	out := url.Values{}
	for name, v := range values {
		if len(v) > 0 && v[0] != "" {
			out[name] = v
		}
	}
	return out
}

// with returns a copy of the parameters with one of them set, or removed when
// the value is empty.
func with(values url.Values, name, value string) url.Values {
	out := url.Values{}
	for k, v := range values {
		out[k] = v
	}
	if value == "" {
		out.Del(name)
		return out
	}
	out.Set(name, value)
	return out
}
