package record

import (
	"fmt"
	"strings"
)

// Line prints the verdict in one line, as the terminal and the page show it:
//
//	PASS judge: <criterion>: scored 0.90, needed 0.50 — <detail>
//	INCONCLUSIVE judge: <criterion>: <reason>
func (v Verdict) Line() string {
	criterion := v.CriterionText
	if criterion == "" {
		criterion = v.Criterion
	}
	criterion = strings.TrimSuffix(criterion, ".")
	head := fmt.Sprintf("%s judge: %s: ", strings.ToUpper(v.Outcome), criterion)
	switch {
	case v.Outcome == OutcomeNotApplicable:
		return strings.TrimSuffix(head, ": ") + withDetail("", v.Detail)
	case v.Outcome == OutcomeInconclusive || v.Probability == nil:
		return head + withDetail(v.Reason, v.Detail)
	}
	return head + withDetail(fmt.Sprintf("scored %.2f, needed %.2f", *v.Probability, v.Threshold), v.Detail)
}

func withDetail(s, detail string) string {
	if detail = strings.Join(strings.Fields(detail), " "); detail == "" {
		return s
	}
	return s + " — " + detail
}
