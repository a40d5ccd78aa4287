package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Criterion is one property a good reply has. In settings and files it is a
// plain sentence or an object with these keys; "criterion" is another word for
// "text".
type Criterion struct {
	Name             string       `yaml:"name" json:"name,omitempty" doc:"name, kept with each verdict; by default made from the text"`
	Text             string       `yaml:"text" json:"text,omitempty" doc:"one sentence that says what a good reply does"`
	SatisfiedWhen    string       `yaml:"satisfied_when" json:"satisfied_when,omitempty" doc:"when it is met; by default when it is clearly met in full"`
	NotSatisfiedWhen string       `yaml:"not_satisfied_when" json:"not_satisfied_when,omitempty" doc:"when it is not met; by default also when it is met in part or unclear"`
	Threshold        *float64     `yaml:"threshold" json:"threshold,omitempty" doc:"probability from which it counts as met, above 0 and at most 1; by default the rubric's"`
	Weight           *float64     `yaml:"weight" json:"weight,omitempty" doc:"weight in the score, 1 by default; 0 keeps it out of the score, not out of the pass rule"`
	AppliesWhen      string       `yaml:"applies_when" json:"applies_when,omitempty" doc:"one sentence; when it does not hold, the criterion is not_applicable"`
	Question         *Question    `yaml:"question" json:"question,omitempty" doc:"own wording of the question"`
	Abstain          *Band        `yaml:"abstain" json:"abstain,omitempty" doc:"probabilities inside this band are inconclusive (uncertain)"`
	Check            *Check       `yaml:"check" json:"check,omitempty" doc:"what a program decides, without a judge"`
	Calibration      *Calibration `yaml:"calibration" json:"calibration,omitempty" doc:"fitted by evaluator calibrate; used when the rubric says use_calibrated"`
}

// Question is an own wording. Each part is a template with the variables name,
// text, satisfied_when and not_satisfied_when.
type Question struct {
	Text    string `yaml:"text" json:"text,omitempty" doc:"the question"`
	YesWhen string `yaml:"yes_when" json:"yes_when,omitempty" doc:"when the answer is yes"`
	NoWhen  string `yaml:"no_when" json:"no_when,omitempty" doc:"when the answer is no"`
}

// Band is a range of probabilities, both ends included, that decides nothing.
type Band struct {
	Low  float64 `yaml:"low" json:"low" doc:"lower end"`
	High float64 `yaml:"high" json:"high" doc:"upper end"`
}

// Calibration maps a judge's probability p to 1/(1+exp(-(Slope*logit(p)+Intercept))).
type Calibration struct {
	Slope     float64 `yaml:"slope" json:"slope" doc:"factor of logit(p)"`
	Intercept float64 `yaml:"intercept" json:"intercept" doc:"added to it"`
	// What was fitted for one judge is wrong for another one.
	JudgeConfig string `yaml:"judge_config" json:"judge_config,omitempty" doc:"judge configuration that it was fitted for, as evaluator calibrate prints it; empty is not checked"`
}

// criterionKeys is Criterion without its methods, with the other word for text.
type criterionKeys struct {
	criterionFields `yaml:",inline"`
	Criterion       string `yaml:"criterion" json:"criterion"`
}

type criterionFields Criterion

func (k criterionKeys) criterion() (Criterion, error) {
	c := Criterion(k.criterionFields)
	if k.Criterion != "" {
		if c.Text != "" {
			return c, fmt.Errorf("text and criterion are the same key: want one of them")
		}
		c.Text = k.Criterion
	}
	return c, nil
}

// UnmarshalYAML reads a sentence or an object.
func (c *Criterion) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*c = Criterion{Text: n.Value}
		return nil
	}
	// The decoder of a node cannot be made strict, one of bytes can.
	data, err := yaml.Marshal(withoutAliases(n, 0))
	if err != nil {
		return fmt.Errorf("criterion: %w", err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var k criterionKeys
	if err := dec.Decode(&k); err != nil {
		return plainYAMLError(err)
	}
	*c, err = k.criterion()
	return err
}

// withoutAliases copies a node with what its aliases stand for, since their
// anchors may lie outside it.
func withoutAliases(n *yaml.Node, depth int) *yaml.Node {
	const deepest = 64
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	out := *n
	out.Anchor, out.Content = "", nil
	for _, sub := range n.Content {
		if depth < deepest {
			out.Content = append(out.Content, withoutAliases(sub, depth+1))
		}
	}
	return &out
}

// plainYAMLError words yaml's complaint about a key without Go's type names.
func plainYAMLError(err error) error {
	s := err.Error()
	if _, rest, ok := strings.Cut(s, "field "); ok {
		if key, _, ok := strings.Cut(rest, " not found"); ok {
			return fmt.Errorf("unknown key %s; allowed: %s", key, strings.Join(criterionKeyNames(), ", "))
		}
	}
	return fmt.Errorf("%s", strings.TrimPrefix(s, "yaml: "))
}

func criterionKeyNames() []string {
	return []string{
		"abstain", "applies_when", "calibration", "check", "criterion", "name", "not_satisfied_when",
		"question", "satisfied_when", "text", "threshold", "weight",
	}
}

// UnmarshalJSON reads a sentence or an object.
func (c *Criterion) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = Criterion{Text: text}
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var k criterionKeys
	if err := dec.Decode(&k); err != nil {
		return fmt.Errorf("criterion: %w", err)
	}
	var err error
	*c, err = k.criterion()
	return err
}

