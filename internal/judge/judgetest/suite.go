package judgetest

import (
	"context"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"docket/internal/judge"
	"docket/internal/record"
)

// topic says which criterion of Three a question is about.
func topic(text string) string {
	switch {
	case strings.Contains(text, "says sorry"):
		return "sorry"
	case strings.Contains(text, "refunded amount"):
		return "amount"
	}
	return "polite"
}

// Run holds a format to what every backend must do.
func Run(t *testing.T, f Format) {
	for name, test := range map[string]func(*testing.T, Format){
		"verdicts in the order of the criteria":      ordersVerdicts,
		"a probability at the threshold passes":      passesAtThreshold,
		"one refusal touches one criterion":          refusesOne,
		"one missing answer touches one criterion":   missesOne,
		"a wrong number is never a score":            wrongNumbers,
		"an answer of rubbish is never a score":      rubbish,
		"waits as the server asks, then goes on":     retries,
		"gives up after its retries":                 givesUp,
		"does not repeat what was refused for good":  finalErrors,
		"an overlong request is not repeated":        overlong,
		"a server that hangs is a timeout":           hangs,
		"a cut answer is no answer":                  cutAnswer,
		"an ended context ends the call":             cancelled,
		"a key is sent once and kept nowhere":        keepsSecrets,
		"is marked as Docket's own and keeps no log": marksTraffic,
		"thresholds and weights stay at home":        hidesThresholds,
		"a judge is shared":                          shared,
		"records who said what at what cost":         records,
		"content stays data":                         contentIsData,
	} {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
}

func judged(t *testing.T, s *Server, r judge.Rubric) judge.Result {
	t.Helper()
	return New(t, s.Backend(), r, nil).Judge(t.Context(), "r", Unit())
}

func near(p *float64, want float64) bool { return p != nil && math.Abs(*p-want) < 1e-9 }

func ordersVerdicts(t *testing.T, f Format) {
	s := NewServer(t, f)
	s.Answer(By(0.9, 0.2, 0.7))
	got := judged(t, s, judge.Rubric{Criteria: Three()})
	for i, want := range []struct {
		name, outcome string
		p             float64
	}{
		{"sorry", record.OutcomePass, 0.9},
		{"amount", record.OutcomeFail, 0.2},
		{"polite", record.OutcomePass, 0.7},
	} {
		v := got.Verdicts[i]
		if v.Criterion != want.name || int(v.CriterionIndex) != i || v.Outcome != want.outcome || !near(v.Probability, want.p) {
			t.Errorf("verdict %d: %+v, want %+v", i, v, want)
		}
		if v.Method != f.Method {
			t.Errorf("method %s, want %s", v.Method, f.Method)
		}
	}
	if got.Outcome != record.OutcomeFail || !near(got.Score, 0.6) {
		t.Errorf("outcome %s, score %v", got.Outcome, got.Score)
	}
	requests := len(s.Seen())
	if want := map[bool]int{true: 1, false: 3}[f.Batches]; requests != want || len(got.Calls) != want {
		t.Errorf("%d requests and %d calls, want %d", requests, len(got.Calls), want)
	}
}

func passesAtThreshold(t *testing.T, f Format) {
	if !f.Exact {
		return // its probabilities are computed, so equality means nothing
	}
	for _, p := range []float64{0.5, 0.7, 1} {
		s := NewServer(t, f)
		s.Answer(func(Question) Answer { return Answer{P: p} })
		got := judged(t, s, judge.Rubric{Criteria: Three(), Threshold: &p})
		if got.Outcome != record.OutcomePass {
			t.Errorf("%v at threshold %v: %s", p, p, got.Outcome)
		}
		below := math.Nextafter(p, 0)
		s.Answer(func(Question) Answer { return Answer{P: below} })
		if got := judged(t, s, judge.Rubric{Criteria: Three(), Threshold: &p}); got.Outcome != record.OutcomeFail {
			t.Errorf("%v at threshold %v: %s", below, p, got.Outcome)
		}
	}
}

func without(key string, answer Answer) func(Question) Answer {
	return func(q Question) Answer {
		if topic(q.Text) == key {
			return answer
		}
		return Answer{P: 0.8}
	}
}

func touchesOne(t *testing.T, f Format, answer Answer) record.Verdict {
	t.Helper()
	s := NewServer(t, f)
	s.Answer(without("amount", answer))
	got := judged(t, s, judge.Rubric{Criteria: Three()})
	if got.Outcome != record.OutcomeInconclusive || got.Score != nil {
		t.Errorf("outcome %s, score %v: want inconclusive without a score", got.Outcome, got.Score)
	}
	for _, i := range []int{0, 2} {
		if v := got.Verdicts[i]; v.Outcome != record.OutcomePass || !near(v.Probability, 0.8) {
			t.Errorf("criterion %s is %s %v", v.Criterion, v.Outcome, v.Probability)
		}
	}
	v := got.Verdicts[1]
	if v.Outcome != record.OutcomeInconclusive || v.Probability != nil {
		t.Errorf("criterion amount is %s %v", v.Outcome, v.Probability)
	}
	return v
}

func refusesOne(t *testing.T, f Format) {
	want := map[string]string{"sglang": record.ReasonLowLabelMass, "http": record.ReasonUncertain}[f.Name]
	if want == "" {
		want = record.ReasonRefused
	}
	if v := touchesOne(t, f, Answer{Refuse: true}); v.Reason != want {
		t.Errorf("reason %s, want %s", v.Reason, want)
	}
}

func missesOne(t *testing.T, f Format) {
	v := touchesOne(t, f, Answer{Missing: true})
	if v.Reason != record.ReasonMissingAnswer && v.Reason != record.ReasonMalformed {
		t.Errorf("reason %s", v.Reason)
	}
}

// WrongNumbers are JSON texts that are not a probability.
func WrongNumbers() []string {
	return []string{
		`"0.9"`, `"yes"`, `true`, `false`, `null`, `[]`, `[0.9]`, `{}`, `{"value":0.9}`, `NaN`, `Infinity`, `-Infinity`,
		`1e999`, `-1e999`, `7`, `100`, `1.0000001`, `-0.0000001`, `-1`, `0x1`, `.9`, `0,9`, `90%`, ``, ` `,
	}
}

func wrongNumbers(t *testing.T, f Format) {
	for _, raw := range WrongNumbers() {
		if f.Name == "chat-logprobs" && strings.HasPrefix(raw, "-") && raw != "-Infinity" {
			continue // a log-probability is below 0
		}
		s := NewServer(t, f)
		if raw == "" {
			raw = `""`
		}
		s.Answer(without("amount", Answer{Raw: raw, P: 0.9}))
		got := judged(t, s, judge.Rubric{Criteria: Three()})
		v := got.Verdicts[1]
		if v.Outcome != record.OutcomeInconclusive || v.Probability != nil || v.Reason == "" {
			t.Errorf("%s: %s, p %v, reason %q", raw, v.Outcome, v.Probability, v.Reason)
		}
		if got.Outcome == record.OutcomePass || got.Score != nil {
			t.Errorf("%s: rubric %s, score %v", raw, got.Outcome, got.Score)
		}
	}
}

// Rubbish are bodies of answers that answer nothing.
func Rubbish() []string {
	return []string{
		"", " ", "null", "true", "0.9", `"Yes"`, "[]", "{}", "[[[[", strings.Repeat("[", 100_000), "{\"answers\":", `{"answers":null}`,
		`{"answers":{}}`, `{"answers":[]}`, `{"answers":[null,null,null]}`, `{"answers":"yes"}`, `{"answers":{"q1":0.9,"c1":0.9}}`,
		`{"answers":{"q1":null}}`, `{"answers":[{}]}`, `{"answers":[{"type":"predicate"}]}`, `{"choices":[]}`, `{"choices":null}`,
		`{"choices":[{}]}`, `{"choices":[{"message":null}]}`, `{"choices":[{"message":{"content":null}}]}`,
		`{"choices":[{"message":{"content":"pass"}}]}`, `{"choices":[{"message":{"content":"{\"score\":\"1\"}"}}]}`,
		`{"choices":[{"message":{"content":"Yes"},"logprobs":{"content":[]}}]}`,
		`{"choices":[{"message":{"content":"Yes"},"logprobs":{"content":[{"token":"Yes"}]}}]}x`,
		"<html><body>504 Gateway Time-out</body></html>", "\xff\xfe\x00", "data: {\"answers\":{}}\n\n", `{"error":{"message":"no"}}`,
	}
}

func rubbish(t *testing.T, f Format) {
	for _, body := range Rubbish() {
		s := NewServer(t, f)
		for range 12 {
			s.Next(Response{Status: http.StatusOK, Body: body})
		}
		got := judged(t, s, judge.Rubric{Criteria: Three()})
		if got.Outcome != record.OutcomeInconclusive || got.Score != nil {
			t.Errorf("%.60q: %s, score %v", body, got.Outcome, got.Score)
		}
		for _, v := range got.Verdicts {
			if v.Probability != nil || v.Reason == "" || len(v.Detail) > 2100 {
				t.Errorf("%.60q: %s: p %v, reason %q, detail of %d bytes", body, v.Criterion, v.Probability, v.Reason, len(v.Detail))
			}
		}
	}
}

func one() judge.Rubric { return judge.Rubric{Criteria: Three()[:1]} }

func retries(t *testing.T, f Format) {
	for _, c := range []struct {
		header map[string]string
		want   time.Duration
	}{
		{map[string]string{"Retry-After": "3"}, 3 * time.Second},
		{map[string]string{"Retry-After": Now().Add(7 * time.Second).Format(http.TimeFormat)}, 7 * time.Second},
		{map[string]string{"Retry-After-Ms": "250"}, 250 * time.Millisecond},
		{map[string]string{"Retry-After-Ms": "40", "Retry-After": "9"}, 40 * time.Millisecond},
		{map[string]string{"Retry-After": "soon"}, 500 * time.Millisecond},
		{nil, 500 * time.Millisecond},
	} {
		for _, status := range []int{408, 429, 500, 502, 503, 529} {
			s := NewServer(t, f)
			s.Next(Response{Status: status, Header: c.header})
			var waits []time.Duration
			got := New(t, s.Backend(), one(), &waits).Judge(t.Context(), "r", Unit())
			if got.Outcome != record.OutcomePass || len(waits) != 1 || waits[0] != c.want || got.Calls[0].Attempts != 2 {
				t.Errorf("status %d, %v: %s after waits %v and %d attempts", status, c.header, got.Outcome, waits, got.Calls[0].Attempts)
			}
		}
	}
}

func givesUp(t *testing.T, f Format) {
	for status, reason := range map[int]string{429: record.ReasonRateLimited, 500: record.ReasonJudgeError, 503: record.ReasonJudgeError, 504: record.ReasonTimeout} {
		s := NewServer(t, f)
		for range 5 {
			s.Next(Response{Status: status, Body: `{"error":{"message":"come back later"}}`})
		}
		var waits []time.Duration
		got := New(t, s.Backend(), one(), &waits).Judge(t.Context(), "r", Unit())
		v, call := got.Verdicts[0], got.Calls[0]
		if v.Outcome != record.OutcomeInconclusive || v.Reason != reason || len(s.Seen()) != 3 || call.Attempts != 3 {
			t.Errorf("status %d: %s (%s) after %d requests, %d attempts", status, v.Outcome, v.Reason, len(s.Seen()), call.Attempts)
		}
		if !strings.Contains(v.Detail, "come back later") || call.ErrorReason != reason || !strings.Contains(call.ErrorMessage, "come back later") {
			t.Errorf("status %d: the message is lost: %q, %q", status, v.Detail, call.ErrorMessage)
		}
		if len(waits) != 2 || waits[0] != 500*time.Millisecond || waits[1] != time.Second {
			t.Errorf("status %d: waits %v", status, waits)
		}
	}
	s := NewServer(t, f)
	s.Next(Response{Status: 429, Header: map[string]string{"Retry-After": "61"}})
	if got := judged(t, s, one()); got.Reason != record.ReasonRateLimited || len(s.Seen()) != 1 {
		t.Errorf("a wait of more than a minute: %s after %d requests", got.Reason, len(s.Seen()))
	}
}

func finalErrors(t *testing.T, f Format) {
	for _, status := range []int{301, 302, 307, 400, 401, 403, 404, 405, 409, 422, 501} {
		s := NewServer(t, f)
		s.Next(Response{Status: status, Header: map[string]string{"Location": "/elsewhere"}, Body: `{"detail":{"message":"not like this"}}`})
		got := judged(t, s, one())
		if v := got.Verdicts[0]; v.Outcome != record.OutcomeInconclusive || v.Reason != record.ReasonJudgeError || len(s.Seen()) != 1 {
			t.Errorf("status %d: %s (%s), %d requests", status, v.Outcome, v.Reason, len(s.Seen()))
		}
	}
}

func overlong(t *testing.T, f Format) {
	for _, r := range []Response{
		{Status: 413},
		{Status: 400, Body: `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`},
		{Status: 422, Body: `{"detail":{"error_type":"max_tokens_exceeded"}}`},
		{Status: 400, Body: `{"error":"prompt is too long: 210000 tokens"}`},
	} {
		s := NewServer(t, f)
		s.Next(r)
		if got := judged(t, s, one()); got.Reason != record.ReasonContextOverflow || len(s.Seen()) != 1 {
			t.Errorf("%+v: %s after %d requests", r, got.Reason, len(s.Seen()))
		}
	}
}

// hangs lets calls run out of time. Whether a request gets out in so short a
// time is up to the machine, so what is counted are the attempts, and the
// requests are those that the server saw at most.
func hangs(t *testing.T, f Format) {
	s := NewServer(t, f)
	s.Next(Response{Hang: true}, Response{Hang: true})
	b := s.Backend()
	b.AttemptTimeout, b.Retries = 30*time.Millisecond, 1
	got := New(t, b, one(), nil).Judge(t.Context(), "r", Unit())
	if v := got.Verdicts[0]; v.Outcome != record.OutcomeInconclusive || v.Reason != record.ReasonTimeout || got.Calls[0].Attempts != 2 {
		t.Errorf("%s (%s) after %d attempts", v.Outcome, v.Reason, got.Calls[0].Attempts)
	}
	s = NewServer(t, f)
	s.Next(Response{Hang: true}, Response{Hang: true})
	b = s.Backend()
	b.Timeout, b.Retries = 30*time.Millisecond, 5
	got = New(t, b, one(), nil).Judge(t.Context(), "r", Unit())
	if v := got.Verdicts[0]; v.Reason != record.ReasonTimeout || got.Calls[0].Attempts != 1 || len(s.Seen()) > 1 {
		t.Errorf("whole call over its time: %s after %d attempts and %d requests", v.Reason, got.Calls[0].Attempts, len(s.Seen()))
	}
}

func cutAnswer(t *testing.T, f Format) {
	s := NewServer(t, f)
	s.Next(Response{Status: 200, Body: `{"answers":{"q1":`, Cut: true})
	if got := judged(t, s, one()); got.Outcome != record.OutcomePass || got.Calls[0].Attempts != 2 {
		t.Errorf("%s (%s): a cut answer is asked for again", got.Outcome, got.Detail)
	}
}

func cancelled(t *testing.T, f Format) {
	s := NewServer(t, f)
	s.Next(Response{Hang: true})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	got := New(t, s.Backend(), one(), nil).Judge(ctx, "r", Unit())
	if got.Outcome != record.OutcomeInconclusive || len(got.Verdicts) != 1 {
		t.Errorf("%s, %d verdicts", got.Outcome, len(got.Verdicts))
	}
}

func keepsSecrets(t *testing.T, f Format) {
	const key, other = "key-for-the-fake-judge-only", "header-for-the-fake-judge-only"
	s := NewServer(t, f)
	s.Next(Response{Status: 401, Body: `{"error":{"message":"wrong key ` + key + ` or ` + other + `"}}`})
	b := s.Backend()
	b.Key, b.Headers = record.NewSecret(key), map[string]string{"X-Tenant": other}
	got := New(t, b, one(), nil).Judge(t.Context(), "r", Unit())
	seen := s.Seen()[0]
	if seen.Header.Get("Authorization") != "Bearer "+key || seen.Header.Get("X-Tenant") != other {
		t.Errorf("headers %v", seen.Header)
	}
	for _, text := range []string{string(seen.Body), got.Verdicts[0].Detail, got.Calls[0].ErrorMessage, got.Detail, got.Spans[1].StatusMessage} {
		if strings.Contains(text, key) || strings.Contains(text, other) {
			t.Errorf("a secret in %q", text)
		}
	}
}

func marksTraffic(t *testing.T, f Format) {
	s := NewServer(t, f)
	got := judged(t, s, one())
	seen := s.Seen()[0]
	if seen.Header.Get("Docket-Capture") != "off" {
		t.Errorf("headers %v", seen.Header)
	}
	if want := "00-" + got.Calls[0].JudgeTraceID + "-" + got.Calls[0].JudgeSpanID + "-01"; seen.Header.Get("Traceparent") != want {
		t.Errorf("traceparent %q, want %q", seen.Header.Get("Traceparent"), want)
	}
	for _, field := range []string{`"store"`, `"previous_response_id"`, `"conversation_id"`, `"session_id"`, `"user":"`, `"memory"`} {
		if strings.Contains(string(seen.Body), field) {
			t.Errorf("the request has %s", field)
		}
	}
}

func hidesThresholds(t *testing.T, f Format) {
	threshold, weight := 0.8375, 7.0625
	criteria := Three()
	for i := range criteria {
		criteria[i].Threshold, criteria[i].Weight = &threshold, &weight
	}
	s := NewServer(t, f)
	judged(t, s, judge.Rubric{Criteria: criteria})
	for _, seen := range s.Seen() {
		for _, secret := range []string{"8375", "0625", "threshold", "weight"} {
			if strings.Contains(string(seen.Body), secret) {
				t.Errorf("the request has %q", secret)
			}
		}
	}
}

func shared(t *testing.T, f Format) {
	s := NewServer(t, f)
	s.Answer(By(0.9, 0.2, 0.7))
	j := New(t, s.Backend(), judge.Rubric{Criteria: Three()}, nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			got := j.Judge(t.Context(), "r", Unit())
			if got.Outcome != record.OutcomeFail || !near(got.Score, 0.6) || !near(got.Verdicts[1].Probability, 0.2) {
				t.Errorf("%s %v", got.Outcome, got.Score)
			}
		})
	}
	wg.Wait()
}

func records(t *testing.T, f Format) {
	s := NewServer(t, f)
	b := s.Backend()
	in, out := 0.5, 2.0
	b.InputUSD, b.OutputUSD = &in, &out
	got := New(t, b, one(), nil).Judge(t.Context(), "r", Unit())
	call, v := got.Calls[0], got.Verdicts[0]
	if call.InputTokens == nil || *call.InputTokens != 300 || call.ResolvedModel != "fake-judge-7" || call.Model != "fake-judge" ||
		call.Backend != "main" || call.BackendFormat != f.Config.Format || call.RunID != got.RunID || call.Method != f.Method {
		t.Errorf("call %+v", call)
	}
	want := uint64(300 * 500)
	if call.OutputTokens != nil {
		want += *call.OutputTokens * 2000
	}
	if call.CostNanoUSD == nil || *call.CostNanoUSD != want {
		t.Errorf("cost %v, want %d", call.CostNanoUSD, want)
	}
	if v.JudgeCallID != call.ID || v.JudgeModel != "fake-judge-7" || v.JudgeTraceID != call.JudgeTraceID || v.Backend != "main" {
		t.Errorf("verdict %+v", v)
	}
}
