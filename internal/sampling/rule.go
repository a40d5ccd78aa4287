package sampling

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"docket/internal/record"
)

// Kinds of units.
const (
	UnitInference    = "inference"
	UnitTrace        = "trace"
	UnitConversation = "conversation"
)

// Reasons of a Decision.
const (
	ReasonNoMatch    = "no_match"    // a filter keeps the candidate out of the rule
	ReasonSampled    = "sampled"     // chosen
	ReasonNotSampled = "not_sampled" // matched, and R is below the threshold
)

// Rule says which candidates a rubric judges, and how many of them.
type Rule struct {
	Name      string             `yaml:"name" doc:"name of the rule, kept with each verdict"`
	Rubric    string             `yaml:"rubric" doc:"rubric that judges what is sampled"`
	Rate      float64            `yaml:"rate" doc:"share that is judged, above 0 and at most 1"`
	Strata    map[string]float64 `yaml:"strata" doc:"rates of single strata: ok, refusal, length, tool_error"`
	Unit      string             `yaml:"unit" doc:"what is sampled as a whole: inference, trace or conversation"`
	Match     Filters            `yaml:"match" doc:"what the rule is about; without filters, everything"`
	ToolSteps bool               `yaml:"judge_tool_steps" doc:"also judge replies that only call tools"`
	Partial   bool               `yaml:"judge_partial" doc:"also judge replies that broke off; their verdicts are flagged partial"`
}

// Filters keep candidates out of a rule. Each one that is set must match one of
// its values; * in a value stands for any text.
type Filters struct {
	Projects       []string `yaml:"projects" doc:"projects"`
	Environments   []string `yaml:"environments" doc:"deployment environments"`
	Providers      []string `yaml:"providers" doc:"providers of the model"`
	Models         []string `yaml:"models" doc:"requested models"`
	APIs           []string `yaml:"apis" doc:"wire formats, such as openai.chat"`
	PromptNames    []string `yaml:"prompt_names" doc:"prompt names"`
	PromptVersions []string `yaml:"prompt_versions" doc:"prompt versions"`
	Tags           []string `yaml:"tags" doc:"tags, of which the inference has at least one"`
	Tools          []string `yaml:"tools" doc:"tools, of which the turn called at least one"`
	Strata         []string `yaml:"strata" doc:"strata of the inference"`

	Feedback *Feedback `yaml:"feedback" doc:"feedback on the inference; a rule with it looks at an inference when feedback arrives; {} is any feedback"`
}

// SetDefaults fills what a rule may leave out.
func (r *Rule) SetDefaults() { r.Unit = UnitInference }

// Validate checks the rule. rubrics are the names there are.
func (r Rule) Validate(rubrics []string) error {
	fail := func(key string, value any, want string) error {
		return fmt.Errorf("rule %q: %s %v: %s", r.Name, key, value, want)
	}
	if r.Name == "" {
		return fmt.Errorf("rule for rubric %q: name is missing", r.Rubric)
	}
	if !slices.Contains(rubrics, r.Rubric) {
		want := "want one of " + listed(rubrics)
		if len(rubrics) == 0 {
			want = "there are no rubrics: write it into the section rubrics"
		}
		return fail("rubric", fmt.Sprintf("%q", r.Rubric), want)
	}
	if !isRate(r.Rate) {
		return fail("rate", r.Rate, "want a number above 0 and at most 1")
	}
	if !slices.Contains(units(), r.unit()) {
		return fail("unit", fmt.Sprintf("%q", r.Unit), "want one of "+listed(units()))
	}
	for _, s := range slices.Sorted(maps.Keys(r.Strata)) {
		if !slices.Contains(strata(), s) {
			return fail("strata", fmt.Sprintf("%q", s), "want "+listed(strata()))
		}
		if !isRate(r.Strata[s]) {
			return fail("strata."+s, r.Strata[s], "want a number above 0 and at most 1; to leave it out, filter by match.strata")
		}
	}
	if len(r.Strata) > 0 && r.unit() == UnitConversation {
		return fail("strata", listed(slices.Sorted(maps.Keys(r.Strata))), "not with unit conversation, whose turns belong to different strata")
	}
	return r.Match.validate(r.Name)
}

func (f Filters) validate(rule string) error {
	for _, pair := range f.pairs(record.Candidate{}) {
		for _, p := range pair.patterns {
			if p == "" {
				return fmt.Errorf("rule %q: match.%s %q: want a text, with * for any text", rule, pair.key, p)
			}
		}
	}
	for _, s := range f.Strata {
		if !slices.Contains(strata(), s) {
			return fmt.Errorf("rule %q: match.strata %q: want %s", rule, s, listed(strata()))
		}
	}
	return f.Feedback.validate(rule)
}

func isRate(f float64) bool { return f > 0 && f <= 1 && !math.IsNaN(f) }

func units() []string { return []string{UnitInference, UnitTrace, UnitConversation} }

func strata() []string {
	return []string{record.StratumOK, record.StratumRefusal, record.StratumLength, record.StratumToolError, record.StratumError}
}

