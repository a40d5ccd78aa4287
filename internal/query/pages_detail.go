package query

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"docket/internal/record"
)

// turnData is one inference as a page shows it: the messages that are new in
// it, the answer, and the verdicts.
type turnData struct {
	record.Inference
	Body       *record.Body
	Messages   []record.Message
	Earlier    int // messages of the history that an earlier turn shows
	Verdicts   []shownVerdict
	JudgeCalls []record.JudgeCall
	Labels     []record.Label
	Feedback   []record.Feedback
	Form       *labelForm // nil when nobody can label
}

type inferenceData struct {
	Title string
	Turn  turnData
}

type conversationData struct {
	Title string
	ID    string
	Turns []turnData
	More  bool // there are later turns than these
}

func (s *server) inferencePage(c *gin.Context) {
	d, err := s.detail(c)
	if err != nil {
		s.renderError(c, err)
		return
	}
	verdicts, err := s.shown(c, map[string][]record.Verdict{d.Inference.ID: byCriterion(d.Verdicts)})
	if err != nil {
		s.renderError(c, err)
		return
	}
	t := turnData{Inference: d.Inference, Body: d.Body, Verdicts: verdicts[d.Inference.ID], JudgeCalls: d.JudgeCalls, Labels: d.Labels, Feedback: d.Feedback}
	t.Form = s.labelForm(c, t.ID, d.Verdicts)
	if d.Body != nil {
		t.Messages = d.Body.Input
	}
	s.render(c, http.StatusOK, "inference.html", inferenceData{Title: "Call " + d.Inference.ID, Turn: t})
}

// maxTurns is how many turns of a conversation one page shows.
const maxTurns = 200

func (s *server) conversationPage(c *gin.Context) {
	id := c.Param("id")
	rows, err := s.opts.Store.Inferences(c, record.InferenceFilter{ConversationID: id, Limit: maxTurns + 1})
	if err == nil && len(rows) == 0 {
		err = record.ErrNotFound
	}
	if err != nil {
		s.renderError(c, err)
		return
	}
	d := conversationData{Title: "Conversation " + id, ID: id, More: len(rows) > maxTurns}
	rows = rows[:min(len(rows), maxTurns)]
	slices.Reverse(rows) // oldest first
	if d.Turns, err = s.turns(c, rows); err != nil {
		s.renderError(c, err)
		return
	}
	s.render(c, http.StatusOK, "conversation.html", d)
}

func (s *server) turns(c *gin.Context, rows []record.Inference) ([]turnData, error) {
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
	shown, err := s.shown(c, verdicts)
	if err != nil {
		return nil, err
	}
	labels, err := s.labelsOf(c, ids)
	if err != nil {
		return nil, err
	}
	feedback, err := s.feedbackOf(c, ids)
	if err != nil {
		return nil, err
	}
	turns := make([]turnData, len(rows))
	var above []record.Message // the conversation so far, as the turns above show it
	for i, r := range rows {
		turns[i] = turnData{Inference: r, Verdicts: shown[r.ID], Labels: labels[r.ID], Feedback: feedback[r.ID]}
		turns[i].Form = s.labelForm(c, r.ID, verdicts[r.ID])
		body, ok := bodies[r.ID]
		if !ok {
			continue
		}
		turns[i].Body = &body
		turns[i].Earlier = commonPrefix(above, body.Input)
		turns[i].Messages = body.Input[turns[i].Earlier:]
		above = slices.Clone(body.Input)
		if len(body.Output) > 0 {
			above = append(above, body.Output[0])
		}
	}
	return turns, nil
}

// commonPrefix counts the messages with which both begin. A client may send an
// answer back with less in it than it got, so an assistant message counts as
// the same when its text and its calls are.
func commonPrefix(a, b []record.Message) int {
	n := 0
	for n < len(a) && n < len(b) && sameMessage(a[n], b[n]) {
		n++
	}
	return n
}

func sameMessage(a, b record.Message) bool {
	if a.Role != b.Role {
		return false
	}
	textA, _ := a.Text()
	textB, _ := b.Text()
	return textA == textB && slices.EqualFunc(callsOf(a), callsOf(b), func(x, y record.Part) bool {
		return x.ID == y.ID && x.Name == y.Name && sameJSON(deref(x.Arguments), deref(y.Arguments)) && deref(x.Response) == deref(y.Response)
	})
}

// sameJSON compares without regard to spaces and the order of names, which
// clients that write a call's arguments anew do not keep.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	x, okX := decoded(a)
	y, okY := decoded(b)
	return okX && okY && reflect.DeepEqual(x, y)
}

func decoded(text string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // large ids stay apart
	err := d.Decode(&v)
	return v, err == nil
}

func callsOf(m record.Message) []record.Part {
	var out []record.Part
	for _, p := range m.Parts {
		if p.Type == record.PartToolCall || p.Type == record.PartToolCallResponse {
			out = append(out, p)
		}
	}
	return out
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
