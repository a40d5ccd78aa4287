package judge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"docket/internal/record"
)

const (
	methodAuto = "auto" // log-probabilities where the server has them, else a score

	probeAgain   = time.Hour // how long it is believed that a server lacks something
	widestTop    = 20        // alternatives to ask for at each token
	narrowTop    = 5         // what servers with a low limit take
	schemaFormat = "schema"  // ways to ask for JSON, best first
	objectFormat = "object"
	plainFormat  = "plain"
)

// chat asks a chat model, one criterion a call: for P(yes) from the
// log-probabilities of one word, or for a score with a reason as JSON.
type chat struct {
	config    BackendConfig
	profile   profile
	transport *transport

	mu    sync.Mutex // guards known
	known map[string]ability
}

// ability is what was learned about a model at this base URL.
type ability struct {
	noLogprobsUntil time.Time
	top             int
	format          string
}

func newChat(c BackendConfig, p profile, t *transport) (backend, error) {
	return &chat{config: c, profile: p, transport: t, known: map[string]ability{}}, nil
}

func (c *chat) ability(model string) ability {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.known[model]; ok {
		return a
	}
	return ability{top: widestTop, format: schemaFormat}
}

func (c *chat) learn(model string, change func(*ability)) {
	a := c.ability(model)
	change(&a)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[model] = a
}

func (c *chat) ask(ctx context.Context, r request) reply {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	s := &session{chat: c, request: r, question: r.questions[0]}
	if c.useLogprobs(r.model) {
		out, have := s.logprobs(ctx)
		if have {
			return s.finish(out)
		}
		c.learn(r.model, func(a *ability) { a.noLogprobsUntil = c.transport.now().Add(probeAgain) })
		if c.config.Method == record.MethodLogprobs {
			return s.finish(failed(1, record.MethodLogprobs, record.ReasonMissingAnswer, "the server gave no log-probabilities"))
		}
	}
	return s.finish(s.structured(ctx))
}

func (c *chat) useLogprobs(model string) bool {
	switch c.config.Method {
	case record.MethodStructured:
		return false
	case record.MethodLogprobs:
		return true
	}
	thinks, takesNone := reasoning(model)
	return (!thinks || takesNone) && !c.transport.now().Before(c.ability(model).noLogprobsUntil)
}

// reasoning says whether a model's name is that of one that thinks before it
// answers, and whether thinking can be switched off. Log-probabilities, a
// temperature and max_tokens are refused while it thinks; go-openai refuses
// them by name, before anything is sent, also for other models of such names.
func reasoning(model string) (thinks, takesNone bool) {
	switch model {
	case openai.GPT6Luna, openai.GPT6Sol:
		return true, true
	case openai.GPT6Astra, openai.GPT6Dot1Sol:
		return true, false
	}
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5"} {
		if strings.HasPrefix(model, prefix) {
			return true, false
		}
	}
	return false, false
}

// session is one question to a chat model, which may take several calls.
type session struct {
	chat         *chat
	request      request
	question     question
	attempts     int
	model        string
	inputTokens  *uint64
	outputTokens *uint64
}

// finish adds what all calls of the session used.
func (s *session) finish(r reply) reply {
	r.attempts, r.model = s.attempts, s.model
	r.inputTokens, r.outputTokens = s.inputTokens, s.outputTokens
	return r
}

// messages are the system message with the answer's format, and the unit with
// the criterion.
func (s *session) messages(format, again string) ([]openai.ChatCompletionMessage, error) {
	system, err := systemMessage(s.request.system, format)
	if err != nil {
		return nil, err
	}
	user, err := userMessage(s.request.user, s.request.shown, s.question)
	if err != nil {
		return nil, err
	}
	if again != "" {
		system += "\n\n" + again
	}
	out := []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleSystem, Content: system}}
	if len(s.request.shown.images) == 0 {
		return append(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: user}), nil
	}
	parts := []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: user}}
	for _, img := range s.request.shown.images {
		parts = append(parts,
			openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: img.id + ":"},
			openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{
				URL: img.address(), Detail: openai.ImageURLDetail(detailOf(img.part)),
			}})
	}
	return append(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, MultiContent: parts}), nil
}

