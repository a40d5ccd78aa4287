package judge

import (
	"context"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"docket/internal/record"
)

// systemOne speaks the System One format: a state and a map of typed questions,
// answered by a map of typed answers. A yes/no question has type noul.
type systemOne struct {
	config    BackendConfig
	profile   profile
	transport *transport
}

func newSystemOne(c BackendConfig, p profile, t *transport) (backend, error) {
	return systemOne{config: c, profile: p, transport: t}, nil
}

type systemOneRequest struct {
	Model     string                   `json:"model,omitempty"`
	State     any                      `json:"state"`
	Questions keyed[systemOneQuestion] `json:"questions"`
	Assets    keyed[systemOneAsset]    `json:"assets,omitempty"`
	Images    []string                 `json:"images,omitempty"`
	Template  map[string]any           `json:"chat_template_kwargs,omitempty"`
}

type systemOneQuestion struct {
	Type         string `json:"type"`
	Instructions string `json:"instructions"`
	Criteria     struct {
		True  string `json:"true"`
		False string `json:"false"`
	} `json:"criteria"`
}

type systemOneAsset struct {
	Type   string `json:"type"`
	Format string `json:"format"`
	Data   string `json:"data_base64"`
}

// keyed is a JSON object with its keys in this order.
type keyed[V any] []struct {
	key   string
	value V
}

func (k keyed[V]) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, e := range k {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encode(e.key))
		b.WriteByte(':')
		b.Write(encode(e.value))
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

func (k *keyed[V]) add(key string, v V) {
	*k = append(*k, struct {
		key   string
		value V
	}{key, v})
}

func (s systemOne) ask(ctx context.Context, r request) reply {
	body, header := s.body(r)
	got, attempts, err := s.transport.post(ctx, body, header)
	if err != nil {
		out := failed(len(r.questions), record.MethodDecision, err.reason, err.message)
		out.attempts = attempts
		return out
	}
	out := decodeSystemOne(got.body, s.profile.unwrap, r.questions, s.config.MinLabelMass).reply(len(r.questions), record.MethodDecision)
	out.attempts = attempts
	return out
}

func (s systemOne) body(r request) ([]byte, http.Header) {
	req := systemOneRequest{Model: r.model, State: r.shown.state}
	for _, q := range r.questions {
		sq := systemOneQuestion{Type: "noul", Instructions: q.text}
		sq.Criteria.True, sq.Criteria.False = q.yesWhen, q.noWhen
		req.Questions.add(q.key, sq)
	}
	if !s.profile.noTemplateArgs {
		req.Template = s.config.TemplateArgs
	}
	header := http.Header{}
	s.addImages(&req, r.shown, header)
	return encode(req), header
}

func (s systemOne) addImages(req *systemOneRequest, sh shown, header http.Header) {
	if len(sh.images) == 0 {
		return
	}
	if s.profile.imageHeader != "" {
		header.Set(s.profile.imageHeader, "true")
	}
	parts := []any{map[string]any{"type": "text", "text": string(encode(sh.state))}}
	for _, img := range sh.images {
		switch s.profile.images {
		case imagesAssets:
			_, format, _ := strings.Cut(img.image.mime, "/")
			req.Assets.add(img.id, systemOneAsset{Type: "image", Format: format, Data: img.image.base64})
		case imagesBase64:
			req.Images = append(req.Images, img.image.base64)
		case imagesDataURL:
			req.Images = append(req.Images, img.address())
		case imagesState:
			parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]any{"url": img.address()}})
		}
	}
	if s.profile.images == imagesState {
		req.State = parts
	}
}

// decodeSystemOne reads the answers. unwrap names the member that holds the
// answer proper, "" if it is the whole.
func decodeSystemOne(body []byte, unwrap string, questions []question, minMass float64) decoded {
	doc, err := parse(body)
	if err != nil {
		return decoded{err: err}
	}
	if unwrap != "" {
		if inner, n := members(doc, unwrap); n == 1 && inner.IsObject() {
			doc = inner
		} else if _, n := members(doc, "answers"); n == 0 {
			return decoded{err: &callError{record.ReasonMalformed, "the answer has no " + unwrap}}
		}
	}
	usage, _ := members(doc, "usage")
	diagnostics, _ := members(doc, "diagnostics")
	d := decoded{
		model: text(doc, "model"), inputTokens: firstCount(usage, "input_tokens", "prompt_tokens"),
		outputTokens: firstCount(usage, "output_tokens", "completion_tokens"), costNano: nano(usage, "cost"),
	}
	d.answers, d.err = byKey(doc, questions, func(v gjson.Result, q question) answer {
		a := readNoul(v)
		if own, n := members(diagnostics, q.key); n == 1 {
			a = withMass(a, own, "label_mass")
		}
		return trusted(a, minMass)
	})
	return d
}

func firstCount(obj gjson.Result, keys ...string) *uint64 {
	for _, k := range keys {
		if n := count(obj, k); n != nil {
			return n
		}
	}
	return nil
}

// readNoul reads one yes/no answer; one vendor calls the type boolean.
func readNoul(v gjson.Result) answer {
	kind := text(v, "type")
	if _, n := members(v, "type"); n == 0 {
		kind = "noul"
	}
	switch kind {
	case "noul":
		return number(v, "noul")
	case "boolean":
		if a := number(v, "boolean"); a.reason != record.ReasonMissingAnswer {
			return a
		}
		return number(v, "noul")
	case "refusal":
		return unanswered(record.ReasonRefused, "the judge refused the question")
	default:
		return unanswered(record.ReasonMalformed, "the answer is of type "+string(encode(kind))+", not noul")
	}
}
