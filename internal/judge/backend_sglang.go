package judge

import (
	"context"
	"math"

	"github.com/tidwall/gjson"

	"docket/internal/record"
)

// sgLang speaks SGLang's own Decisions format: a text and a list of questions,
// answered with the probabilities of yes and no and the mass they have
// together.
type sgLang struct {
	config    BackendConfig
	profile   profile
	transport *transport
}

func newSGLang(c BackendConfig, p profile, t *transport) (backend, error) {
	return sgLang{config: c, profile: p, transport: t}, nil
}

type sgLangRequest struct {
	Model     string           `json:"model,omitempty"`
	Input     string           `json:"input"`
	Questions []sgLangQuestion `json:"questions"`
	Images    []string         `json:"images,omitempty"`
	Template  map[string]any   `json:"chat_template_kwargs,omitempty"`
}

type sgLangQuestion struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Question string `json:"question"`
	Yes      string `json:"yes"`
	No       string `json:"no"`
}

func (s sgLang) ask(ctx context.Context, r request) reply {
	got, attempts, err := s.transport.post(ctx, s.body(r), nil)
	if err != nil {
		out := failed(len(r.questions), record.MethodDecision, err.reason, err.message)
		out.attempts = attempts
		return out
	}
	out := decodeSGLang(got.body, r.questions, s.config.MinLabelMass).reply(len(r.questions), record.MethodDecision)
	out.attempts = attempts
	return out
}

func (s sgLang) body(r request) []byte {
	req := sgLangRequest{Model: r.model, Input: string(encode(r.shown.state)), Template: s.config.TemplateArgs}
	for _, q := range r.questions {
		req.Questions = append(req.Questions, sgLangQuestion{ID: q.key, Type: "yes_no", Question: q.text, Yes: q.yesWhen, No: q.noWhen})
	}
	for _, img := range r.shown.images {
		req.Images = append(req.Images, img.address())
	}
	return encode(req)
}

func decodeSGLang(body []byte, questions []question, minMass float64) decoded {
	doc, err := parse(body)
	if err != nil {
		return decoded{err: err}
	}
	usage, _ := members(doc, "usage")
	d := decoded{model: text(doc, "model"), inputTokens: count(usage, "prompt_tokens"), outputTokens: count(usage, "completion_tokens")}
	d.answers, d.err = byKey(doc, questions, func(v gjson.Result, _ question) answer {
		if kind := text(v, "type"); kind != "yes_no" {
			return unanswered(record.ReasonMalformed, "the answer is of type "+string(encode(kind))+", not yes_no")
		}
		both, n := members(v, "probabilities")
		yes, no := number(both, "yes"), number(both, "no")
		switch {
		case n > 1:
			return unanswered(record.ReasonMalformed, "probabilities is given more than once")
		case yes.p == nil:
			return yes
		case no.p == nil:
			return no
		case math.Abs(*yes.p+*no.p-1) > 0.05:
			return unanswered(record.ReasonMalformed, "the probabilities of yes and no do not add up to 1")
		}
		return trusted(withMass(yes, v, "label_mass"), minMass)
	})
	return d
}
