package judge

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"
	"github.com/tidwall/gjson"

	"docket/internal/record"
)

const (
	leadingTokens = 3     // an answer may begin with a space, a quote or markup
	absent        = -9999 // what some servers write for "not among them"
	massSlack     = 1.01  // sums of rounded probabilities come out a little above 1
)

// logprobs asks for one word and reads P(yes) from the probabilities of the
// words that could have been said. have is false when the server has no
// log-probabilities to give.
func (s *session) logprobs(ctx context.Context) (out reply, have bool) {
	choice, d, err := s.completeLogprobs(ctx, s.chat.ability(s.request.model).top)
	if err != nil && d.refuses("top_logprobs") {
		s.chat.learn(s.request.model, func(a *ability) { a.top = narrowTop })
		choice, d, err = s.completeLogprobs(ctx, narrowTop)
	}
	switch {
	case err != nil && (locallyRefused(err) || d.refuses("logprob")):
		return reply{}, false
	case err != nil:
		return s.fail(err, record.MethodLogprobs), true
	case choice.Message.Refusal != "" || choice.FinishReason == openai.FinishReasonContentFilter:
		return one(refusalAnswer(choice), record.MethodLogprobs), true
	}
	positions, have := readPositions(d.answer)
	if !have {
		return reply{}, false
	}
	a := labelAnswer(positions, s.chat.config.MinLabelMass)
	if a.reason == record.ReasonMalformed {
		return failed(1, record.MethodLogprobs, a.reason, a.detail), true
	}
	return one(a, record.MethodLogprobs), true
}

func (s *session) completeLogprobs(ctx context.Context, top int) (openai.ChatCompletionChoice, *doer, error) {
	messages, err := s.messages(textChatFormatWord, "")
	if err != nil {
		return openai.ChatCompletionChoice{}, &doer{}, &callError{record.ReasonJudgeError, err.Error()}
	}
	// No temperature: the probabilities are the signal, not the word. And 0
	// could not be sent, since the library leaves it out.
	req := openai.ChatCompletionRequest{
		Model: s.request.model, Messages: messages, LogProbs: true, TopLogProbs: top,
		ChatTemplateKwargs: s.chat.config.TemplateArgs,
	}
	limitTokens(&req, leadingTokens)
	if _, takesNone := reasoning(req.Model); takesNone {
		req.ReasoningEffort = openai.ReasoningEffortNone
	}
	return s.complete(ctx, req)
}

// one is the reply to one question.
func one(a answer, method string) reply { return reply{answers: []answer{a}, method: method} }

func refusalAnswer(c openai.ChatCompletionChoice) answer {
	detail := short(c.Message.Refusal)
	if detail == "" {
		detail = "the judge's content filter stopped the answer"
	}
	return unanswered(record.ReasonRefused, detail)
}

// position is one place in an answer: the token that stands there and all that
// could have, with their log-probabilities.
type position struct {
	token string
	alts  []alternative
	bad   bool // something there is not a token with a number
}

type alternative struct {
	token string
	lp    float64
}

// readPositions reads the log-probabilities out of the answer itself: the
// library takes a number that is missing for 0, which would be certainty.
func readPositions(body []byte) (out []position, have bool) {
	doc, err := parse(body)
	if err != nil {
		return nil, false
	}
	content := doc.Get("choices.0.logprobs.content")
	for _, v := range content.Array() {
		p := position{token: text(v, "token")}
		p.add(v)
		alts, _ := members(v, "top_logprobs")
		for _, alt := range alts.Array() {
			p.add(alt)
		}
		out = append(out, p)
	}
	return out, len(out) > 0
}

func (p *position) add(v gjson.Result) {
	token, n := members(v, "token")
	lp, m := members(v, "logprob")
	if n != 1 || m != 1 || token.Type != gjson.String || lp.Type != gjson.Number {
		p.bad = true
		return
	}
	f, err := strconv.ParseFloat(lp.Raw, 64)
	if err != nil {
		p.bad = true
		return
	}
	if !slices.ContainsFunc(p.alts, func(a alternative) bool { return a.token == token.Str }) {
		p.alts = append(p.alts, alternative{token.Str, f})
	}
}

// labelAnswer reads the first token that is more than spaces and markup, or
// could well have been: which one was drawn is chance. Of the
// tokens that could have stood there, those that mean yes and those that mean
// no are summed up; p is the share of yes among them, mass what they hold
// together.
func labelAnswer(positions []position, minMass float64) answer {
	for i, at := range positions {
		if i >= leadingTokens {
			break
		}
		if at.bad {
			return unanswered(record.ReasonMalformed, "a token without a log-probability")
		}
		if label(at.token) != "" || minMass > 0 && at.mass() >= minMass {
			return at.answer(minMass)
		}
	}
	return noLabel(minMass)
}

// noLabel is the answer when neither yes nor no could have been said.
func noLabel(minMass float64) answer {
	mass := 0.0
	return trusted(answer{mass: &mass}, max(minMass, math.SmallestNonzeroFloat64))
}

// mass is the probability of all tokens that mean yes or no.
func (p position) mass() float64 {
	var sum float64
	for _, alt := range p.alts {
		if l := label(alt.token); alt.lp > absent && (l == "yes" || l == "no") {
			sum += math.Exp(alt.lp)
		}
	}
	return sum
}

func (p position) answer(minMass float64) answer {
	var yes, no, all float64
	smallest := 1.0
	for _, alt := range p.alts {
		if alt.lp <= absent {
			continue
		}
		prob := math.Exp(alt.lp)
		if prob > massSlack {
			return unanswered(record.ReasonOutOfRange, "a log-probability is above 0")
		}
		all, smallest = all+prob, min(smallest, prob)
		switch label(alt.token) {
		case "yes":
			yes += prob
		case "no":
			no += prob
		}
	}
	if all > massSlack {
		return unanswered(record.ReasonOutOfRange, "the probabilities of the first word add up to more than 1")
	}
	mass := min(yes+no, 1)
	if mass == 0 {
		return noLabel(minMass)
	}
	return trusted(sides(yes, no, min(smallest, max(1-all, 0)), mass), minMass)
}

// sides is yes/(yes+no). A side that is not among the tokens is known to hold
// at most unseen, which leaves an interval.
func sides(yes, no, unseen, mass float64) answer {
	p := yes / (yes + no)
	a := answer{p: &p, mass: &mass}
	if yes > 0 && no > 0 || unseen == 0 {
		return a
	}
	low, high := 0.0, 1.0
	if yes == 0 {
		high = unseen / (unseen + no)
	} else {
		low = yes / (yes + unseen)
	}
	a.low, a.high = &low, &high
	return a
}

// label is "yes", "no", another word in lower case, or "" for a token without
// any.
func label(token string) string {
	word := strings.ToLower(strings.Trim(token, " \t\r\n\u00a0\u2581\u0120\u010a\"'`*_.,:;!()[]{}<>\u201c\u201d\u2018\u2019"))
	switch word {
	case "yes", "y", "ye", "true":
		return "yes"
	case "no", "n", "false":
		return "no"
	}
	return word
}
