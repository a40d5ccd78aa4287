package judge

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/tidwall/gjson"

	"docket/internal/record"
)

// decoded is what a format's decoder makes of an answer's body.
type decoded struct {
	answers      []answer
	model        string
	inputTokens  *uint64
	outputTokens *uint64
	costNano     *uint64
	err          *callError
}

// parse checks that a body is one JSON object. The standard library's check
// bounds the nesting, which gjson does not.
func parse(body []byte) (gjson.Result, *callError) {
	if !json.Valid(body) {
		return gjson.Result{}, &callError{record.ReasonMalformed, "the answer is not JSON"}
	}
	doc := gjson.ParseBytes(body)
	if !doc.IsObject() {
		return doc, &callError{record.ReasonMalformed, "the answer is not a JSON object"}
	}
	return doc, nil
}

// members returns the value of a key and how often the key is there. gjson's
// own paths would read dots and take the first of many.
func members(obj gjson.Result, key string) (v gjson.Result, n int) {
	if !obj.IsObject() {
		return v, 0
	}
	obj.ForEach(func(k, val gjson.Result) bool {
		if k.Str == key {
			v, n = val, n+1
		}
		return true
	})
	return v, n
}

// number reads a probability. Anything but a JSON number from 0 to 1 is an
// answer without one: nothing is clamped, rounded or read out of a text.
func number(obj gjson.Result, key string) answer {
	v, n := members(obj, key)
	switch {
	case n == 0 || v.Type == gjson.Null:
		return missing()
	case n > 1:
		return unanswered(record.ReasonMalformed, key+" is given more than once")
	case v.Type != gjson.Number:
		return unanswered(record.ReasonMalformed, key+" is not a number")
	}
	p, err := strconv.ParseFloat(v.Raw, 64)
	if err != nil || math.IsNaN(p) || math.IsInf(p, 0) {
		return unanswered(record.ReasonMalformed, key+" is not a finite number")
	}
	if p < 0 || p > 1 {
		return unanswered(record.ReasonOutOfRange, key+" is "+v.Raw+", not from 0 to 1")
	}
	if p == 0 {
		p = 0 // not minus zero
	}
	return probability(p)
}

// text reads a short text, "" when it is none.
func text(obj gjson.Result, key string) string {
	if v, n := members(obj, key); n == 1 && v.Type == gjson.String {
		return v.Str
	}
	return ""
}

// count reads a number of tokens, nil when it is none.
func count(obj gjson.Result, key string) *uint64 {
	v, n := members(obj, key)
	if n != 1 || v.Type != gjson.Number {
		return nil
	}
	u, err := strconv.ParseUint(v.Raw, 10, 64)
	if err != nil || u > 1<<40 {
		return nil
	}
	return &u
}

// nano reads an amount of dollars as nano-dollars, nil when it is none.
func nano(obj gjson.Result, key string) *uint64 {
	v, n := members(obj, key)
	if n != 1 || v.Type != gjson.Number || !(v.Num >= 0 && v.Num < 1e6) {
		return nil
	}
	u := uint64(math.Round(v.Num * 1e9))
	return &u
}

// byKey finds the answer of each question in the document's one object of
// answers, and reads what there is exactly one of.
func byKey(doc gjson.Result, questions []question, read func(gjson.Result, question) answer) ([]answer, *callError) {
	answers, n := members(doc, "answers")
	if n != 1 || !answers.IsObject() {
		return nil, &callError{record.ReasonMalformed, "the answer has no object of answers, or several"}
	}
	out := make([]answer, len(questions))
	for i, q := range questions {
		switch v, n := members(answers, q.key); {
		case n == 0 || v.Type == gjson.Null:
			out[i] = missing()
		case n > 1:
			out[i] = unanswered(record.ReasonMalformed, "the question is answered more than once")
		case !v.IsObject():
			out[i] = unanswered(record.ReasonMalformed, "the answer to the question is not an object")
		default:
			out[i] = read(v, q)
		}
	}
	return out, nil
}

// trusted withdraws a probability when yes and no together hold too little of
// what could have been said.
func trusted(a answer, minMass float64) answer {
	if a.mass != nil && *a.mass < minMass {
		a.p, a.low, a.high = nil, nil, nil
		a.reason, a.detail = record.ReasonLowLabelMass, "yes and no together hold "+strconv.FormatFloat(*a.mass, 'g', 3, 64)+" of the probability"
	}
	return a
}

// withMass adds the label mass, if there is one. With one that is no share it is
// not known whether the answer can be trusted, so it is none.
func withMass(a answer, obj gjson.Result, key string) answer {
	m := number(obj, key)
	switch {
	case a.p == nil || m.reason == record.ReasonMissingAnswer:
		return a
	case m.p != nil:
		a.mass = m.p
		return a
	}
	if v, _ := members(obj, key); m.reason == record.ReasonOutOfRange && v.Num > 1 && v.Num <= massSlack {
		return a // a sum of rounded shares: as good as all of it
	}
	return m
}

// reply turns a decoded body into a reply to n questions.
func (d decoded) reply(n int, method string) reply {
	if d.err != nil {
		r := failed(n, method, d.err.reason, d.err.message)
		r.model, r.inputTokens, r.outputTokens, r.costNano = d.model, d.inputTokens, d.outputTokens, d.costNano
		return r
	}
	return reply{
		answers: d.answers, method: method, model: d.model,
		inputTokens: d.inputTokens, outputTokens: d.outputTokens, costNano: d.costNano,
	}
}
