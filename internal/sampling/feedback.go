package sampling

import (
	"fmt"

	"docket/internal/record"
)

// Feedback is a filter on one piece of feedback. What is not set does not filter.
type Feedback struct {
	Labels   []string `yaml:"labels" doc:"labels, such as down"`
	Sources  []string `yaml:"sources" doc:"where it was given"`
	MinScore *float64 `yaml:"min_score" doc:"lowest score, from 0 to 1; feedback without a score does not match"`
	MaxScore *float64 `yaml:"max_score" doc:"highest score, from 0 to 1; feedback without a score does not match"`
}

// AboutFeedback says whether the rule looks at inferences when feedback on them
// arrives, and not when they were recorded.
func (r Rule) AboutFeedback() bool { return r.Match.Feedback != nil }

func (f *Feedback) validate(rule string) error {
	if f == nil {
		return nil
	}
	for _, pair := range f.pairs(record.Candidate{}) {
		for _, p := range pair.patterns {
			if p == "" {
				return fmt.Errorf("rule %q: match.feedback.%s %q: want a text, with * for any text", rule, pair.key, p)
			}
		}
	}
	for i, v := range []*float64{f.MinScore, f.MaxScore} {
		if v != nil && !(*v >= 0 && *v <= 1) {
			return fmt.Errorf("rule %q: match.feedback.%s %v: want a number from 0 to 1", rule, []string{"min_score", "max_score"}[i], *v)
		}
	}
	if f.MinScore != nil && f.MaxScore != nil && *f.MinScore > *f.MaxScore {
		return fmt.Errorf("rule %q: match.feedback.min_score %v: want at most max_score (%v)", rule, *f.MinScore, *f.MaxScore)
	}
	return nil
}

func (f *Feedback) pairs(c record.Candidate) []pair {
	return []pair{
		{"labels", f.Labels, []string{c.FeedbackLabel}},
		{"sources", f.Sources, []string{c.FeedbackSource}},
	}
}

// match holds the feedback that made a candidate against the filter. Without a
// filter only candidates without feedback match.
func (f *Feedback) match(c record.Candidate) bool {
	if f == nil || !c.HasFeedback() {
		return f == nil && !c.HasFeedback()
	}
	for _, p := range f.pairs(c) {
		if len(p.patterns) > 0 && !p.match() {
			return false
		}
	}
	score := c.FeedbackScore
	return (f.MinScore == nil || score != nil && *score >= *f.MinScore) && (f.MaxScore == nil || score != nil && *score <= *f.MaxScore)
}

func (f *Feedback) mismatch(c record.Candidate) string {
	switch {
	case f == nil:
		return "the rule is not about feedback"
	case !c.HasFeedback():
		return "there is no feedback on it"
	}
	score := "no score"
	if c.FeedbackScore != nil {
		score = fmt.Sprintf("score %g", *c.FeedbackScore)
	}
	return fmt.Sprintf("the feedback has label %q, source %q and %s", c.FeedbackLabel, c.FeedbackSource, score)
}