// key returns the criterion's name: its own, or a slug of its text. It never
// depends on the position, so that inserting a criterion renames no other.
func (c Criterion) key() string {
	if c.Name != "" {
		return c.Name
	}
	text := c.Text
	if text == "" && c.Check != nil {
		text = c.Check.describe()
	}
	return slug(text)
}

const maxSlug = 60

func slug(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = b.Len() > 0
			continue
		}
		if b.Len() >= maxSlug {
			break
		}
		if gap {
			b.WriteByte('_')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (c Criterion) weight() float64 { return deref(c.Weight, 1) }

// validate checks a criterion on its own. calibrated says that its calibration
// is used.
func (c Criterion) validate(calibrated bool) error {
	fail := func(key string, value any, want string) error {
		return fmt.Errorf("criterion %q: %s: %v: want %s", c.key(), key, value, want)
	}
	if c.key() == "" {
		return fmt.Errorf("criterion %q: text: missing: want one sentence that says what a good reply does", c.Name)
	}
	if strings.TrimSpace(c.Text) == "" && c.Check == nil {
		return fail("text", `""`, "one sentence that says what a good reply does")
	}
	if c.Threshold != nil && !isThreshold(*c.Threshold) {
		return fail("threshold", *c.Threshold, "a number above 0 and at most 1")
	}
	if w := c.weight(); !(w >= 0 && w <= maxWeight) {
		return fail("weight", w, "a finite number, 0 or more")
	}
	if c.Check != nil {
		if c.Question != nil {
			return fail("check", c.Check.describe(), "no question beside it: no judge is asked")
		}
		return c.Check.validate(c.key())
	}
	if calibrated && c.Calibration == nil {
		return fail("calibration", "missing", "slope and intercept, since the rubric says use_calibrated")
	}
	if c.Calibration != nil && !(c.Calibration.Slope > 0 && c.Calibration.Slope < 1e6 && c.Calibration.Intercept > -1e6 && c.Calibration.Intercept < 1e6) {
		return fail("calibration", *c.Calibration, "a slope above 0 and a finite intercept")
	}
	if err := c.Abstain.validate(); err != nil {
		return fmt.Errorf("criterion %q: %w", c.key(), err)
	}
	return c.Question.validate(c)
}

const maxWeight = 1e6

func isThreshold(t float64) bool { return t > 0 && t <= 1 }

func (b *Band) validate() error {
	if b != nil && !(b.Low >= 0 && b.Low < b.High && b.High <= 1) {
		return fmt.Errorf("abstain: %v to %v: want low below high, both from 0 to 1", b.Low, b.High)
	}
	return nil
}

func (b *Band) contains(p float64) bool { return b != nil && p >= b.Low && p <= b.High }

// validate renders the question for the criterion, so that a wrong template is
// found at the start.
func (q *Question) validate(c Criterion) error {
	if q == nil {
		return nil
	}
	if strings.TrimSpace(q.Text) == "" {
		return fmt.Errorf("criterion %q: question.text: missing: want a template", c.key())
	}
	_, err := q.render(c)
	return err
}

// warnings says in which ways the text of a criterion makes verdicts hard to
// read: one property per criterion is what a failed verdict can name.
func (c Criterion) warnings() []string {
	var out []string
	note := func(s string) {
		out = append(out, fmt.Sprintf("criterion %q: %s; a failed verdict names the property only when there is one", c.key(), s))
	}
	text := strings.TrimSpace(c.Text)
	if n := sentences(text); n > 1 {
		note(fmt.Sprintf("its text has %d sentences", n))
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	if slices.Contains(words, "and") {
		note(`its text joins properties with "and"`)
	}
	if strings.ContainsAny(text, ";\n") || strings.Count(text, ",") >= 2 {
		note("its text is a list")
	}
	return out
}

// sentences counts full stops, question and exclamation marks that end a word
// and are followed by another sentence or the end.
func sentences(s string) int {
	n, open := 0, false
	runes := []rune(s)
	for i, r := range runes {
		switch {
		case strings.ContainsRune(".!?", r) && (i+1 == len(runes) || unicode.IsSpace(runes[i+1])):
			if open {
				n++
			}
			open = false
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			open = true
		}
	}
	if open {
		n++
	}
	return n
}
