package judge

import (
	"context"
	"time"

	"docket/internal/record"
)

// backend asks one kind of judge. It is safe for concurrent use.
type backend interface {
	// ask answers the questions of one request. The reply has one answer per
	// question, in their order, or an error that stands for all of them. It
	// never returns a made-up number: what is not a probability from 0 to 1 is
	// an answer with a reason. The request belongs to the caller.
	ask(ctx context.Context, r request) reply
}

// request is what one call asks.
type request struct {
	shown     shown
	questions []question
	model     string
	system    string // own chat templates, "" for the built-in ones
	user      string
}

// question is one typed question. Texts come from criteria and templates only,
// never from what is judged.
type question struct {
	key       string // of the wire format, such as q1
	criterion Criterion
	purpose   string // one of purpose*
	text      string // as a question
	statement string // as a statement that is true or not
	yesWhen   string
	noWhen    string
}

// What a question is for.
const (
	purposeCriterion = "criterion"
	purposeApplies   = "applies"
	purposeCanary    = "canary"
)

// answer is what a judge says to one question: a probability, or the reason why
// there is none.
type answer struct {
	p         *float64
	low, high *float64 // bounds of p, when it is only known to lie between them
	mass      *float64 // share of yes and no among all that could have been said
	reason    string   // one of record.Reason*
	detail    string   // one sentence from the judge, or what is wrong
}

// reply is what came of one call.
type reply struct {
	answers      []answer
	model        string // as the judge names it
	method       string // one of record.Method*
	inputTokens  *uint64
	outputTokens *uint64
	costNano     *uint64 // when the judge itself says what it costs
	attempts     int
	err          *callError
	latency      time.Duration
}

// callError is why a call brought no answers at all.
type callError struct {
	reason  string // one of record.Reason*
	message string // without secrets
}

func (e *callError) Error() string { return e.reason + ": " + e.message }

// failed is the reply of a call that brought nothing.
func failed(n int, method, reason, message string) reply {
	r := reply{method: method, err: &callError{reason: reason, message: message}}
	for range n {
		r.answers = append(r.answers, answer{reason: reason, detail: message})
	}
	return r
}

func probability(p float64) answer { return answer{p: &p} }

// unanswered has a reason in place of a probability.
func unanswered(reason, detail string) answer { return answer{reason: reason, detail: detail} }

func missing() answer {
	return unanswered(record.ReasonMissingAnswer, "the judge gave no answer to this question")
}
