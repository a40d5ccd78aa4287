package judge

import (
	"encoding/json"
	"fmt"
	"strings"
)

// systemMessage is the system message, with the answer's format always at its
// end, also after an own one.
func systemMessage(own, format string) (string, error) {
	s := strings.TrimSpace(textChatSystem)
	if own != "" {
		var err error
		if s, err = fill(own, map[string]string{"default": s}); err != nil {
			return "", fmt.Errorf("system: %w", err)
		}
	}
	return strings.TrimRight(s, "\n") + "\n\n" + strings.TrimSpace(format), nil
}

// userMessage shows the unit and the criterion. What was recorded is always
// JSON on one line, so no content can end its section.
func userMessage(own string, sh shown, q question) (string, error) {
	values := userValues(sh, q)
	s := builtIn(textChatUser, values)
	if own != "" {
		values["default"] = s
		var err error
		if s, err = fill(own, values); err != nil {
			return "", fmt.Errorf("user: %w", err)
		}
	}
	return s, nil
}

func userValues(sh shown, q question) map[string]string {
	st := sh.state
	values := map[string]string{
		"asked": string(encode(st.UserMessage)), "reply": string(encode(st.Response)),
		"criterion": chatCriterion(q), "conversation": "", "tools": "", "sources": "", "expected": "",
	}
	if st.Conversation != nil {
		values["conversation"] = string(encode(st.Conversation))
	}
	if st.ToolCalls != nil {
		values["tools"] = toolLines(st.ToolCalls)
	}
	if st.Sources != nil {
		values["sources"] = string(encode(st.Sources))
	}
	if st.Expected != "" {
		values["expected"] = string(encode(st.Expected))
	}
	return values
}

// chatCriterion is the criterion with its meanings of met and not met.
func chatCriterion(q question) string {
	s := q.criterion.Text
	if q.purpose != purposeCriterion || q.criterion.Question != nil {
		s = q.text
	}
	return s + "\nMet when " + unpointed(q.yesWhen) + ".\nNot met when " + unpointed(q.noWhen) + "."
}

// toolLines has one line per call: name, arguments, and result, error or that
// there is none.
func toolLines(calls []stateCall) string {
	lines := make([]string, len(calls))
	for i, c := range calls {
		arguments := c.Arguments
		if arguments == nil {
			arguments = json.RawMessage("{}")
		}
		end := "result " + string(c.Result)
		if c.Failed != nil {
			end = "failed " + string(c.Failed)
		}
		lines[i] = fmt.Sprintf("%d. %s %s -> %s", i+1, encode(c.Name), arguments, end)
	}
	return strings.Join(lines, "\n")
}

// validateTemplates renders own chat templates with marks in place of criterion
// and reply, and checks that the marks come out where they belong.
func validateTemplates(system, user string) error {
	const criterion, content = "criterion-mark-7f3a", "reply-mark-91c2"
	if _, err := systemMessage(system, textChatFormatScore); err != nil {
		return err
	}
	q := question{purpose: purposeCriterion, criterion: Criterion{Text: criterion}}
	got, err := userMessage(user, shown{state: state{Response: content}}, q)
	if err != nil {
		return err
	}
	for _, need := range []struct{ mark, variable, what string }{
		{criterion, "criterion", "what to judge by"},
		{content, "reply", "what to judge"},
	} {
		if !strings.Contains(got, need.mark) {
			return fmt.Errorf("user: does not carry {{%s}}: the judge would not see %s; {{default}} has it", need.variable, need.what)
		}
	}
	return nil
}
