package judge

import (
	"fmt"
	"strings"
	"text/template"
)

// fill executes a template whose variables are functions: {{text}} is a value,
// {{if text}} a condition, and an unknown name an error.
func fill(source string, values map[string]string) (string, error) {
	funcs := template.FuncMap{}
	for k, v := range values {
		funcs[k] = func() string { return v }
	}
	t, err := template.New("").Funcs(funcs).Parse(source)
	if err != nil {
		return "", templateError(err, values)
	}
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		return "", templateError(err, values)
	}
	return b.String(), nil
}

func templateError(err error, values map[string]string) error {
	return fmt.Errorf("%s; variables: %s", strings.TrimPrefix(err.Error(), "template: "), names(values))
}

// builtIn fills a built-in wording; a test fills each of them.
func builtIn(source string, values map[string]string) string {
	s, err := fill(source, values)
	if err != nil {
		return source
	}
	return strings.TrimSpace(s)
}

// render fills the own wording of a question for a criterion. Parts that are
// not given keep the built-in meaning of yes and no.
func (q *Question) render(c Criterion) (Question, error) {
	values := map[string]string{
		"name": c.key(), "text": c.Text, "satisfied_when": c.SatisfiedWhen, "not_satisfied_when": c.NotSatisfiedWhen,
	}
	out := Question{YesWhen: yesWhen(c), NoWhen: noWhen(c)}
	for _, part := range []struct {
		key, source string
		to          *string
	}{
		{"text", q.Text, &out.Text},
		{"yes_when", q.YesWhen, &out.YesWhen},
		{"no_when", q.NoWhen, &out.NoWhen},
	} {
		if part.source == "" {
			continue
		}
		s, err := fill(part.source, values)
		if err != nil {
			return out, fmt.Errorf("criterion %q: question.%s: %w", c.key(), part.key, err)
		}
		if *part.to = strings.TrimSpace(s); *part.to == "" {
			return out, fmt.Errorf("criterion %q: question.%s: gives an empty text", c.key(), part.key)
		}
	}
	return out, nil
}

func yesWhen(c Criterion) string { return either(c.SatisfiedWhen, strings.TrimSpace(textYesWhen)) }

func noWhen(c Criterion) string { return either(c.NotSatisfiedWhen, strings.TrimSpace(textNoWhen)) }

func either(s, otherwise string) string {
	if strings.TrimSpace(s) == "" {
		return otherwise
	}
	return s
}

// criterionQuestion asks whether a criterion is met. conversation says that the
// judge is shown a conversation whose last message is the reply.
func criterionQuestion(c Criterion, conversation bool) question {
	q := question{criterion: c, purpose: purposeCriterion, yesWhen: yesWhen(c), noWhen: noWhen(c)}
	if c.Question != nil {
		if own, err := c.Question.render(c); err == nil { // checked at the start
			q.text, q.yesWhen, q.noWhen = own.Text, own.YesWhen, own.NoWhen
			q.statement = own.Text + folded(q)
			return q
		}
	}
	about := textReplyQuestion
	if conversation {
		about = textConversationQuestion
	}
	q.text = builtIn(about, map[string]string{"text": c.Text})
	q.statement = builtIn(textReplyStatement, map[string]string{
		"text": sentence(c.Text), "yes_when": unpointed(q.yesWhen), "no_when": unpointed(q.noWhen),
	})
	return q
}

// folded puts the meanings of yes and no into the text of a format that has no
// fields for them.
func folded(q question) string {
	return " Counts as true: " + unpointed(q.yesWhen) + ". Counts as not true: " + unpointed(q.noWhen) + "."
}

// sentence ends a text with a full stop.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

func unpointed(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".") }

// appliesQuestion asks whether a criterion concerns the case at all.
func appliesQuestion(c Criterion) question {
	values := map[string]string{"text": c.AppliesWhen}
	return question{
		criterion: c, purpose: purposeApplies,
		text: builtIn(textAppliesQuestion, values), statement: builtIn(textAppliesStatement, values),
		yesWhen: strings.TrimSpace(textAppliesYesWhen), noWhen: strings.TrimSpace(textAppliesNoWhen),
	}
}

// canaryQuestion asks whether the content tries to influence its grading.
func canaryQuestion() question {
	return question{
		purpose: purposeCanary, text: strings.TrimSpace(textCanaryQuestion), statement: strings.TrimSpace(textCanaryStatement),
		yesWhen: strings.TrimSpace(textCanaryYesWhen), noWhen: strings.TrimSpace(textCanaryNoWhen),
	}
}
