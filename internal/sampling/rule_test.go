package sampling_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/sampling"
)

func whole() record.Candidate {
	return record.Candidate{
		Project: "shop", Environment: "live", TraceID: "0af7651916cd43dd8448eb211c80319c",
		ConversationID: "c-1", Operation: "chat", Provider: "openai", API: "openai.chat",
		RequestModel: "acme/large-2", PromptName: "refunds", PromptVersion: "7",
		Tags: []string{"vip"}, ToolNames: []string{"get_order", "refund"}, Stratum: record.StratumOK,
		TerminalState: record.StateComplete, Status: 200, Complete: true,
		CaptureLevel: record.CaptureFull, SampleValue: 1 << 55,
	}
}

func TestEligible(t *testing.T) {
	for _, c := range []struct {
		want   string
		opts   sampling.Eligibility
		change func(*record.Candidate)
	}{
		{"", sampling.Eligibility{}, func(*record.Candidate) {}},
		{record.DocketJudge, sampling.Eligibility{}, func(c *record.Candidate) { c.Internal = true }},
		{record.NotGeneration, sampling.Eligibility{}, func(c *record.Candidate) { c.Operation = "embeddings" }},
		{record.NotGeneration, sampling.Eligibility{}, func(c *record.Candidate) { c.Operation, c.Status = "", 404 }},
		{record.BodyOff, sampling.Eligibility{}, func(c *record.Candidate) { c.CaptureLevel = record.CaptureMetadata }},
		{record.BodyOff, sampling.Eligibility{}, func(c *record.Candidate) { c.CaptureLevel = record.CaptureOff }},
		{record.CallFailed, sampling.Eligibility{}, func(c *record.Candidate) { c.Status, c.Complete = 429, false }},
		{record.CallFailed, sampling.Eligibility{Partial: true}, func(c *record.Candidate) {
			c.TerminalState, c.Status, c.Complete = record.StateUpstreamError, 0, false
		}},
		{record.BodyCut, sampling.Eligibility{}, func(c *record.Candidate) { c.RequestCut = true }},
		{record.BodyCut, sampling.Eligibility{}, func(c *record.Candidate) { c.ResponseCut = true }},
		{record.Undecodable, sampling.Eligibility{}, func(c *record.Candidate) { c.Undecodable = true }},
		{record.Incomplete, sampling.Eligibility{}, func(c *record.Candidate) {
			c.Complete, c.TerminalState = false, record.StateClientCancelled
		}},
		{"", sampling.Eligibility{Partial: true}, func(c *record.Candidate) {
			c.Complete, c.TerminalState = false, record.StateClientCancelled
		}},
		{record.ToolStep, sampling.Eligibility{}, func(c *record.Candidate) { c.ToolStep = true }},
		{"", sampling.Eligibility{ToolSteps: true}, func(c *record.Candidate) { c.ToolStep = true }},
		{"", sampling.Eligibility{}, func(c *record.Candidate) { c.Stratum = record.StratumLength }},
	} {
		cand := whole()
		c.change(&cand)
		if got := sampling.Eligible(cand, c.opts); got != c.want {
			t.Errorf("%+v with %+v: %q, want %q", cand, c.opts, got, c.want)
		}
	}
}

func TestFilters(t *testing.T) {
	for _, c := range []struct {
		match sampling.Filters
		want  bool
	}{
		{sampling.Filters{}, true},
		{sampling.Filters{Projects: []string{"shop"}}, true},
		{sampling.Filters{Projects: []string{"sho"}}, false},
		{sampling.Filters{Environments: []string{"test", "live"}}, true},
		{sampling.Filters{Models: []string{"acme/*"}}, true},
		{sampling.Filters{Models: []string{"*large*"}}, true},
		{sampling.Filters{Models: []string{"*-2-*"}}, false},
		{sampling.Filters{Models: []string{"acme/large-2*large-2"}}, false},
		{sampling.Filters{Models: []string{"*"}}, true},
		{sampling.Filters{Tags: []string{"new", "v*"}}, true},
		{sampling.Filters{Tags: []string{"new"}}, false},
		{sampling.Filters{Tools: []string{"refund"}}, true},
		{sampling.Filters{Strata: []string{record.StratumRefusal}}, false},
		{sampling.Filters{Providers: []string{"openai"}, APIs: []string{"openai.responses"}}, false},
		{sampling.Filters{PromptNames: []string{"refunds"}, PromptVersions: []string{"7"}}, true},
	} {
		got := sampling.Rule{Rate: 1, Match: c.match}.Decide(whole())
		if got.Matched != c.want || got.Sampled != c.want {
			t.Errorf("%+v: %+v, want matched %v", c.match, got, c.want)
		}
		if why := c.match.Mismatch(whole()); (why == "") != c.want {
			t.Errorf("%+v: mismatch %q", c.match, why)
		}
		if !c.want && got.Reason != sampling.ReasonNoMatch {
			t.Errorf("%+v: reason %q", c.match, got.Reason)
		}
	}
}

