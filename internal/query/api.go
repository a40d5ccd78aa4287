package query

import (
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"docket/internal/record"
)

var outcomes = []string{record.OutcomePass, record.OutcomeFail, record.OutcomeInconclusive, record.OutcomeNotApplicable}

var reasons = []string{
	record.ReasonEmptyReply, record.ReasonJudgeError, record.ReasonTimeout, record.ReasonRateLimited, record.ReasonRefused,
	record.ReasonTruncated, record.ReasonMalformed, record.ReasonOutOfRange, record.ReasonMissingAnswer, record.ReasonLowLabelMass,
	record.ReasonUncertain, record.ReasonContextOverflow, record.ReasonUnsupportedContent, record.ReasonNotCaptured, record.ReasonOverBudget,
}

var terminalStates = []string{
	record.StateComplete, record.StateClientCancelled, record.StateUpstreamError, record.StateUpstreamTruncated,
	record.StateTimeoutConnect, record.StateTimeoutHeader, record.StateTimeoutFirstByte, record.StateTimeoutIdle, record.StateProxyDied,
}

// inferenceFilter reads the filters that the API and the page share.
func inferenceFilter(values url.Values) (record.InferenceFilter, error) {
	p := newParams(values, "trace_id", "conversation_id", "response_id", "model", "project", "environment", "operation",
		"terminal_state", "outcome", "rubric", "criterion", "feedback", "user", "q", "since", "until", "limit", "cursor")
	f := record.InferenceFilter{
		TraceID:        p.hexID("trace_id", 32),
		ConversationID: p.text("conversation_id"),
		ResponseID:     p.text("response_id"),
		Model:          p.text("model"),
		Project:        p.text("project"),
		Environment:    p.text("environment"),
		Operation:      p.text("operation"),
		TerminalState:  p.oneOf("terminal_state", terminalStates...),
		Outcome:        p.oneOf("outcome", outcomes...),
		Rubric:         p.text("rubric"),
		Criterion:      p.text("criterion"),
		Feedback:       p.text("feedback"),
		UserID:         p.text("user"),
		Text:           p.search("q"),
		Since:          p.time("since"),
		Until:          p.time("until"),
		Limit:          p.limit(),
		Before:         p.cursor(),
	}
	return f, p.err
}

// page asks for one row more than the limit, to learn whether there is a next page.
func (s *server) page(c *gin.Context, f record.InferenceFilter) (rows []record.Inference, next string, err error) {
	limit := f.Limit
	f.Limit++
	rows, err = s.opts.Store.Inferences(c, f)
	if err != nil || len(rows) <= limit {
		return rows, "", err
	}
	rows = rows[:limit]
	last := rows[limit-1]
	return rows, formatCursor(record.Cursor{Time: last.Time, ID: last.ID}), nil
}

func (s *server) listInferences(c *gin.Context) {
	f, err := inferenceFilter(c.Request.URL.Query())
	if err != nil {
		c.JSON(s.status(c, err))
		return
	}
	rows, next, err := s.page(c, f)
	if err != nil {
		c.JSON(s.status(c, err))
		return
	}
	out := inferenceList{Inferences: make([]inferenceView, len(rows)), NextCursor: next}
	for i, r := range rows {
		out.Inferences[i] = newInferenceView(r)
	}
	c.JSON(http.StatusOK, out)
}

func (s *server) showInference(c *gin.Context) {
	d, err := s.detail(c)
	if err != nil {
		c.JSON(s.status(c, err))
		return
	}
	c.JSON(http.StatusOK, newDetailView(d))
}

func (s *server) detail(c *gin.Context) (record.InferenceDetail, error) {
	id, err := uuid.Parse(c.Param("id"))
	if err != nil {
		return record.InferenceDetail{}, record.ErrNotFound
	}
	return s.opts.Store.Inference(c, id.String())
}

func (s *server) listVerdicts(c *gin.Context) {
	p := newParams(c.Request.URL.Query(), "trace_id", "conversation_id", "inference_id", "project", "rubric", "criterion", "outcome", "reason", "since", "until", "limit", "cursor")
	f := record.VerdictFilter{
		TraceID:        p.hexID("trace_id", 32),
		ConversationID: p.text("conversation_id"),
		Project:        p.text("project"),
		Rubric:         p.text("rubric"),
		Criterion:      p.text("criterion"),
		Outcome:        p.oneOf("outcome", outcomes...),
		Reason:         p.oneOf("reason", reasons...),
		Since:          p.time("since"),
		Until:          p.time("until"),
		Before:         p.cursor(),
	}
	if id := p.uuid("inference_id"); id != "" {
		f.InferenceIDs = []string{id}
	}
	limit := p.limit()
	f.Limit = limit + 1
	if p.err != nil {
		c.JSON(s.status(c, p.err))
		return
	}
	rows, err := s.opts.Store.Verdicts(c, f)
	if err != nil {
		c.JSON(s.status(c, err))
		return
	}
	var out verdictList
	if len(rows) > limit {
		rows = rows[:limit]
		out.NextCursor = formatCursor(record.Cursor{Time: rows[limit-1].Time, ID: rows[limit-1].ID})
	}
	out.Verdicts = newVerdictViews(rows)
	c.JSON(http.StatusOK, out)
}
