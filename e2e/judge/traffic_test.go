package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode"
)

// settings ask both models about everything. The chat model is small and says
// yes or no with little of its mass, so what is trusted is set low; the rubric
// careful trusts it only as far as nobody should.
const settings = `
judge:
  backends:
    decider: {format: systemone, url: %[1]s, model: sparrow-nano-general-v1.1, timeout: 10m, attempt_timeout: 10m}
    talker: {format: chat, method: logprobs, url: %[2]s, model: smollm2-135m, min_label_mass: 0.0001, max_concurrent: 1, timeout: 10m, attempt_timeout: 10m}
    careful: {format: chat, method: logprobs, url: %[2]s, model: smollm2-135m, min_label_mass: 1, max_concurrent: 1, timeout: 10m, attempt_timeout: 10m}
rubrics:
  decided:
    backend: decider
    criteria:
      - {name: sorry, text: The reply says sorry., threshold: 0.4}
      - name: amount
        text: The reply names the refunded amount.
        satisfied_when: a sum of money is named
        not_satisfied_when: no sum is named
      - {name: polite, text: The reply is polite.}
  said:
    backend: talker
    criteria:
      - {name: sorry, text: The reply says sorry.}
  careful:
    backend: careful
    criteria:
      - {name: polite, text: The reply is polite.}
rules:
  - {name: decided, rubric: decided, rate: 1}
  - {name: said, rubric: said, rate: 1}
  - {name: careful, rubric: careful, rate: 1}
`

// TestRealModelsJudgeRealTraffic follows two calls from a client library
// through the proxy to the verdicts of two models.
func TestRealModelsJudgeRealTraffic(t *testing.T) {
	replies := map[string]string{
		"My lamp came without its bulb. Can I have a refund?": "I am sorry the bulb was missing. I have refunded 4.50 euros to your card.",
		"When do you open on Sunday?":                         "Read the sign on the door.",
	}
	decider := newRecorder(t, startDecider(t))
	talker := newRecorder(t, startTalker(t))
	r := startRig(t, fmt.Sprintf(settings, decider.URL, talker.URL), replies)
	for message := range replies {
		r.ask(message)
	}
	for _, c := range r.judged(len(replies), 5) {
		if c.Reply.Text == nil {
			t.Fatalf("call %s was captured without its reply", c.ID)
		}
		t.Run(*c.Reply.Text, func(t *testing.T) {
			if len(c.Verdicts) != 5 || len(c.Calls) != 3 {
				t.Fatalf("%d verdicts of %d judge calls, want 5 of 3", len(c.Verdicts), len(c.Calls))
			}
			checkDecided(t, c, decider.about(*c.Reply.Text))
			checkSaid(t, c, talker.about(*c.Reply.Text))
			checkCalls(t, c)
		})
	}
}

// of returns the verdicts of a rubric, which must all be by one model and
// method.
func (c call) of(t *testing.T, rubric, model, method string) []verdict {
	t.Helper()
	var out []verdict
	for _, v := range c.Verdicts {
		if v.Rubric != rubric {
			continue
		}
		if v.JudgeModel != model || v.Method != method || v.InferenceID != c.ID || v.Origin != "online" {
			t.Errorf("%s: by %s with method %s, want %s with %s: %+v", rubric, v.JudgeModel, v.Method, model, method, v)
		}
		out = append(out, v)
	}
	return out
}

// checkDecided holds the verdicts to what the decision model answered.
func checkDecided(t *testing.T, c call, said []exchange) {
	t.Helper()
	if len(said) != 1 {
		t.Fatalf("the decision model was asked %d times, want once for all criteria", len(said))
	}
	var asked struct {
		Questions map[string]struct{ Instructions string }
	}
	var answer struct {
		Model   string
		Answers map[string]struct {
			Type string
			Noul float64
		}
	}
	decode(t, said[0].request, &asked)
	decode(t, said[0].response, &answer)
	text := map[string]string{"sorry": "says sorry", "amount": "refunded amount", "polite": "is polite"}
	verdicts := c.of(t, "decided", answer.Model, "decision")
	for _, v := range verdicts {
		found := false
		for key, q := range asked.Questions {
			if !strings.Contains(q.Instructions, text[v.Criterion]) {
				continue
			}
			found = true
			p := answer.Answers[key].Noul
			if v.Probability == nil || *v.Probability != p {
				t.Errorf("%s: probability %v, the model said %v", v.Criterion, v.Probability, p)
			}
			checkOutcome(t, v, p)
		}
		if !found {
			t.Errorf("%s was not asked about: %s", v.Criterion, said[0].request)
		}
	}
	if len(verdicts) != 3 || answer.Model != deciderModel {
		t.Errorf("%d verdicts by %s", len(verdicts), answer.Model)
	}
}