// limitTokens sets the cap under the name that the model takes.
func limitTokens(req *openai.ChatCompletionRequest, n int) {
	if thinks, _ := reasoning(req.Model); thinks {
		req.MaxCompletionTokens = n
		return
	}
	//lint:ignore SA1019 the only name that most servers other than OpenAI know
	req.MaxTokens = n
}

// complete makes one call through go-openai. Its own HTTP errors carry no
// headers, so attempts and waits happen below it, in the doer.
func (s *session) complete(ctx context.Context, req openai.ChatCompletionRequest) (openai.ChatCompletionChoice, *doer, error) {
	d := &doer{transport: s.chat.transport}
	cfg := openai.DefaultConfig("")
	cfg.HTTPClient = d
	res, err := openai.NewClientWithConfig(cfg).CreateChatCompletion(ctx, req)
	s.attempts += d.attempts
	if err != nil {
		return openai.ChatCompletionChoice{}, d, err
	}
	// The library stops reading at the end of the object; what follows makes it
	// something else.
	if _, fail := parse(d.answer); fail != nil {
		return openai.ChatCompletionChoice{}, d, fail
	}
	if res.Model != "" {
		s.model = res.Model
	}
	s.addUsage(d)
	if len(res.Choices) == 0 {
		return openai.ChatCompletionChoice{}, d, &callError{record.ReasonMalformed, "the answer has no choices"}
	}
	return res.Choices[0], d, nil
}

// addUsage reads the tokens from the answer itself: the library's numbers are 0
// when there are none.
func (s *session) addUsage(d *doer) {
	doc, err := parse(d.answer)
	if err != nil {
		return
	}
	usage, _ := members(doc, "usage")
	add := func(to **uint64, n *uint64) {
		if n != nil {
			sum := deref(*to, 0) + *n
			*to = &sum
		}
	}
	add(&s.inputTokens, count(usage, "prompt_tokens"))
	add(&s.outputTokens, count(usage, "completion_tokens"))
}

// fail turns an error of complete into a reply.
func (s *session) fail(err error, method string) reply {
	var own *callError
	if errors.As(err, &own) {
		return failed(1, method, own.reason, own.message)
	}
	reason := record.ReasonMalformed // the answer could not be read
	if locallyRefused(err) {
		reason = record.ReasonJudgeError
	}
	return failed(1, method, reason, s.chat.transport.clean(err.Error()))
}

// locallyRefused says that go-openai did not send the request.
func locallyRefused(err error) bool {
	for _, known := range []error{
		openai.ErrReasoningModelMaxTokensDeprecated, openai.ErrReasoningModelLimitationsLogprobs,
		openai.ErrReasoningModelLimitationsOther, openai.ErrReasoningSamplingUnsupported, openai.ErrReasoningEffortUnsupported,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// doer is the HTTP client that go-openai is given: it sends the body through
// the backend's transport and keeps the answer.
type doer struct {
	transport *transport
	attempts  int
	status    int
	answer    []byte
}

// Do ignores the address and headers that go-openai made up: the transport has
// the right ones.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	got, attempts, fail := d.transport.post(req.Context(), body, nil)
	d.attempts, d.status, d.answer = attempts, got.status, got.body
	if fail != nil {
		return nil, fail
	}
	return &http.Response{
		StatusCode: got.status, Header: got.header, Body: io.NopCloser(bytes.NewReader(got.body)), Request: req,
	}, nil
}

// refuses says that the server will not have a field of the request.
func (d *doer) refuses(words ...string) bool {
	if d.status != http.StatusBadRequest && d.status != http.StatusUnprocessableEntity && d.status != http.StatusNotImplemented {
		return false
	}
	body := strings.ToLower(string(d.answer))
	for _, w := range words {
		if strings.Contains(body, w) {
			return true
		}
	}
	return false
}
