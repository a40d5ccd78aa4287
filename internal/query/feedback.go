package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"docket/internal/record"
)

// FeedbackStore keeps what users of the application say about answers. Methods
// are safe for concurrent use.
type FeedbackStore interface {
	// Feedback returns each piece of feedback once, newest first.
	Feedback(ctx context.Context, filter record.FeedbackFilter) ([]record.Feedback, error)
	// WriteFeedback replaces what has the same id.
	WriteFeedback(ctx context.Context, feedback []record.Feedback) error
	// FeedbackTarget finds the inference that feedback is about; the error wraps
	// record.ErrNotFound while it is not stored.
	FeedbackTarget(ctx context.Context, f record.Feedback) (record.Inference, error)
}

const (
	maxFeedbackBody = 64 << 10 // bytes of a request
	maxFeedbackID   = 200      // characters of every id and name
)

var feedbackLabel = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,39}$`)

// feedbackRequest is feedback as the API takes it.
type feedbackRequest struct {
	ID          string   `json:"id"`
	InferenceID string   `json:"inference_id"`
	ResponseID  string   `json:"response_id"`
	TraceID     string   `json:"trace_id"`
	Score       *float64 `json:"score"`
	Label       string   `json:"label"`
	Comment     string   `json:"comment"`
	User        string   `json:"user"`
	Source      string   `json:"source"`
}

// postFeedback is POST /api/v1/feedback. It answers 201 when the inference is
// known, 202 when it is still looked for, and 200 when the same was said before.
func (s *server) postFeedback(c *gin.Context) {
	var in feedbackRequest
	if !s.readJSON(c, "feedback", maxFeedbackBody, &in) {
		return
	}
	f, err := in.feedback(time.Now())
	if err != nil {
		c.JSON(s.status(c, badRequest{err}))
		return
	}
	status, f, err := s.keepFeedback(c, f, in.ID != "")
	if err != nil {
		c.JSON(s.status(c, err))
		return
	}
	c.JSON(status, newFeedbackView(f))
}

// keepFeedback stores feedback. named says that its id came with it, so that
// something may be stored under it.
func (s *server) keepFeedback(ctx context.Context, f record.Feedback, named bool) (int, record.Feedback, error) {
	if named {
		known, err := s.opts.Feedback.Feedback(ctx, record.FeedbackFilter{ID: f.ID, Limit: 1})
		if err != nil {
			return 0, f, err
		}
		if len(known) > 0 && f.SameAs(known[0]) {
			return http.StatusOK, known[0], nil
		}
	}
	status := http.StatusAccepted
	if f.TraceID == "" { // of a trace, more may be on its way to the store
		inf, err := s.opts.Feedback.FeedbackTarget(ctx, f)
		switch {
		case err == nil:
			status, f.InferenceID, f.Project = http.StatusCreated, inf.ID, inf.Project
		case !errors.Is(err, record.ErrNotFound):
			return 0, f, err
		}
	}
	return status, f, s.opts.Feedback.WriteFeedback(ctx, []record.Feedback{f})
}

// feedback checks what was sent.
func (in feedbackRequest) feedback(now time.Time) (record.Feedback, error) {
	now = now.UTC().Truncate(time.Microsecond)
	f := record.Feedback{
		ID: in.ID, Time: now, Updated: now, ResponseID: in.ResponseID, Score: in.Score,
		Label: strings.ToLower(strings.TrimSpace(in.Label)), Comment: strings.TrimSpace(in.Comment), User: in.User, Source: in.Source,
	}
	if f.ID == "" {
		f.ID = uuid.Must(uuid.NewV7()).String()
	}
	var err error
	if f.InferenceID, f.TraceID, err = in.target(); err != nil {
		return f, err
	}
	for _, field := range []struct{ name, value string }{{"id", f.ID}, {"response_id", f.ResponseID}, {"user", f.User}, {"source", f.Source}} {
		if utf8.RuneCountInString(field.value) > maxFeedbackID {
			return f, fmt.Errorf("%s: longer than %d characters", field.name, maxFeedbackID)
		}
	}
	switch {
	case f.Score == nil && f.Label == "":
		return f, errors.New("want a score, a label, or both")
	case f.Score != nil && !(*f.Score >= 0 && *f.Score <= 1):
		return f, fmt.Errorf("score: %v: want a number from 0 (bad) to 1 (good)", *f.Score)
	case f.Label != "" && !feedbackLabel.MatchString(f.Label):
		return f, fmt.Errorf("label: %q: want up, down, or another word of at most 40 letters, digits, points, hyphens and underscores", in.Label)
	case utf8.RuneCountInString(f.Comment) > maxComment:
		return f, fmt.Errorf("comment: longer than %d characters", maxComment)
	}
	return f, nil
}

// target reads what the feedback is about.
func (in feedbackRequest) target() (inferenceID, traceID string, err error) {
	n := 0
	for _, id := range []string{in.InferenceID, in.ResponseID, in.TraceID} {
		if id != "" {
			n++
		}
	}
	if n != 1 {
		return "", "", fmt.Errorf("want exactly one of inference_id, response_id and trace_id, found %d", n)
	}
	if in.InferenceID != "" {
		id, err := uuid.Parse(in.InferenceID)
		if err != nil {
			return "", "", fmt.Errorf("inference_id: %q: want the id of an inference", in.InferenceID)
		}
		return id.String(), "", nil
	}
	trace := strings.ToLower(strings.ReplaceAll(in.TraceID, "-", ""))
	if trace != "" && (len(trace) != 32 || strings.Trim(trace, "0123456789abcdef") != "") {
		return "", "", fmt.Errorf("trace_id: %q: want 32 hexadecimal digits", in.TraceID)
	}
	return "", trace, nil
}

// States of feedback, as the API names them.
const (
	feedbackWaiting = "waiting" // its inference is looked for, or will be a candidate in a moment
	feedbackLinked  = "linked"
)

// listFeedback is GET /api/v1/feedback.
func (s *server) listFeedback(c *gin.Context) {
	p := newParams(c.Request.URL.Query(), "id", "inference_id", "response_id", "trace_id", "project", "label", "user", "source", "state", "since", "until", "limit", "cursor")
	f := record.FeedbackFilter{
		ID: p.text("id"), ResponseID: p.text("response_id"), TraceID: p.hexID("trace_id", 32), Project: p.text("project"), Label: p.text("label"),
		User: p.text("user"), Source: p.text("source"), Since: p.time("since"), Until: p.time("until"), Before: p.anyCursor(),
	}
	if id := p.uuid("inference_id"); id != "" {
		f.InferenceIDs = []string{id}
	}
	if state := p.oneOf("state", feedbackWaiting, feedbackLinked); state != "" {
		linked := state == feedbackLinked
		f.Linked = &linked
	}
	limit := p.limit()
	f.Limit = limit + 1
	if p.err != nil {
		c.JSON(s.status(c, p.err))
		return
	}
	rows, err := s.opts.Feedback.Feedback(c, f)
	if err != nil {
		c.JSON(s.status(c, err))
		return
	}
	var out feedbackList
	if len(rows) > limit {
		rows = rows[:limit]
		out.NextCursor = formatCursor(record.Cursor{Time: rows[limit-1].Time, ID: rows[limit-1].ID})
	}
	out.Feedback = newFeedbackViews(rows)
	c.JSON(http.StatusOK, out)
}

// feedbackOf returns the feedback on many inferences.
func (s *server) feedbackOf(ctx context.Context, ids []string) (map[string][]record.Feedback, error) {
	out := make(map[string][]record.Feedback)
	if s.opts.Feedback == nil || len(ids) == 0 {
		return out, nil
	}
	rows, err := s.opts.Feedback.Feedback(ctx, record.FeedbackFilter{InferenceIDs: ids, Limit: maxVerdicts})
	if err != nil {
		return nil, err
	}
	for _, f := range rows {
		out[f.InferenceID] = append(out[f.InferenceID], f)
	}
	return out, nil
}

type feedbackList struct {
	Feedback   []feedbackView `json:"feedback"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// feedbackView is feedback as the API shows it.
