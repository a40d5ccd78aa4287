package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"docket/internal/record"
)

// Rubric is a named list of criteria and how they are judged.
type Rubric struct {
	Backend        string          `yaml:"backend" json:"backend,omitempty" doc:"judge; by default judge.default_backend, or the only one"`
	Fallbacks      []string        `yaml:"fallbacks" json:"fallbacks,omitempty" doc:"judges to ask, in order, when the first one cannot answer"`
	Model          string          `yaml:"model" json:"model,omitempty" doc:"model to ask for, instead of the backend's"`
	Criteria       []Criterion     `yaml:"criteria" json:"criteria" doc:"what is judged: sentences, or objects"`
	Threshold      *float64        `yaml:"threshold" json:"threshold,omitempty" doc:"threshold of criteria without their own; 0.5 by default, a starting point until it is calibrated"`
	Question       *Question       `yaml:"question" json:"question,omitempty" doc:"own wording for criteria without their own"`
	Abstain        *Band           `yaml:"abstain" json:"abstain,omitempty" doc:"abstain band of criteria without their own"`
	Isolation      string          `yaml:"isolation" json:"isolation,omitempty" doc:"shared: all criteria in one request where the backend allows; per_criterion: one request each"`
	Reasons        string          `yaml:"reasons" json:"reasons,omitempty" doc:"on_fail: afterwards ask for one sentence about each failed criterion"`
	ReasonsBackend string          `yaml:"reasons_backend" json:"reasons_backend,omitempty" doc:"backend of format chat that writes these sentences"`
	Media          string          `yaml:"media" json:"media,omitempty" doc:"what the judge cannot be shown: placeholder, or inconclusive"`
	SourceTools    []string        `yaml:"source_tools" json:"source_tools,omitempty" doc:"tools whose results count as sources"`
	System         string          `yaml:"system" json:"system,omitempty" doc:"format chat: own system message; {{default}} is the built-in one"`
	User           string          `yaml:"user" json:"user,omitempty" doc:"format chat: own user message; {{default}} is the built-in one"`
	Trim           string          `yaml:"trim" json:"trim,omitempty" doc:"when the conversation is too long: oldest leaves out the oldest messages and says so, refuse is inconclusive"`
	MaxInput       record.ByteSize `yaml:"max_input" json:"max_input,omitempty" doc:"size of the judged content in one request, below the backend's limit"`
	Canary         bool            `yaml:"canary" json:"canary,omitempty" doc:"also ask whether the content tries to influence its grading, and flag the verdicts"`
	UseCalibrated  bool            `yaml:"use_calibrated" json:"use_calibrated,omitempty" doc:"compare and average calibrated probabilities"`
	MaxCallsPerDay int             `yaml:"max_calls_per_day" json:"max_calls_per_day,omitempty" doc:"ceiling; beyond it verdicts are inconclusive (over_budget); 0 is none"`
	MaxUSDPerDay   float64         `yaml:"max_usd_per_day" json:"max_usd_per_day,omitempty" doc:"ceiling of cost; needs the backend's prices; 0 is none"`
}

// Values of Rubric's keys.
const (
	IsolationShared       = "shared"
	IsolationPerCriterion = "per_criterion"

	ReasonsOnFail = "on_fail"

	MediaPlaceholder  = "placeholder"
	MediaInconclusive = "inconclusive"

	TrimOldest = "oldest"
	TrimRefuse = "refuse"
)

const defaultThreshold = 0.5

// SetDefaults fills what a rubric may leave out.
func (r *Rubric) SetDefaults() {
	r.Isolation, r.Media, r.Trim = IsolationShared, MediaPlaceholder, TrimOldest
}

// withDefaults returns the rubric with every default filled in, and each
// criterion with the rubric's threshold, question and band.
func (r Rubric) withDefaults() Rubric {
	if r.Isolation == "" {
		r.Isolation = IsolationShared
	}
	if r.Media == "" {
		r.Media = MediaPlaceholder
	}
	if r.Trim == "" {
		r.Trim = TrimOldest
	}
	r.Criteria = r.fill(r.Criteria)
	return r
}

func (r Rubric) fill(criteria []Criterion) []Criterion {
	out := slices.Clone(criteria)
	for i := range out {
		c := &out[i]
		if c.Threshold == nil {
			t := deref(r.Threshold, defaultThreshold)
			c.Threshold = &t
		}
		if c.Abstain == nil {
			c.Abstain = r.Abstain
		}
		if c.Question == nil && c.Check == nil {
			c.Question = r.Question
		}
	}
	return out
}

// Validate checks the rubric against the backends there are.
func (r Rubric) Validate(cfg Config) error {
	if err := r.ValidateAlone(); err != nil {
		return err
	}
	return r.validateBackends(cfg)
}

