package query

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"docket/internal/record"
)

// reviewData is what the judge was not sure about, for people to decide.
type reviewData struct {
	Title    string
	Verdicts []record.Verdict
	Next     string // link to the next page
}

// reviewPage lists verdicts inside the abstain band of their criterion, newest
// first. Each leads to its call, where the buttons for labels are.
func (s *server) reviewPage(c *gin.Context) {
	p := newParams(c.Request.URL.Query(), "cursor")
	f := record.VerdictFilter{Outcome: record.OutcomeInconclusive, Reason: record.ReasonUncertain, Limit: defaultLimit + 1, Before: p.cursor()}
	if p.err != nil {
		s.renderError(c, p.err)
		return
	}
	rows, err := s.opts.Store.Verdicts(c, f)
	if err != nil {
		s.renderError(c, err)
		return
	}
	d := reviewData{Title: "Review", Verdicts: rows}
	if len(rows) > defaultLimit {
		d.Verdicts = rows[:defaultLimit]
		last := d.Verdicts[defaultLimit-1]
		d.Next = "/review?cursor=" + formatCursor(record.Cursor{Time: last.Time, ID: last.ID})
	}
	s.render(c, http.StatusOK, "review.html", d)
}
