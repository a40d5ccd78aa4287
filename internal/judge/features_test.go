package judge_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

func TestRule61GateNeedsVerdicts(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	for range 3 {
		s.Next(judgetest.Response{Status: 500})
	}
	got := judgetest.New(t, s.Backend(), three(), nil).Judge(t.Context(), "r", judgetest.Unit())
	for _, v := range got.Verdicts {
		if v.Outcome == record.OutcomePass || v.Outcome == record.OutcomeFail {
			t.Errorf("nothing was judged, yet a gate would count %+v", v)
		}
	}
}

// TestRulesAreListed checks the list of doc.go: all 62 rules, each with a test
// that is there.
func TestRulesAreListed(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), "_test.go") {
			data, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(data)
		}
	}
	rows := regexp.MustCompile(`(?m)^//\t +?(\d+)  .*\s(TestRule(\d+)\w+)$|^//\t(\d+)  .*\s(TestRule(\d+)\w+)$`).FindAllStringSubmatch(string(doc), -1)
	if len(rows) != 62 {
		t.Errorf("%d rules in the list", len(rows))
	}
	for i, row := range rows {
		number, name, own := row[1]+row[4], row[2]+row[5], row[3]+row[6]
		n, err := strconv.Atoi(number)
		if err != nil || n != i+1 || own != fmt.Sprintf("%02d", n) {
			t.Errorf("row %d is %q", i+1, row[0])
		}
		if !strings.Contains(tests.String(), "func "+name+"(t *testing.T)") {
			t.Errorf("there is no test %s", name)
		}
	}
}

func TestAppliesWhen(t *testing.T) {
	r := three()
	r.Criteria[1].AppliesWhen = "the user asks for money back"
	for _, f := range judgetest.Formats() {
		for _, c := range []struct {
			applies judgetest.Answer
			want    string
			score   float64
		}{
			{judgetest.Answer{P: 0.9}, record.OutcomeFail, 0.6},
			{judgetest.Answer{P: 0.1}, record.OutcomeNotApplicable, 0.8},
			{judgetest.Answer{Refuse: true}, record.OutcomeInconclusive, math.NaN()},
		} {
			got, seen := ask(t, f.Name, r, judgetest.Unit(), func(q judgetest.Question) judgetest.Answer {
				switch {
				case strings.Contains(q.Text, "asks for money back"):
					return c.applies
				case strings.Contains(q.Text, "refunded amount"):
					return judgetest.Answer{P: 0.2}
				}
				return judgetest.Answer{P: 0.8}
			})
			v := got.Verdicts[1]
			if v.Outcome != c.want {
				t.Errorf("%s: %+v: %s, want %s", f.Name, c.applies, v.Outcome, c.want)
			}
			if want := map[string]string{record.OutcomeNotApplicable: record.OutcomePass}[c.want]; want != "" && got.Outcome != want {
				t.Errorf("%s: rubric is %s", f.Name, got.Outcome)
			}
			if math.IsNaN(c.score) != (got.Score == nil) || got.Score != nil && math.Abs(*got.Score-c.score) > 1e-9 {
				t.Errorf("%s: score %v, want %v", f.Name, got.Score, c.score)
			}
			if f.Batches && len(seen) != 1 {
				t.Errorf("%s: %d requests: the question whether it applies goes along", f.Name, len(seen))
			}
		}
	}
	r = first()
	r.Criteria[0].AppliesWhen = "never"
	got, _ := ask(t, "systemone", r, judgetest.Unit(), func(q judgetest.Question) judgetest.Answer {
		return judgetest.Answer{P: map[bool]float64{true: 0, false: 1}[strings.Contains(q.Text, "never")]}
	})
	if got.Outcome != record.OutcomeNotApplicable || got.Score != nil {
		t.Errorf("rubric without applicable criteria: %s, score %v", got.Outcome, got.Score)
	}
	// A check may have a condition that a judge decides.
	r.Criteria[0] = judge.Criterion{Name: "c", Check: &judge.Check{Contains: "sorry"}, AppliesWhen: "never"}
	got, seen := ask(t, "systemone", r, judgetest.Unit(), always(0.1))
	if got.Verdicts[0].Outcome != record.OutcomeNotApplicable || len(seen) != 1 {
		t.Errorf("%s after %d requests", got.Verdicts[0].Outcome, len(seen))
	}
}

