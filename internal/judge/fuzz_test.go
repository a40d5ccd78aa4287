package judge

import (
	"encoding/json"
	"math"
	"testing"

	"docket/internal/record"
)

// Every decoder of a judge's answer gets arbitrary bytes. What comes out is one
// answer a question: a probability from 0 to 1, or a reason.

func twoQuestions(prefix string) []question {
	return []question{{key: prefix + "1", purpose: purposeCriterion}, {key: prefix + "2", purpose: purposeApplies}}
}

func checkAnswers(t *testing.T, d decoded, n int) {
	t.Helper()
	r := d.reply(n, record.MethodDecision)
	if len(r.answers) != n {
		t.Fatalf("%d answers to %d questions", len(r.answers), n)
	}
	for _, a := range r.answers {
		checkAnswer(t, a)
	}
	if r.err != nil && (r.err.reason == "" || r.err.message == "") {
		t.Errorf("error without words: %+v", r.err)
	}
}

func checkAnswer(t *testing.T, a answer) {
	t.Helper()
	for _, p := range []*float64{a.p, a.low, a.high, a.mass} {
		if p != nil && (!isProbability(*p) || math.Signbit(*p)) {
			t.Errorf("%v is no probability", *p)
		}
	}
	if (a.p == nil) == (a.reason == "") {
		t.Errorf("answer with p %v and reason %q", a.p, a.reason)
	}
	if a.low != nil && (a.high == nil || *a.low > *a.high) {
		t.Errorf("interval from %v to %v", a.low, a.high)
	}
	// Whatever the answer is, it becomes a row that can be stored.
	outcome, reason, p := outcomeOf(a, Criterion{})
	if outcome == record.OutcomeInconclusive && reason == "" || outcome != record.OutcomeInconclusive && p == nil {
		t.Errorf("%s (%q) with p %v", outcome, reason, p)
	}
}

func FuzzDecodeSystemOne(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","answers":{"q1":{"type":"noul","noul":0.97},"q2":{"type":"boolean","boolean":0.1}},"usage":{"input_tokens":3,"output_tokens":1,"cost":0.5}}`,
		`{"result":{"answers":{"q1":{"type":"noul","noul":1}}},"success":true}`,
		`{"answers":{"q1":{"type":"noul","noul":0.9},"q1":{"type":"noul","noul":0.1}},"diagnostics":{"q1":{"label_mass":0.2}}}`,
		`{"answers":{"q1":{"type":"noul","noul":NaN}}}`, `{"answers":{"q1":{"noul":1e400},"q2":{"noul":-0.0}}}`,
	} {
		f.Add([]byte(s), "")
		f.Add([]byte(s), "result")
	}
	f.Fuzz(func(t *testing.T, body []byte, unwrap string) {
		checkAnswers(t, decodeSystemOne(body, unwrap, twoQuestions("q"), 0.5), 2)
	})
}

func FuzzDecodeOpenAI(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","answers":[{"type":"predicate","name":"c1","probability":0.97},{"type":"refusal","name":"c2"}],"usage":{"input_tokens":310,"output_tokens":0}}`,
		`{"answers":[{"type":"predicate","probability":0.9},{"type":"predicate","probability":"0.9"}]}`,
		`{"answers":[{"type":"predicate","name":"c2","probability":2},{"type":"predicate","name":"c2","probability":0}]}`, `{"answers":[null,1]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkAnswers(t, decodeOpenAI(body, twoQuestions("c")), 2) })
}

func FuzzDecodeSGLang(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","answers":{"q1":{"type":"yes_no","probabilities":{"yes":0.97,"no":0.03},"label_mass":0.99},"q2":{"type":"yes_no","probabilities":{"yes":0.5,"no":0.1}}},"usage":{"prompt_tokens":310}}`,
		`{"answers":{"q1":{"type":"yes_no","probabilities":{"yes":0.97,"no":0.03},"label_mass":-1}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkAnswers(t, decodeSGLang(body, twoQuestions("q"), 0.5), 2) })
}

func FuzzDecodeHTTP(f *testing.F) {
	for _, s := range []string{
		`{"answers":{"q1":{"probability":0.9,"reason":"says sorry"},"q2":{"inconclusive":"cannot be told"}},"model":"m","usage":{"input_tokens":1,"output_tokens":2},"cost_usd":0.1}`,
		`{"answers":{"q1":{"probability":0.9,"inconclusive":true},"q2":{"inconclusive":null}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkAnswers(t, decodeHTTP(body, twoQuestions("q")), 2) })
}

