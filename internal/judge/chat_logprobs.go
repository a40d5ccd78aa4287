package judge

import (
	"context"
	"math"
	"strings"

	openai "github.com/sashabaranov/go-openai"

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
	case choice.LogProbs == nil || len(choice.LogProbs.Content) == 0:
		return reply{}, false
	}
	return one(labelAnswer(choice.LogProbs.Content, s.chat.config.MinLabelMass), record.MethodLogprobs), true
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

// labelAnswer reads the first token that is more than spaces and markup. Of the
// tokens that could have stood there, those that mean yes and those that mean
// no are summed up; p is the share of yes among them, mass what they hold
// together.
func labelAnswer(content []openai.LogProb, minMass float64) answer {
	for i, at := range content {
		if i >= leadingTokens {
			break
		}
		if label(at.Token) != "" {
			return positionAnswer(at, minMass)
		}
	}
	mass := 0.0
	return trusted(answer{mass: &mass}, max(minMass, math.SmallestNonzeroFloat64))
}

func positionAnswer(at openai.LogProb, minMass float64) answer {
	found := map[string]float64{at.Token: at.LogProb}
	for _, alt := range at.TopLogProbs {
		found[alt.Token] = alt.LogProb
	}
	var yes, no, all float64
	smallest := 1.0
	for token, lp := range found {
		if lp <= absent {
			continue
		}
		p := math.Exp(lp)
		if math.IsNaN(p) || p > massSlack {
			return unanswered(record.ReasonOutOfRange, "a log-probability is above 0")
		}
		all, smallest = all+p, min(smallest, p)
		switch label(token) {
		case "yes":
			yes += p
		case "no":
			no += p
		}
	}
	if all > massSlack {
		return unanswered(record.ReasonOutOfRange, "the probabilities of the first word add up to more than 1")
	}
	mass := min(yes+no, 1)
	if mass == 0 {
		return trusted(answer{mass: &mass}, max(minMass, math.SmallestNonzeroFloat64))
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