func TestCanaryFlagsAndChangesNothing(t *testing.T) {
	r := three()
	r.Canary = true
	for _, f := range judgetest.Formats() {
		got, _ := ask(t, f.Name, r, judgetest.Unit(), func(q judgetest.Question) judgetest.Answer {
			if strings.Contains(q.Text, "speak") { // the canary's question or statement
				return judgetest.Answer{P: 0.8}
			}
			return judgetest.Answer{P: 0.9}
		})
		if got.Outcome != record.OutcomePass || len(got.Verdicts) != 3 {
			t.Errorf("%s: %s with %d verdicts", f.Name, got.Outcome, len(got.Verdicts))
		}
		for _, v := range got.Verdicts {
			if diff := cmp.Diff([]string{judge.FlagSteering}, v.Flags); diff != "" {
				t.Errorf("%s: %s", f.Name, diff)
			}
		}
	}
	got, _ := ask(t, "systemone", r, judgetest.Unit(), func(q judgetest.Question) judgetest.Answer { return judgetest.Answer{P: 0.9, Missing: q.Key == "q4"} })
	if got.Outcome != record.OutcomePass || got.Verdicts[0].Flags != nil {
		t.Errorf("without an answer to the canary: %s, flags %v", got.Outcome, got.Verdicts[0].Flags)
	}
}

func TestFallbacks(t *testing.T) {
	broken, partial, whole := judgetest.NewServer(t, formatNamed(t, "systemone")), judgetest.NewServer(t, formatNamed(t, "openai")), judgetest.NewServer(t, formatNamed(t, "http"))
	for range 3 {
		broken.Next(judgetest.Response{Status: 503})
	}
	partial.Answer(func(q judgetest.Question) judgetest.Answer {
		return judgetest.Answer{P: 0.7, Refuse: strings.Contains(q.Text, "refunded amount")}
	})
	whole.Answer(always(0.6))
	r := three()
	r.Backend, r.Fallbacks, r.Model = "broken", []string{"partial", "whole"}, "only-for-the-first"
	j := judgetest.NewOf(t, map[string]judge.BackendConfig{"broken": broken.Backend(), "partial": partial.Backend(), "whole": whole.Backend()}, r, nil)
	got := j.Judge(t.Context(), "r", judgetest.Unit())
	var who []string
	for _, v := range got.Verdicts {
		who = append(who, fmt.Sprint(v.Backend, " ", *v.Probability, " ", v.Fallback))
	}
	if diff := cmp.Diff([]string{"partial 0.7 true", "whole 0.6 true", "partial 0.7 true"}, who); diff != "" {
		t.Error(diff)
	}
	if len(got.Calls) != 3 || got.Calls[0].Fallback || !got.Calls[1].Fallback || got.Calls[0].ErrorReason != record.ReasonJudgeError || got.Outcome != record.OutcomePass {
		t.Errorf("calls %+v", got.Calls)
	}
	if n := len(whole.Seen()[0].Questions); n != 1 {
		t.Errorf("the last fallback was asked %d questions, want what was left", n)
	}
	if got.Calls[0].Model != "only-for-the-first" || got.Calls[1].Model != "fake-judge" {
		t.Errorf("models %s and %s", got.Calls[0].Model, got.Calls[1].Model)
	}
	if ids := j.VerdictIDs("r", judgetest.Unit()); ids[0] != got.Verdicts[0].ID {
		t.Error("a fallback's verdict has another id than its primary's")
	}
	if got.Verdicts[0].JudgeConfig == got.Verdicts[1].JudgeConfig {
		t.Error("two judges have one configuration")
	}
	r.Fallbacks = []string{"broken"}
	cfg := judge.DefaultConfig()
	cfg.Backends = map[string]judge.BackendConfig{"broken": broken.Backend()}
	_, err := judge.New(cfg, map[string]judge.Rubric{"r": r}, judge.Options{})
	wantError(t, err, "fallbacks", "broken")
}