func checkOutcome(t *testing.T, v verdict, p float64) {
	t.Helper()
	want := map[bool]string{true: "pass", false: "fail"}[p >= v.Threshold]
	if v.Outcome != want || !strings.HasPrefix(v.Line, strings.ToUpper(want)) {
		t.Errorf("%s: %v at threshold %v is %s (%s), want %s", v.Criterion, p, v.Threshold, v.Outcome, v.Line, want)
	}
}

// checkSaid holds the verdicts to the log-probabilities of the chat model.
func checkSaid(t *testing.T, c call, said []exchange) {
	t.Helper()
	if len(said) != 2 {
		t.Fatalf("the chat model was asked %d times, want once for each criterion", len(said))
	}
	for _, e := range said {
		w := firstWord(t, e.response)
		rubric := map[bool]string{true: "said", false: "careful"}[strings.Contains(string(e.request), "says sorry")]
		verdicts := c.of(t, rubric, talkerModel, "logprobs")
		if len(verdicts) != 1 {
			t.Fatalf("%d verdicts of %s", len(verdicts), rubric)
		}
		v := verdicts[0]
		want, p := w.outcome(v.Threshold)
		if rubric == "careful" {
			want, p = "low_label_mass", nil
		}
		t.Logf("%s: yes %v, no %v: %s", rubric, w.yes, w.no, v.Line)
		if v.Outcome != want && (v.Reason == nil || *v.Reason != want) {
			t.Errorf("%s of %s, want %s: %+v in %+v", v.Outcome, rubric, want, w, v)
		}
		near(t, rubric+": probability", v.Probability, p)
		mass := w.yes + w.no
		near(t, rubric+": label mass", v.LabelMass, &mass)
	}
}

func near(t *testing.T, what string, got, want *float64) {
	t.Helper()
	if (got == nil) != (want == nil) || got != nil && math.Abs(*got-*want) > 1e-6 {
		t.Errorf("%s is not as the model said", what)
		for name, p := range map[string]*float64{"got": got, "want": want} {
			if p != nil {
				t.Errorf("%s %v", name, *p)
			}
		}
	}
}

// word is what the alternatives at the first word of an answer give to yes and
// to no, and at most to any word that is not among them.
type word struct{ yes, no, unseen float64 }

func firstWord(t *testing.T, response []byte) word {
	t.Helper()
	var answer struct {
		Choices []struct {
			Logprobs struct {
				Content []struct {
					Token       string
					TopLogprobs []struct {
						Token   string
						Logprob float64
					} `json:"top_logprobs"`
				}
			}
		}
	}
	decode(t, response, &answer)
	for _, at := range answer.Choices[0].Logprobs.Content {
		if bare(at.Token) == "" {
			continue // a space or a quote before the first word
		}
		w, rest := word{unseen: 1}, 1.0
		for _, alt := range at.TopLogprobs {
			p := math.Exp(alt.Logprob)
			w.unseen, rest = min(w.unseen, p), rest-p
			switch bare(alt.Token) {
			case "yes", "y", "ye", "true":
				w.yes += p
			case "no", "n", "false":
				w.no += p
			}
		}
		w.unseen = min(w.unseen, rest)
		return w
	}
	return word{}
}

// bare is a token in lower case without spaces and markup.
func bare(token string) string {
	return strings.ToLower(strings.TrimFunc(token, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
}

// outcome is pass, fail, or why it is neither, and the probability that goes
// with it. When one of the two words is not among the alternatives, it is known
// only between which bounds the probability lies.
func (w word) outcome(threshold float64) (string, *float64) {
	if w.yes+w.no == 0 {
		return "low_label_mass", nil
	}
	low, high := w.yes/(w.yes+w.no), w.yes/(w.yes+w.no)
	if w.yes == 0 {
		high = w.unseen / (w.unseen + w.no)
	}
	if w.no == 0 {
		low = w.yes / (w.yes + w.unseen)
	}
	switch {
	case low >= threshold:
		return "pass", &low
	case high < threshold:
		return "fail", &high
	}
	return "uncertain", nil
}

// checkCalls looks at the rows about the requests themselves.
func checkCalls(t *testing.T, c call) {
	t.Helper()
	wantQuestions := map[string]int{"decided": 3, "said": 1, "careful": 1}
	wantFormat := map[string]string{"decided": "systemone", "said": "chat", "careful": "chat"}
	for _, j := range c.Calls {
		if j.Questions != wantQuestions[j.Rubric] || j.Format != wantFormat[j.Rubric] || j.Attempts != 1 || j.TraceID == nil {
			t.Errorf("judge call %+v", j)
		}
		if j.Format == "chat" && (j.InputTokens == nil || *j.InputTokens < 100) {
			t.Errorf("%s: input tokens %v", j.Rubric, j.InputTokens)
		}
	}
}

func decode(t *testing.T, body []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}
