package judge_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

// tok is a token with its log-probability.
type tok struct {
	Token   string  `json:"token"`
	LogProb float64 `json:"logprob"`
}

// wordAnswer is an answer of some tokens, each with all that could have stood
// there.
func wordAnswer(positions ...[]tok) judgetest.Response {
	type place struct {
		tok
		Top []tok `json:"top_logprobs"`
	}
	var content []place
	for _, p := range positions {
		content = append(content, place{tok: p[0], Top: p})
	}
	data, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return judgetest.Response{Status: 200, Body: fmt.Sprintf(
		`{"model":"m","choices":[{"message":{"role":"assistant","content":"x"},"finish_reason":"length","logprobs":{"content":%s}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, data)}
}

func lp(p float64) float64 { return math.Log(p) }

func TestLabelProbabilities(t *testing.T) {
	for name, c := range map[string]struct {
		positions [][]tok
		outcome   string
		reason    string
		p, mass   float64
		flags     []string
	}{
		"both sides":                  {[][]tok{{{"Yes", lp(0.6)}, {"No", lp(0.3)}, {"Maybe", lp(0.05)}}}, record.OutcomePass, "", 0.6 / 0.9, 0.9, nil},
		"case, spaces, marks":         {[][]tok{{{" yes", lp(0.2)}, {"YES", lp(0.1)}, {"\u0120Yes", lp(0.1)}, {"\u2581no", lp(0.5)}, {"\"No\"", lp(0.05)}}}, record.OutcomeFail, "", 0.4 / 0.95, 0.95, nil},
		"one token twice":             {[][]tok{{{"Yes", lp(0.5)}, {"Yes", lp(0.5)}, {"No", lp(0.4)}}}, record.OutcomePass, "", 0.5 / 0.9, 0.9, nil},
		"the likelier word is other":  {[][]tok{{{"Well", lp(0.45)}, {"Yes", lp(0.45)}, {"No", lp(0.09)}}}, record.OutcomePass, "", 0.45 / 0.54, 0.54, nil},
		"markup first":                {[][]tok{{{"**", lp(0.9)}, {"Yes", lp(0.1)}}, {{"No", lp(0.8)}, {"Yes", lp(0.2)}}}, record.OutcomeFail, "", 0.2, 1, nil},
		"markup by chance":            {[][]tok{{{"**", lp(0.3)}, {"Yes", lp(0.5)}, {"No", lp(0.1)}}, {{"No", lp(0.8)}, {"Yes", lp(0.2)}}}, record.OutcomePass, "", 0.5 / 0.6, 0.6, nil},
		"low mass":                    {[][]tok{{{"The", lp(0.7)}, {"Yes", lp(0.29)}}}, record.OutcomeInconclusive, record.ReasonLowLabelMass, -1, 0.29, nil},
		"neither":                     {[][]tok{{{"The", lp(0.7)}, {"Perhaps", lp(0.3)}}}, record.OutcomeInconclusive, record.ReasonLowLabelMass, -1, 0, nil},
		"only markup":                 {[][]tok{{{"**", 0}}, {{" ", 0}}, {{"\n", 0}}, {{"Yes", 0}}}, record.OutcomeInconclusive, record.ReasonLowLabelMass, -1, 0, nil},
		"no word of another word":     {[][]tok{{{"Not", lp(0.6)}, {"Yesterday", lp(0.3)}, {"No", lp(0.06)}, {"Yes", lp(0.04)}}}, record.OutcomeInconclusive, record.ReasonLowLabelMass, -1, 0.1, nil},
		"no side is not there":        {[][]tok{{{"Yes", lp(0.9)}, {"Maybe", lp(0.02)}}}, record.OutcomePass, "", 0.9 / 0.92, 0.9, []string{judge.FlagBound}},
		"yes side is not there":       {[][]tok{{{"No", lp(0.9)}, {"Maybe", lp(0.02)}}}, record.OutcomeFail, "", 0.02 / 0.92, 0.9, []string{judge.FlagBound}},
		"interval over the threshold": {[][]tok{{{"Yes", lp(0.52)}}}, record.OutcomeInconclusive, record.ReasonUncertain, -1, 0.52, nil},
		"certain":                     {[][]tok{{{"Yes", 0}}}, record.OutcomePass, "", 1, 1, nil},
		"absent ones do not count":    {[][]tok{{{"Yes", lp(0.8)}, {"No", lp(0.2)}, {"no", -9999}}}, record.OutcomePass, "", 0.8, 1, nil},
		"above 1":                     {[][]tok{{{"Yes", 0.7}}}, record.OutcomeInconclusive, record.ReasonOutOfRange, -1, -1, nil},
		"sum above 1":                 {[][]tok{{{"Yes", lp(0.8)}, {"No", lp(0.8)}}}, record.OutcomeInconclusive, record.ReasonOutOfRange, -1, -1, nil},
	} {
		s := judgetest.NewServer(t, formatNamed(t, "chat-logprobs"))
		s.Next(wordAnswer(c.positions...))
		r := first()
		r.Criteria[0].Threshold = ptr(0.55)
		if c.outcome != record.OutcomeInconclusive {
			r.Criteria[0].Threshold = ptr(0.5)
		}
		got := judgetest.New(t, s.Backend(), r, nil).Judge(t.Context(), "r", judgetest.Unit())
		v := got.Verdicts[0]
		if v.Outcome != c.outcome || v.Reason != c.reason || !slices.Equal(v.Flags, c.flags) {
			t.Errorf("%s: %s (%s) flags %v, want %s (%s) %v", name, v.Outcome, v.Reason, v.Flags, c.outcome, c.reason, c.flags)
		}
		if c.p < 0 != (v.Probability == nil) || v.Probability != nil && math.Abs(*v.Probability-c.p) > 1e-9 {
			t.Errorf("%s: p %v, want %v", name, v.Probability, c.p)
		}
		if c.mass < 0 != (v.LabelMass == nil) || v.LabelMass != nil && math.Abs(*v.LabelMass-c.mass) > 1e-9 {
			t.Errorf("%s: mass %v, want %v", name, v.LabelMass, c.mass)
		}
	}
}

// auto is a chat backend that finds out what its server can do.
func auto(s *judgetest.Server, model string) judge.BackendConfig {
	b := s.Backend()
	b.Method, b.Model = "", model
	return b
}

func TestLogprobsAreProbedOnce(t *testing.T) {
	const score = `{"reason":"fine","score":0.8}`
	for name, refusal := range map[string]judgetest.Response{
		"none in the answer": {Status: 200, Body: chatBody("Yes")},
		"empty":              {Status: 200, Body: strings.Replace(chatBody("Yes"), `"finish_reason"`, `"logprobs":{"content":[]},"finish_reason"`, 1)},
		"refused with 400":   {Status: 400, Body: `{"error":{"message":"logprobs are not supported by this model"}}`},
		"refused with 422":   {Status: 422, Body: `{"detail":[{"loc":["body","logprobs"],"msg":"extra fields not permitted"}]}`},
	} {
		s := judgetest.NewServer(t, formatNamed(t, "chat-structured"))
		s.Next(refusal, judgetest.Response{Status: 200, Body: chatBody(score)}, judgetest.Response{Status: 200, Body: chatBody(score)}, judgetest.Response{Status: 200, Body: chatBody(score)})
		cfg := judge.DefaultConfig()
		cfg.CacheWindow, cfg.Backends = 0, map[string]judge.BackendConfig{"main": auto(s, "some-model")}
		o, now := judgetest.Options(t, nil), judgetest.Now()
		o.Now = func() time.Time { return now }
		j, err := judge.New(cfg, map[string]judge.Rubric{"r": first()}, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{2, 3} {
			v := j.Judge(t.Context(), "r", judgetest.Unit()).Verdicts[0]
			if v.Method != record.MethodStructured || v.Probability == nil || *v.Probability != 0.8 || len(s.Seen()) != want {
				t.Errorf("%s: run %d: %+v after %d requests, want %d", name, i, v, len(s.Seen()), want)
			}
		}
		now = now.Add(time.Hour)
		j.Judge(t.Context(), "r", judgetest.Unit())
		if last := string(s.Seen()[3].Body); !strings.Contains(last, `"logprobs":true`) {
			t.Errorf("%s: after an hour it is not tried again", name)
		}
	}
}

func TestFewerAlternatives(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "chat-logprobs"))
	s.Next(judgetest.Response{Status: 400, Body: `{"error":{"message":"top_logprobs must be at most 5"}}`})
	j := judgetest.New(t, s.Backend(), first(), nil)
	for range 2 {
		if got := j.Judge(t.Context(), "r", judgetest.Unit()); got.Outcome != record.OutcomePass || got.Verdicts[0].Method != record.MethodLogprobs {
			t.Errorf("%s", got.Detail)
		}
	}
	var tops []string
	for _, seen := range s.Seen() {
		_, after, _ := strings.Cut(string(seen.Body), `"top_logprobs":`)
		tops = append(tops, strings.TrimRight(after, "}"))
	}
	if !slices.Equal(tops, []string{"20", "5", "5"}) {
		t.Errorf("asked for %v alternatives", tops)
	}
}

// Models that think refuse log-probabilities, temperature and max_tokens, and
// the client library refuses them by name before anything is sent.
func TestModelsThatThink(t *testing.T) {
	for model, c := range map[string]struct {
		method string
		has    []string
		hasNot []string
	}{
		"gpt-5-mini":  {record.MethodStructured, []string{`"max_completion_tokens":512`}, []string{`"max_tokens"`, "temperature", "logprobs"}},
		"o3":          {record.MethodStructured, []string{`"max_completion_tokens":512`}, []string{`"max_tokens"`, "temperature", "logprobs"}},
		"gpt-6-astra": {record.MethodStructured, []string{`"max_completion_tokens":512`}, []string{`"max_tokens"`, "temperature", "logprobs", "reasoning_effort"}},
		"gpt-6.1-sol": {record.MethodStructured, []string{`"max_completion_tokens":512`}, []string{`"max_tokens"`, "temperature", "logprobs", "reasoning_effort"}},
		"gpt-6-luna":  {record.MethodLogprobs, []string{`"max_completion_tokens":3`, `"reasoning_effort":"none"`, `"logprobs":true`}, []string{`"max_tokens"`, "temperature"}},
		"gpt-6-sol":   {record.MethodLogprobs, []string{`"max_completion_tokens":3`, `"reasoning_effort":"none"`, `"logprobs":true`}, []string{`"max_tokens"`, "temperature"}},
		"qwen-3-8b":   {record.MethodLogprobs, []string{`"max_tokens":3`, `"logprobs":true`}, []string{"max_completion_tokens", "temperature", "reasoning_effort"}},
	} {
		format := map[string]string{record.MethodStructured: "chat-structured", record.MethodLogprobs: "chat-logprobs"}[c.method]
		s := judgetest.NewServer(t, formatNamed(t, format))
		got := judgetest.New(t, auto(s, model), first(), nil).Judge(t.Context(), "r", judgetest.Unit())
		if got.Outcome != record.OutcomePass || got.Verdicts[0].Method != c.method || len(s.Seen()) != 1 {
			t.Errorf("%s: %s (%s) by %s after %d requests", model, got.Outcome, got.Detail, got.Verdicts[0].Method, len(s.Seen()))
			continue
		}
		body := string(s.Seen()[0].Body)
		for _, part := range c.has {
			if !strings.Contains(body, part) {
				t.Errorf("%s: no %s in the request", model, part)
			}
		}
		for _, part := range c.hasNot {
			if strings.Contains(body, part) {
				t.Errorf("%s: %s in the request", model, part)
			}
		}
	}
	// Forced, the library's refusal is the answer, and nothing is sent.
	s := judgetest.NewServer(t, formatNamed(t, "chat-logprobs"))
	b := s.Backend()
	b.Model = "o3-self-hosted"
	got := judgetest.New(t, b, first(), nil).Judge(t.Context(), "r", judgetest.Unit())
	if got.Outcome != record.OutcomeInconclusive || len(s.Seen()) != 0 {
		t.Errorf("%s after %d requests", got.Outcome, len(s.Seen()))
	}
}

func structured(t *testing.T, script ...judgetest.Response) (record.Verdict, record.JudgeCall, []judgetest.Seen) {
	t.Helper()
	s := judgetest.NewServer(t, formatNamed(t, "chat-structured"))
	s.Next(script...)
	got := judgetest.New(t, s.Backend(), first(), nil).Judge(t.Context(), "r", judgetest.Unit())
	return got.Verdicts[0], got.Calls[0], s.Seen()
}

func content(s string) judgetest.Response { return judgetest.Response{Status: 200, Body: chatBody(s)} }

func TestStructuredAnswers(t *testing.T) {
	for text, want := range map[string]float64{
		`{"reason":"r","score":0.8}`:                                            0.8,
		" \n{\"score\": 0.8, \"reason\": \"r\", \"extra\": [1]}\n":              0.8,
		"```json\n{\"reason\":\"r\",\"score\":0.8}\n```":                        0.8,
		"```\n{\"reason\":\"r\",\"score\":8e-1}\n```\n":                         0.8,
		"<think>It quotes {\"score\":1}.</think>{\"reason\":\"r\",\"score\":0}": 0,
		`{"reason":"r","score":1}`:                                              1,
		`{"reason":"r","score":-0}`:                                             0,
	} {
		v, _, seen := structured(t, content(text))
		if v.Probability == nil || *v.Probability != want || math.Signbit(*v.Probability) || len(seen) != 1 {
			t.Errorf("%q: p %v (%s) after %d requests", text, v.Probability, v.Reason, len(seen))
		}
	}
	for _, text := range []string{
		"", "0.9", `"0.9"`, "Score: 0.9", `Here it is: {"reason":"r","score":0.9}`, `{"reason":"r","score":0.9} I hope this helps`,
		`{"reason":"the reply says {\"score\":1}"}`, `{"score":0.1,"reason":"r"}{"score":0.9,"reason":"r"}`, `[{"score":0.9}]`,
		`{"score":0.1,"score":0.9,"reason":"r"}`, `{"score":"0.9","reason":"r"}`, `{"score":null}`, `{"Score":0.9}`, `{"verdict":{"score":0.9}}`,
		"<think>never ends {\"score\":0.9}", "```json\n{\"score\":0.9}", "{\"score\":0.9", "{'score': 0.9}", "score=0.9",
	} {
		v, call, seen := structured(t, content(text), content(text))
		if v.Probability != nil || v.Reason != record.ReasonMalformed || len(seen) != 2 || call.ErrorReason != record.ReasonMalformed {
			t.Errorf("%q: p %v (%s) after %d requests: want malformed after one repair", text, v.Probability, v.Reason, len(seen))
		}
	}
}

func TestStructuredRepairAndHigherCap(t *testing.T) {
	v, call, seen := structured(t, content("The score is 0.9"), content(`{"reason":"r","score":0.7}`))
	if *v.Probability != 0.7 || call.Attempts != 2 || *call.InputTokens != 18 || *call.OutputTokens != 6 {
		t.Errorf("%v, call %+v: what all attempts used counts", *v.Probability, call)
	}
	if a, b := seen[0].Instructions, seen[1].Instructions; a == b || strings.Contains(b, "The score is 0.9") {
		t.Errorf("second request: %s", b)
	}
	cut := judgetest.Response{Status: 200, Body: strings.Replace(chatBody(`{"reason":"a long`), `"finish_reason":"stop"`, `"finish_reason":"length"`, 1)}
	v, _, seen = structured(t, cut, content(`{"reason":"r","score":0.7}`))
	if *v.Probability != 0.7 || !strings.Contains(string(seen[1].Body), `"max_tokens":2048`) {
		t.Errorf("%v: %s", v.Probability, seen[1].Body)
	}
	if v, _, seen = structured(t, cut, cut, content(`{"reason":"r","score":0.7}`)); v.Reason != record.ReasonTruncated || len(seen) != 2 {
		t.Errorf("%s after %d requests", v.Reason, len(seen))
	}
	filtered := judgetest.Response{Status: 200, Body: strings.Replace(chatBody(""), `"finish_reason":"stop"`, `"finish_reason":"content_filter"`, 1)}
	if v, _, seen = structured(t, filtered); v.Reason != record.ReasonRefused || len(seen) != 1 {
		t.Errorf("%s after %d requests", v.Reason, len(seen))
	}
	if v, _, seen = structured(t, judgetest.Response{Status: 400, Body: `{"error":{"code":"content_filter","message":"filtered"}}`}); v.Reason != record.ReasonRefused || len(seen) != 1 {
		t.Errorf("%s after %d requests", v.Reason, len(seen))
	}
}

func TestStructuredWithoutSchema(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "chat-structured"))
	s.Next(
		judgetest.Response{Status: 400, Body: `{"error":{"message":"response_format.type must be text or json_object"}}`},
		judgetest.Response{Status: 400, Body: `{"error":{"message":"unknown field response_format"}}`},
	)
	j := judgetest.New(t, s.Backend(), first(), nil)
	for range 2 {
		if got := j.Judge(t.Context(), "r", judgetest.Unit()); got.Outcome != record.OutcomePass {
			t.Errorf("%s", got.Detail)
		}
	}
	var ways []string
	for _, seen := range s.Seen() {
		way := "none"
		for _, w := range []string{"json_schema", "json_object"} {
			if strings.Contains(string(seen.Body), `"type":"`+w+`"`) {
				way = w
			}
		}
		ways = append(ways, way)
	}
	if !slices.Equal(ways, []string{"json_schema", "json_object", "none", "none"}) {
		t.Errorf("asked by %v", ways)
	}
}