func TestCache(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	cfg := judge.DefaultConfig()
	b := s.Backend()
	b.InputUSD, b.OutputUSD = ptr(1.0), ptr(1.0)
	cfg.Backends, cfg.CacheEntries = map[string]judge.BackendConfig{"main": b}, 2
	o, now := judgetest.Options(t, nil), judgetest.Now()
	o.Now = func() time.Time { return now }
	j, err := judge.New(cfg, map[string]judge.Rubric{"r": three()}, o)
	if err != nil {
		t.Fatal(err)
	}
	requests := func(u judge.Unit) (judge.Result, int) {
		before := len(s.Seen())
		got := j.Judge(t.Context(), "r", u)
		return got, len(s.Seen()) - before
	}
	if _, n := requests(judgetest.Unit()); n != 1 {
		t.Errorf("%d requests at first", n)
	}
	other := judgetest.Unit()
	other.Inference.ID = "0192f0c1-0000-7000-8000-000000000002"
	got, n := requests(other)
	if n != 0 || got.Outcome != record.OutcomePass || got.Verdicts[0].Origin != record.OriginCache {
		t.Errorf("identical content: %d requests, origin %s", n, got.Verdicts[0].Origin)
	}
	if c := got.Calls[0]; *c.CostNanoUSD != 0 || c.InputTokens != nil || c.Origin != record.OriginCache || c.Latency != 0 || c.Attempts != 0 {
		t.Errorf("call %+v", c)
	}
	if got.Verdicts[0].InferenceID != other.Inference.ID {
		t.Error("the verdict belongs to another unit")
	}
	if _, n := requests(judgetest.Reply("Something else.")); n != 1 {
		t.Error("other content came from the cache")
	}
	now = now.Add(cfg.CacheWindow)
	if _, n := requests(judgetest.Unit()); n != 1 {
		t.Error("an old answer came from the cache")
	}
	requests(judgetest.Reply("One."))
	requests(judgetest.Reply("Two."))
	if _, n := requests(judgetest.Unit()); n != 1 {
		t.Error("the cache holds more than its limit")
	}
	s.Answer(func(q judgetest.Question) judgetest.Answer { return judgetest.Answer{Missing: true} })
	requests(judgetest.Reply("Three."))
	s.Answer(always(0.9))
	if got, n := requests(judgetest.Reply("Three.")); n != 1 || got.Outcome != record.OutcomePass {
		t.Errorf("a failure was remembered: %d requests, %s", n, got.Outcome)
	}
}