func listed(s []string) string { return strings.Join(s, ", ") }

func (r Rule) unit() string {
	if r.Unit == "" {
		return UnitInference
	}
	return r.Unit
}

// Eligibility returns what the rule counts as a whole reply.
func (r Rule) Eligibility() Eligibility {
	return Eligibility{ToolSteps: r.ToolSteps, Partial: r.Partial}
}

// Decision is what a rule says about a candidate.
type Decision struct {
	Matched    bool
	Sampled    bool
	Value      uint64  // R
	Threshold  uint64  // T; 0 when the rule does not match
	InclusionP float64 // probability with which the rule samples such a candidate
	Stratum    string  // of the candidate; record.StratumFeedback under a rule about feedback
	Reason     string  // one of Reason*

	ByConversation bool // R is that of the conversation, not of the trace
}

// Union is the probability with which at least one of the rules that made these
// decisions about one candidate samples it. Rules that draw by the same R are
// nested, so the highest rate of them counts; R of the trace and R of the
// conversation are independent.
func Union(decisions []Decision) float64 {
	var trace, conversation float64
	for _, d := range decisions {
		if d.ByConversation {
			conversation = max(conversation, d.InclusionP)
		} else {
			trace = max(trace, d.InclusionP)
		}
	}
	if conversation == 0 || trace == 0 {
		return max(trace, conversation)
	}
	return 1 - (1-trace)*(1-conversation)
}

// Decide applies the rule. It depends on the candidate alone. A rule with a
// filter on feedback matches only candidates that feedback made, and other rules
// only those that capture made.
func (r Rule) Decide(c record.Candidate) Decision {
	if !r.Match.match(c) {
		return Decision{Reason: ReasonNoMatch}
	}
	rate := r.Rate
	if own, ok := r.Strata[c.Stratum]; ok {
		rate = own
	}
	d := Decision{
		Matched: true, Value: c.SampleValue, Threshold: Threshold(rate),
		Stratum: c.Stratum, Reason: ReasonNotSampled,
	}
	if r.unit() == UnitConversation && c.ConversationID != "" {
		d.Value, d.ByConversation = ConversationValue(c.Project, c.ConversationID), true
	}
	if r.AboutFeedback() {
		d.Stratum = record.StratumFeedback
	}
	d.InclusionP = Probability(d.Threshold)
	if d.Value >= d.Threshold {
		d.Sampled, d.Reason = true, ReasonSampled
	}
	return d
}

// pair is one filter: its patterns and what they are held against.
type pair struct {
	key      string
	patterns []string
	values   []string
}

func (f Filters) pairs(c record.Candidate) []pair {
	return []pair{
		{"projects", f.Projects, []string{c.Project}},
		{"environments", f.Environments, []string{c.Environment}},
		{"providers", f.Providers, []string{c.Provider}},
		{"models", f.Models, []string{c.RequestModel}},
		{"apis", f.APIs, []string{c.API}},
		{"prompt_names", f.PromptNames, []string{c.PromptName}},
		{"prompt_versions", f.PromptVersions, []string{c.PromptVersion}},
		{"tags", f.Tags, c.Tags},
		{"tools", f.Tools, c.ToolNames},
		{"strata", f.Strata, []string{c.Stratum}},
	}
}

func (f Filters) match(c record.Candidate) bool {
	for _, p := range f.pairs(c) {
		if len(p.patterns) > 0 && !p.match() {
			return false
		}
	}
	return f.Feedback.match(c)
}

// Mismatch names the filters that keep a candidate out, "" when none does.
func (f Filters) Mismatch(c record.Candidate) string {
	var out []string
	for _, p := range f.pairs(c) {
		if len(p.patterns) > 0 && !p.match() {
			out = append(out, fmt.Sprintf("%s are %s, it has %q", p.key, listed(p.patterns), listed(p.values)))
		}
	}
	if !f.Feedback.match(c) {
		out = append(out, f.Feedback.mismatch(c))
	}
	return strings.Join(out, "; ")
}

func (p pair) match() bool {
	for _, pattern := range p.patterns {
		for _, v := range p.values {
			if matches(pattern, v) {
				return true
			}
		}
	}
	return false
}

// matches compares with * for any text. path.Match lets * stop at a slash, and
// model names have slashes, so the pieces between the stars are looked for.
func matches(pattern, s string) bool {
	pieces := strings.Split(pattern, "*")
	if len(pieces) == 1 {
		return pattern == s
	}
	last := len(pieces) - 1
	if len(s) < len(pieces[0])+len(pieces[last]) || !strings.HasPrefix(s, pieces[0]) || !strings.HasSuffix(s, pieces[last]) {
		return false
	}
	s = s[len(pieces[0]) : len(s)-len(pieces[last])]
	for _, piece := range pieces[1:last] {
		i := strings.Index(s, piece)
		if i < 0 {
			return false
		}
		s = s[i+len(piece):]
	}
	return true
}