func FuzzReadScore(f *testing.F) {
	for _, s := range []string{
		`{"reason":"r","score":0.9}`, "```json\n{\"score\":1}\n```", "<think>x</think>{\"score\":0}", `{"score":"1"}`, `{"score":1}{"score":0}`, "````", "```json```",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) { checkAnswer(t, readScore(content)) })
}

func FuzzLabelAnswer(f *testing.F) {
	for _, s := range []string{
		`{"choices":[{"logprobs":{"content":[{"token":"Yes","logprob":-0.1,"top_logprobs":[{"token":"Yes","logprob":-0.1},{"token":"No","logprob":-3}]}]}}]}`,
		`{"choices":[{"logprobs":{"content":[{"token":"**","logprob":0},{"token":"no","logprob":-9999}]}}]}`,
		`{"choices":[{"logprobs":{"content":[{"token":"Yes"}]}}]}`, `{"choices":[{"logprobs":{"content":[{"token":"Yes","logprob":5}]}}]}`,
		`{"choices":[{"logprobs":{"content":[{"token":"y","logprob":-1e308},{"token":1,"logprob":"x"}]}}]}`,
	} {
		f.Add([]byte(s), 0.5)
	}
	f.Fuzz(func(t *testing.T, body []byte, minMass float64) {
		if positions, have := readPositions(body); have {
			checkAnswer(t, labelAnswer(positions, minMass))
		}
	})
}

func FuzzErrorText(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"m"}}`, `{"detail":[{"msg":"m"}]}`, `{"detail":{"error_type":"t"}}`, `{"error":"m"}`, "<html>", "", "\xff"} {
		f.Add([]byte(s))
	}
	t := &transport{config: BackendConfig{}}
	f.Fuzz(func(tt *testing.T, body []byte) {
		if got := t.clean(errorText(body)); !json.Valid(encode(got)) || len([]rune(got)) > maxMessage+1 {
			tt.Errorf("message %q", got)
		}
	})
}

func FuzzInlineImages(f *testing.F) {
	f.Add([]byte(`{"messages":[{"content":[{"image_url":{"url":"data:image/png;base64,AAAAAAAAAAAAAAAAAAAA"}}]}]}`), "x")
	f.Fuzz(func(t *testing.T, request []byte, sum string) {
		messages := []record.Message{{Parts: []record.Part{{Type: record.PartBlob, Modality: record.ModalityImage, SHA256: sum}}}}
		for key := range inlineImages(request, messages) {
			if key != sum {
				t.Errorf("found %q, which nobody asked for", key)
			}
		}
	})
}

func FuzzSlugAndWarnings(f *testing.F) {
	f.Add("The reply says sorry, and: means it!")
	f.Fuzz(func(t *testing.T, text string) {
		c := Criterion{Text: text}
		if again := slug(c.key()); c.key() != "" && again == "" {
			t.Errorf("slug of slug %q is empty", c.key())
		}
		c.warnings()
		criterionQuestion(c, true)
	})
}

func TestEveryWordingCanBeFilled(t *testing.T) {
	values := map[string]string{
		"text": "T", "yes_when": "Y", "no_when": "N", "conversation": "C", "asked": "A", "reply": "R", "tools": "O", "sources": "S",
		"expected": "E", "criterion": "K",
	}
	for _, w := range wordings() {
		got, err := fill(w, values)
		if err != nil || got == "" {
			t.Errorf("%q: %v", w, err)
		}
	}
}