func TestCeilings(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	r := first()
	r.MaxCallsPerDay = 2
	o, now := judgetest.Options(t, nil), judgetest.Now()
	o.Now = func() time.Time { return now }
	cfg := judge.DefaultConfig()
	cfg.Backends, cfg.CacheWindow = map[string]judge.BackendConfig{"main": s.Backend()}, 0
	judgeN := func(j *judge.Judge, n int) (reasons []string) {
		for range n {
			reasons = append(reasons, j.Judge(t.Context(), "r", judgetest.Unit()).Reason)
		}
		return reasons
	}
	build := func(r judge.Rubric) *judge.Judge {
		t.Helper()
		j, err := judge.New(cfg, map[string]judge.Rubric{"r": r}, o)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := build(r)
	if diff := cmp.Diff([]string{"", "", record.ReasonOverBudget}, judgeN(j, 3)); diff != "" {
		t.Error(diff)
	}
	got := j.Judge(t.Context(), "r", judgetest.Unit())
	if len(s.Seen()) != 2 || len(got.Calls) != 0 || got.Outcome != record.OutcomeInconclusive {
		t.Errorf("%d requests, %d calls", len(s.Seen()), len(got.Calls))
	}
	now = now.Add(24 * time.Hour)
	if diff := cmp.Diff([]string{""}, judgeN(j, 1)); diff != "" {
		t.Errorf("next day: %s", diff)
	}
	// What was spent before the start counts; when that is not known, nothing
	// is asked.
	o.Spent = func(_ context.Context, rubric string, since time.Time) (int, uint64, error) {
		if rubric != "r" || !since.Equal(now.Truncate(24*time.Hour)) {
			t.Errorf("asked for %s since %v", rubric, since)
		}
		return 1, 0, nil
	}
	if diff := cmp.Diff([]string{"", record.ReasonOverBudget}, judgeN(build(r), 2)); diff != "" {
		t.Error(diff)
	}
	o.Spent = func(context.Context, string, time.Time) (int, uint64, error) { return 0, 0, errors.New("no store") }
	if diff := cmp.Diff([]string{record.ReasonOverBudget}, judgeN(build(r), 1)); diff != "" {
		t.Error(diff)
	}
	o.Spent = nil
	r.MaxCallsPerDay, r.MaxUSDPerDay = 0, 0.001
	_, err := judge.New(cfg, map[string]judge.Rubric{"r": r}, o)
	wantError(t, err, "max_usd_per_day", "no input_usd")
	b := s.Backend()
	b.InputUSD, b.OutputUSD = ptr(1.5), ptr(0.0) // 300 tokens are 0.00045
	cfg.Backends["main"] = b
	if diff := cmp.Diff([]string{"", record.ReasonOverBudget}, judgeN(build(r), 2)); diff != "" {
		t.Errorf("cost: %s", diff)
	}
}

func TestTrimming(t *testing.T) {
	body := judgetest.Body()
	var long []record.Message
	for i := range 40 {
		long = append(long, judgetest.Message("user", fmt.Sprintf("question %d %s", i, strings.Repeat("x", 200))), judgetest.Message("assistant", "answer"))
	}
	body.Input = slices.Concat(body.Input[:1], long, body.Input[1:])
	u := judgetest.UnitOf(body)
	r := first()
	r.MaxInput = 4000
	got, seen := ask(t, "systemone", r, u, nil)
	v := got.Verdicts[0]
	if v.Outcome != record.OutcomePass || !slices.Contains(v.Flags, judge.FlagTrimmed) || !strings.Contains(got.Calls[0].Trimmed, "oldest messages") {
		t.Errorf("%s, flags %v, trimmed %q", v.Outcome, v.Flags, got.Calls[0].Trimmed)
	}
	data := string(seen[0].Body)
	if len(data) > 4600 || strings.Contains(data, "question 0 ") || !strings.Contains(data, "You are the assistant of a small shop") ||
		!strings.Contains(data, "came without its bulb") || !strings.Contains(data, "did not go through") || !strings.Contains(data, "card expired") {
		t.Errorf("%d bytes: %s", len(data), data)
	}
	r.Trim = judge.TrimRefuse
	if got, seen := ask(t, "systemone", r, u, nil); got.Reason != record.ReasonContextOverflow || len(seen) != 0 {
		t.Errorf("%s after %d requests", got.Reason, len(seen))
	}
	r.Trim, r.MaxInput = judge.TrimOldest, 200
	if got, seen := ask(t, "systemone", r, u, nil); got.Reason != record.ReasonContextOverflow || len(seen) != 0 || len(got.Calls) != 0 {
		t.Errorf("what may not be left out does not fit: %s after %d requests", got.Reason, len(seen))
	}
	// Each result goes with its call.
	r.MaxInput = 2500
	body.Input = slices.Concat([]record.Message{
		judgetest.Message("user", strings.Repeat("y", 3000)), {Role: "assistant", Parts: []record.Part{call("z", "old", "{}")}}, toolResult("z", "old result", nil),
	}, judgetest.Body().Input[1:])
	got, seen = ask(t, "openai", r, judgetest.UnitOf(body), nil)
	if got.Outcome != record.OutcomePass || strings.Contains(string(seen[0].Body), "yyy") {
		t.Errorf("%s %s: %s", got.Outcome, got.Detail, seen[0].Body)
	}
}