// ValidateAlone checks what can be checked while no judge is set.
func (r Rubric) ValidateAlone() error {
	for _, e := range []struct {
		key, value string
		allowed    []string
	}{
		{"isolation", r.Isolation, []string{IsolationShared, IsolationPerCriterion}},
		{"reasons", r.Reasons, []string{ReasonsOnFail}},
		{"media", r.Media, []string{MediaPlaceholder, MediaInconclusive}},
		{"trim", r.Trim, []string{TrimOldest, TrimRefuse}},
	} {
		if e.value != "" && !slices.Contains(e.allowed, e.value) {
			return fmt.Errorf("%s: %q: want one of %s", e.key, e.value, strings.Join(e.allowed, ", "))
		}
	}
	if r.Threshold != nil && !isThreshold(*r.Threshold) {
		return fmt.Errorf("threshold: %v: want a number above 0 and at most 1", *r.Threshold)
	}
	if r.MaxCallsPerDay < 0 {
		return fmt.Errorf("max_calls_per_day: %d: want 0 or more", r.MaxCallsPerDay)
	}
	if !(r.MaxUSDPerDay >= 0 && r.MaxUSDPerDay <= 1e9) {
		return fmt.Errorf("max_usd_per_day: %v: want 0 or more", r.MaxUSDPerDay)
	}
	if err := r.Abstain.validate(); err != nil {
		return err
	}
	if err := r.validateCriteria(r.Criteria); err != nil {
		return err
	}
	return validateTemplates(r.System, r.User)
}

// validateCriteria checks a list of criteria as a whole.
func (r Rubric) validateCriteria(criteria []Criterion) error {
	if len(criteria) == 0 {
		return fmt.Errorf("criteria: none: want at least one")
	}
	seen, weight := map[string]bool{}, 0.0
	for _, c := range r.fill(criteria) {
		if err := c.validate(r.UseCalibrated); err != nil {
			return err
		}
		if seen[c.key()] {
			return fmt.Errorf("criterion %q: given twice: want names that differ", c.key())
		}
		seen[c.key()] = true
		weight += c.weight()
	}
	if !(weight > 0) {
		return fmt.Errorf("criteria: all weights are 0: want at least one above 0")
	}
	return nil
}

// asks says whether a judge is needed: some criterion has no check.
func asks(criteria []Criterion) bool {
	return slices.ContainsFunc(criteria, func(c Criterion) bool { return c.Check == nil || c.AppliesWhen != "" })
}

// NeedsJudge says whether judging by the rubric takes a backend: some criterion
// is no check.
func (r Rubric) NeedsJudge() bool { return asks(r.Criteria) }

// backendName is the rubric's judge: its own, the default, or the only one.
func (r Rubric) backendName(cfg Config) (string, error) {
	all := cfg.backends()
	name := r.Backend
	switch {
	case name != "":
	case cfg.DefaultBackend != "":
		name = cfg.DefaultBackend
	case len(all) == 1:
		for only := range all {
			name = only
		}
	case !r.NeedsJudge():
		return ruleName, nil
	default:
		return "", fmt.Errorf("backend: missing, and judge.default_backend too: want one of %s", names(all))
	}
	if name == ruleName && !r.NeedsJudge() {
		return name, nil
	}
	if _, ok := all[name]; !ok {
		return "", fmt.Errorf("backend: %q: want one of %s", name, names(all))
	}
	return name, nil
}

func (r Rubric) validateBackends(cfg Config) error {
	first, err := r.backendName(cfg)
	if err != nil {
		return err
	}
	all := cfg.backends()
	used := []string{first}
	for _, name := range r.Fallbacks {
		if _, ok := all[name]; !ok || slices.Contains(used, name) {
			return fmt.Errorf("fallbacks: %q: want others than %s, out of %s", name, strings.Join(used, ", "), names(all))
		}
		used = append(used, name)
	}
	if r.MaxUSDPerDay > 0 {
		for _, name := range used {
			if b := all[name]; first != ruleName && b.Format != formatStatic && (b.InputUSD == nil || b.OutputUSD == nil) {
				return fmt.Errorf("max_usd_per_day: %v: backend %s has no input_usd and output_usd to reckon with", r.MaxUSDPerDay, name)
			}
		}
	}
	if r.Reasons == "" {
		return nil
	}
	if b, ok := all[r.reasonsBackend(first)]; !ok || !b.isChat() {
		chats := maps.Clone(all)
		maps.DeleteFunc(chats, func(_ string, b BackendConfig) bool { return !b.isChat() })
		return fmt.Errorf("reasons_backend: %q: want a backend of format chat: %s", r.ReasonsBackend, names(chats))
	}
	return nil
}

func (r Rubric) reasonsBackend(first string) string {
	if r.ReasonsBackend != "" {
		return r.ReasonsBackend
	}
	return first
}

func (b BackendConfig) isChat() bool {
	p, err := b.profile()
	return err == nil && p.format == formatChat
}

// Warnings lists what makes the rubric's verdicts less useful than they could
// be, without being wrong.
func (r Rubric) Warnings() []string {
	var out []string
	for _, c := range r.Criteria {
		if c.Check == nil {
			out = append(out, c.warnings()...)
		}
	}
	return out
}