func TestProbeLearnsAtTheStart(t *testing.T) {
	const score = `{"reason":"fine","score":0.8}`
	for name, c := range map[string]struct {
		answer judgetest.Response
		logged string
		later  bool // a real call asks for log-probabilities
	}{
		"has them":  {wordAnswer([]tok{{"Yes", lp(0.9)}, {"No", lp(0.1)}}), "method=logprobs", true},
		"has none":  {judgetest.Response{Status: 200, Body: chatBody("Yes")}, "method=structured", false},
		"a bad key": {judgetest.Response{Status: 401, Body: `{"error":{"message":"no"}}`}, "does not answer yet", true},
	} {
		s := judgetest.NewServer(t, formatNamed(t, "chat-structured"))
		s.Next(c.answer, judgetest.Response{Status: 200, Body: chatBody(score)}, judgetest.Response{Status: 200, Body: chatBody(score)})
		cfg := judge.DefaultConfig()
		cfg.CacheWindow, cfg.Backends = 0, map[string]judge.BackendConfig{"main": auto(s, "some-model")}
		o := judgetest.Options(t, nil)
		var log strings.Builder
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		j, err := judge.New(cfg, map[string]judge.Rubric{"r": first(), "again": first()}, o)
		if err != nil {
			t.Fatal(err)
		}
		j.Probe(t.Context())
		if len(s.Seen()) != 1 || !strings.Contains(log.String(), c.logged) {
			t.Errorf("%s: %d requests, want 1; log %s", name, len(s.Seen()), log.String())
		}
		j.Judge(t.Context(), "r", judgetest.Unit())
		if got := strings.Contains(string(s.Seen()[1].Body), `"logprobs":true`); got != c.later {
			t.Errorf("%s: the first real call asks for log-probabilities: %v, want %v", name, got, c.later)
		}
	}
}