func TestDecideByStratum(t *testing.T) {
	rule := sampling.Rule{Rate: 0.25, Strata: map[string]float64{record.StratumToolError: 0.75}}
	c := whole()
	want := sampling.Decision{
		Matched: true, Value: 1 << 55, Threshold: 0xc0000000000000, InclusionP: 0.25,
		Stratum: record.StratumOK, Reason: sampling.ReasonNotSampled,
	}
	if diff := cmp.Diff(want, rule.Decide(c)); diff != "" {
		t.Error(diff)
	}
	c.Stratum = record.StratumToolError
	want = sampling.Decision{
		Matched: true, Sampled: true, Value: 1 << 55, Threshold: 0x40000000000000, InclusionP: 0.75,
		Stratum: record.StratumToolError, Reason: sampling.ReasonSampled,
	}
	if diff := cmp.Diff(want, rule.Decide(c)); diff != "" {
		t.Error(diff)
	}
}

// All turns of a conversation are in or out together, however their traces are
// numbered; without a conversation id the trace decides.
func TestDecideConversation(t *testing.T) {
	rule := sampling.Rule{Rate: 0.5, Unit: sampling.UnitConversation}
	in := 0
	for i := range 200 {
		c := whole()
		c.ConversationID = fmt.Sprint("c-", i)
		first := rule.Decide(c)
		for turn := range 5 {
			c.SampleValue = uint64(turn) << 53
			if got := rule.Decide(c); got != first {
				t.Fatalf("turn %d of %s: %+v, first %+v", turn, c.ConversationID, got, first)
			}
		}
		if first.Sampled {
			in++
		}
	}
	if in < 70 || in > 130 {
		t.Errorf("%d of 200 conversations at rate 0.5", in)
	}
	c := whole()
	c.ConversationID = ""
	if got := rule.Decide(c); got.Value != c.SampleValue {
		t.Errorf("without a conversation id R is %x, want that of the trace", got.Value)
	}
}

// A unit sampled at one rate is sampled at every higher one.
func TestDecideNested(t *testing.T) {
	for i := range 2000 {
		c := whole()
		c.SampleValue = sampling.Value(fmt.Sprintf("%032x", i), "", 0)
		was := false
		for _, rate := range []float64{0.001, 0.01, 0.1, 0.3, 0.9, 1} {
			got := sampling.Rule{Rate: rate}.Decide(c)
			if was && !got.Sampled {
				t.Fatalf("value %x: sampled at a lower rate and not at %v", c.SampleValue, rate)
			}
			was = got.Sampled
		}
		if !was {
			t.Fatalf("value %x: not sampled at rate 1", c.SampleValue)
		}
	}
}

// Weighting by the stored inclusion probability gives back the truth where the
// plain mean does not: failures are judged ten times as often.
// Rules that draw by one R are nested; trace and conversation are independent.
func TestUnion(t *testing.T) {
	tests := []struct {
		name                string
		traces              []float64
		conversation, union float64
	}{
		{"nothing", nil, 0, 0},
		{"one", []float64{0.25}, 0, 0.25},
		{"nested", []float64{0.25, 0.5}, 0, 0.5},
		{"conversation", nil, 0.5, 0.5},
		{"both", []float64{0.25, 0.5}, 0.5, 0.75},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := record.Candidate{ConversationID: "c"}
			var all []sampling.Decision
			for _, rate := range tt.traces {
				all = append(all, sampling.Rule{Rate: rate}.Decide(c))
			}
			if tt.conversation > 0 {
				all = append(all, sampling.Rule{Rate: tt.conversation, Unit: sampling.UnitConversation}.Decide(c))
			}
			if got := sampling.Union(all); got != tt.union {
				t.Errorf("Union = %v, want %v", got, tt.union)
			}
		})
	}
}

