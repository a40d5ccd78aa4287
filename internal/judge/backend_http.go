package judge

import (
	"context"

	"github.com/tidwall/gjson"

	"docket/internal/record"
)

// httpJudge asks a user's own judge. The contract:
//
//	POST <url>
//	{"version": 1, "model": "m",
//	 "state": {"conversation": [...], "user_message": "...", "response": "...",
//	           "tool_calls": [...], "sources": [...]},
//	 "questions": [{"id": "q1", "criterion": "apologises", "question": "...",
//	                "statement": "...", "yes_when": "...", "no_when": "..."}]}
//
//	200
//	{"answers": {"q1": {"probability": 0.9, "reason": "says sorry"},
//	             "q2": {"inconclusive": "cannot be told"}},
//	 "model": "m-2", "usage": {"input_tokens": 300, "output_tokens": 2},
//	 "cost_usd": 0.0001}
//
// Only answers is needed. A question without an answer is inconclusive. Errors
// are status codes; 408, 429 and those from 500 on are tried again, after
// Retry-After when it is given.
type httpJudge struct {
	transport *transport
}

func newHTTP(_ BackendConfig, _ profile, t *transport) (backend, error) {
	return httpJudge{transport: t}, nil
}

type httpRequest struct {
	Version   int            `json:"version"`
	Model     string         `json:"model,omitempty"`
	State     state          `json:"state"`
	Questions []httpQuestion `json:"questions"`
}

type httpQuestion struct {
	ID        string `json:"id"`
	Criterion string `json:"criterion"`
	Question  string `json:"question"`
	Statement string `json:"statement"`
	YesWhen   string `json:"yes_when"`
	NoWhen    string `json:"no_when"`
}

func (h httpJudge) ask(ctx context.Context, r request) reply {
	req := httpRequest{Version: 1, Model: r.model, State: r.shown.state}
	for _, q := range r.questions {
		req.Questions = append(req.Questions, httpQuestion{
			ID: q.key, Criterion: q.criterion.key(), Question: q.text, Statement: q.statement, YesWhen: q.yesWhen, NoWhen: q.noWhen,
		})
	}
	got, attempts, err := h.transport.post(ctx, encode(req), nil)
	if err != nil {
		out := failed(len(r.questions), record.MethodHTTP, err.reason, err.message)
		out.attempts = attempts
		return out
	}
	out := decodeHTTP(got.body, r.questions).reply(len(r.questions), record.MethodHTTP)
	out.attempts = attempts
	return out
}

func decodeHTTP(body []byte, questions []question) decoded {
	doc, err := parse(body)
	if err != nil {
		return decoded{err: err}
	}
	usage, _ := members(doc, "usage")
	d := decoded{
		model: text(doc, "model"), inputTokens: count(usage, "input_tokens"),
		outputTokens: count(usage, "output_tokens"), costNano: nano(doc, "cost_usd"),
	}
	d.answers, d.err = byKey(doc, questions, func(v gjson.Result, _ question) answer {
		if why, n := members(v, "inconclusive"); n > 0 && why.Type != gjson.Null && why.Type != gjson.False {
			return unanswered(record.ReasonUncertain, short(why.String()))
		}
		a := number(v, "probability")
		if a.p != nil {
			a.detail = short(text(v, "reason"))
		}
		return a
	})
	return d
}
