package query

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"docket/internal/record"
)

// detailView is everything about one inference.
type detailView struct {
	inferenceView
	Reply           replyView         `json:"reply"`
	Choices         []choiceView      `json:"choices"`
	Messages        []record.Message  `json:"messages"`
	Output          []record.Message  `json:"output"`
	Tools           json.RawMessage   `json:"tools"`
	BodyKept        bool              `json:"body_kept"`
	RequestHeaders  map[string]string `json:"request_headers"`
	ResponseHeaders map[string]string `json:"response_headers"`
	Request         *rawView          `json:"request"`
	Response        *rawView          `json:"response"`
	Verdicts        []verdictView     `json:"verdicts"`
	JudgeCalls      []judgeCallView   `json:"judge_calls"`
	Labels          []labelView       `json:"labels"`
	Feedback        []feedbackView    `json:"feedback"`
}

// replyView is what the model answered in its first choice. A null text says
// that it gave none.
type replyView struct {
	Text      *string        `json:"text"`
	ToolCalls []toolCallView `json:"tool_calls"`
	Refusal   *string        `json:"refusal"`
	Reasoning *string        `json:"reasoning"`
}

type choiceView struct {
	Index        int     `json:"index"`
	FinishReason *string `json:"finish_reason"`
	replyView
}

type toolCallView struct {
	ID        *string `json:"id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"` // the exact string
}

// rawView is a body: text when it is UTF-8, else base64.
type rawView struct {
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

type judgeCallView struct {
	ID            string    `json:"id"`
	RunID         string    `json:"run_id"`
	Time          time.Time `json:"time"`
	Rubric        string    `json:"rubric"`
	RubricVersion string    `json:"rubric_version"`
	Outcome       string    `json:"outcome"`
	Score         *float64  `json:"score"`
	Backend       string    `json:"backend"`
	Format        string    `json:"format"`
	Model         string    `json:"model"`
	ResolvedModel *string   `json:"resolved_model"`
	Method        string    `json:"method"`
	Questions     uint16    `json:"questions"`
	InputTokens   *uint64   `json:"input_tokens"`
	OutputTokens  *uint64   `json:"output_tokens"`
	CostUSD       *float64  `json:"cost_usd"`
	LatencyMS     float64   `json:"latency_ms"`
	Attempts      uint16    `json:"attempts"`
	Fallback      bool      `json:"fallback"`
	Trimmed       *string   `json:"trimmed"`
	ErrorReason   *string   `json:"error_reason"`
	ErrorMessage  *string   `json:"error_message"`
	TraceID       *string   `json:"trace_id"`
	SpanID        *string   `json:"span_id"`
	Origin        string    `json:"origin"`
}

func newDetailView(d record.InferenceDetail) detailView {
	v := detailView{
		inferenceView: newInferenceView(d.Inference),
		Reply:         replyView{ToolCalls: []toolCallView{}},
		Choices:       []choiceView{}, Messages: []record.Message{}, Output: []record.Message{},
		Verdicts: newVerdictViews(byCriterion(d.Verdicts)), JudgeCalls: make([]judgeCallView, len(d.JudgeCalls)),
		Labels: newLabelViews(d.Labels), Feedback: newFeedbackViews(d.Feedback),
	}
	for i, c := range d.JudgeCalls {
		v.JudgeCalls[i] = newJudgeCallView(c)
	}
	b := d.Body
	if b == nil {
		return v
	}
	v.BodyKept = true
	v.RequestHeaders, v.ResponseHeaders = b.RequestHeaders, b.ResponseHeaders
	v.Request, v.Response = newRawView(b.Request), newRawView(b.Response)
	if b.Input != nil {
		v.Messages = b.Input
	}
	if json.Valid([]byte(b.Tools)) {
		v.Tools = json.RawMessage(b.Tools)
	}
	for i, m := range b.Output {
		v.Output = append(v.Output, m)
		v.Choices = append(v.Choices, choiceView{Index: i, FinishReason: optional(m.FinishReason), replyView: newReplyView(m)})
	}
	if len(v.Choices) > 0 {
		v.Reply = v.Choices[0].replyView
	}
	return v
}

func newReplyView(m record.Message) replyView {
	v := replyView{ToolCalls: []toolCallView{}}
	for _, p := range m.Parts {
		switch p.Type {
		case record.PartText:
			v.Text = joined(v.Text, p.Content)
		case record.PartRefusal:
			v.Refusal = joined(v.Refusal, p.Content)
		case record.PartReasoning:
			v.Reasoning = joined(v.Reasoning, p.Content)
		case record.PartToolCall:
			call := toolCallView{ID: optional(p.ID), Name: p.Name}
			if p.Arguments != nil {
				call.Arguments = *p.Arguments
			}
			v.ToolCalls = append(v.ToolCalls, call)
		}
	}
	return v
}

func joined(have *string, more string) *string {
	if have != nil {
		more = *have + more
	}
	return &more
}

func newRawView(b []byte) *rawView {
	switch {
	case b == nil:
		return nil
	case utf8.Valid(b):
		s := string(b)
		return &rawView{Text: &s}
	}
	return &rawView{Base64: b}
}

func newJudgeCallView(c record.JudgeCall) judgeCallView {
	v := judgeCallView{
		ID: c.ID, RunID: c.RunID, Time: c.Time, Rubric: c.Rubric, RubricVersion: c.RubricVersion, Outcome: c.Outcome, Score: c.Score,
		Backend: c.Backend, Format: c.BackendFormat, Model: c.Model, ResolvedModel: optional(c.ResolvedModel), Method: c.Method,
		Questions: c.Questions, InputTokens: c.InputTokens, OutputTokens: c.OutputTokens, LatencyMS: millis(c.Latency),
		Attempts: c.Attempts, Fallback: c.Fallback, Trimmed: optional(c.Trimmed), ErrorReason: optional(c.ErrorReason),
		ErrorMessage: optional(c.ErrorMessage), TraceID: optional(c.JudgeTraceID), SpanID: optional(c.JudgeSpanID), Origin: c.Origin,
	}
	if c.CostNanoUSD != nil {
		usd := float64(*c.CostNanoUSD) / 1e9
		v.CostUSD = &usd
	}
	return v
}