type feedbackView struct {
	ID          string    `json:"id"`
	Time        time.Time `json:"time"`
	State       string    `json:"state"`
	Project     *string   `json:"project"`
	InferenceID *string   `json:"inference_id"`
	ResponseID  *string   `json:"response_id"`
	TraceID     *string   `json:"trace_id"`
	Score       *float64  `json:"score"`
	Label       *string   `json:"label"`
	Comment     *string   `json:"comment"`
	User        *string   `json:"user"`
	Source      *string   `json:"source"`
}

func newFeedbackView(f record.Feedback) feedbackView {
	state := feedbackWaiting
	if f.Linked {
		state = feedbackLinked
	}
	return feedbackView{
		ID: f.ID, Time: f.Time, State: state, Project: optional(f.Project), InferenceID: optional(f.InferenceID), ResponseID: optional(f.ResponseID),
		TraceID: optional(f.TraceID), Score: f.Score, Label: optional(f.Label), Comment: optional(f.Comment), User: optional(f.User), Source: optional(f.Source),
	}
}

func newFeedbackViews(rows []record.Feedback) []feedbackView {
	views := make([]feedbackView, len(rows))
	for i, f := range rows {
		views[i] = newFeedbackView(f)
	}
	return views
}

// feedbackMark is how the page shows feedback in a word.
func feedbackMark(f record.Feedback) string {
	mark := f.Label
	switch f.Label {
	case record.FeedbackUp:
		mark = "👍"
	case record.FeedbackDown:
		mark = "👎"
	}
	if f.Score == nil {
		return mark
	}
	return cmp.Or(mark, "score") + fmt.Sprintf(" %g", *f.Score)
}