func TestInclusionProbabilityUnbiased(t *testing.T) {
	rule := sampling.Rule{Rate: 0.05, Strata: map[string]float64{record.StratumToolError: 0.5}}
	var sum, weight, naive, n, truth float64
	const total = 60000
	for i := range total {
		c := whole()
		c.SampleValue = sampling.Value(fmt.Sprintf("%032x", i), "", 0)
		pass := 1.0
		if i%10 == 0 {
			c.Stratum, pass = record.StratumToolError, 0
		}
		truth += pass / total
		if d := rule.Decide(c); d.Sampled {
			sum, weight = sum+pass/d.InclusionP, weight+1/d.InclusionP
			naive, n = naive+pass, n+1
		}
	}
	if got := sum / weight; math.Abs(got-truth) > 0.01 {
		t.Errorf("weighted rate %v, truth %v", got, truth)
	}
	if got := naive / n; math.Abs(got-truth) < 0.2 {
		t.Errorf("plain mean %v should be far from %v", got, truth)
	}
	if math.Abs(weight-total)/total > 0.05 {
		t.Errorf("weights sum to %v, want about %d", weight, total)
	}
}

func TestRuleValidate(t *testing.T) {
	good := sampling.Rule{Name: "live", Rubric: "support", Rate: 0.1, Unit: sampling.UnitInference}
	if err := good.Validate([]string{"support"}); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*sampling.Rule){
		"name is missing":            func(r *sampling.Rule) { r.Name = "" },
		`rubric "x": want one of`:    func(r *sampling.Rule) { r.Rubric = "x" },
		"rate 0: want":               func(r *sampling.Rule) { r.Rate = 0 },
		"rate 1.5: want":             func(r *sampling.Rule) { r.Rate = 1.5 },
		"rate NaN: want":             func(r *sampling.Rule) { r.Rate = math.NaN() },
		`unit "day": want one of`:    func(r *sampling.Rule) { r.Unit = "day" },
		`strata "errors": want`:      func(r *sampling.Rule) { r.Strata = map[string]float64{"errors": 1} },
		"strata.ok 0: want":          func(r *sampling.Rule) { r.Strata = map[string]float64{"ok": 0} },
		`match.models ""`:            func(r *sampling.Rule) { r.Match.Models = []string{""} },
		`match.strata "bad"`:         func(r *sampling.Rule) { r.Match.Strata = []string{"bad"} },
		"not with unit conversation": func(r *sampling.Rule) { r.Unit, r.Strata = sampling.UnitConversation, map[string]float64{"ok": 1} },
	} {
		r := good
		change(&r)
		if err := r.Validate([]string{"support"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	if err := good.Validate(nil); err == nil || !strings.Contains(err.Error(), "there are no rubrics") {
		t.Errorf("without rubrics: got %v", err)
	}
	r := sampling.Rule{}
	r.SetDefaults()
	if r.Unit != sampling.UnitInference {
		t.Errorf("default unit %q", r.Unit)
	}
}

// A reply that the client did not wait for is not judged as if it were whole
// (field case E30).
func TestFieldCaseCancelledReply(t *testing.T) {
	data, err := os.ReadFile("../../testdata/fieldcases/cases/E30-cancelled-reply.json")
	if err != nil {
		t.Fatal(err)
	}
	var in struct{ Complete bool }
	if err := json.Unmarshal(data, &in); err != nil {
		t.Fatal(err)
	}
	c := whole()
	c.Complete, c.TerminalState = in.Complete, record.StateClientCancelled
	if got := sampling.Eligible(c, sampling.Rule{}.Eligibility()); got != record.Incomplete {
		t.Errorf("%q, want %q", got, record.Incomplete)
	}
	if got := sampling.Eligible(c, sampling.Rule{Partial: true}.Eligibility()); got != "" {
		t.Errorf("%q, want none when partial replies are switched on", got)
	}
}
