package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"docket/internal/judge"
	"docket/internal/quality"
	"docket/internal/record"
)

// groupKey is what answers must share to be measured together.
type groupKey struct {
	criterion, version, config, backend, model, method string
	threshold                                          float64
}

// group is the answers of one judge to one criterion.
type group struct {
	key     groupKey
	text    string
	cases   []quality.Labelled // the first answer to each case
	answers [][]float64        // all answers to each case
}

func (k groupKey) compare(o groupKey) int {
	return cmp.Or(cmp.Compare(k.criterion, o.criterion), cmp.Compare(k.version, o.version), cmp.Compare(k.config, o.config),
		cmp.Compare(k.backend, o.backend), cmp.Compare(k.model, o.model), cmp.Compare(k.method, o.method))
}

// grouped sorts answers by what made them. unanswered counts by criterion and
// reason the first answers that have no probability.
func grouped(a *asking) (groups []*group, unanswered map[string]map[string]int) {
	byKey, unanswered := map[groupKey]*group{}, map[string]map[string]int{}
	note := func(criterion, reason string) {
		if unanswered[criterion] == nil {
			unanswered[criterion] = map[string]int{}
		}
		unanswered[criterion][reason]++
	}
	for _, c := range a.cases {
		for criterion, id := range a.labelledIDs(c) {
			place := map[*group]int{} // of this case in the groups
			for repeat := range a.repeats {
				answer := a.answers[answerKey{id, uint16(repeat)}]
				if answer.Probability == nil {
					if repeat == 0 {
						note(criterion, cmp.Or(answer.Reason, answer.Outcome, "not asked"))
					}
					continue
				}
				k := groupKey{criterion, answer.CriterionVersion, answer.JudgeConfig, answer.Backend, answer.JudgeModel, answer.Method, answer.Threshold}
				g := byKey[k]
				if g == nil {
					g = &group{key: k, text: answer.CriterionText}
					byKey[k] = g
				}
				at, ok := place[g]
				if !ok {
					at = len(g.cases)
					place[g] = at
					g.cases = append(g.cases, quality.Labelled{P: *answer.Probability, Pass: c.human[criterion]})
					g.answers = append(g.answers, nil)
				}
				g.answers[at] = append(g.answers[at], *answer.Probability)
			}
		}
	}
	groups = slices.SortedFunc(maps.Values(byKey), func(x, y *group) int { return x.key.compare(y.key) })
	return groups, unanswered
}

func printReport(w io.Writer, g *group, r quality.Report, problem string) {
	k := g.key
	fmt.Fprintf(w, "\ncriterion %s: %s\n  version %s, judge %s, model %s, method %s, configuration %s\n",
		k.criterion, oneLine(g.text), k.version, k.backend, orNone(k.model), k.method, k.config)
	fmt.Fprintf(w, "  %d cases, %d of them pass: base rate %v; a judge that always says pass has accuracy %v, one that always says fail %v\n", r.N, r.Passes, r.BaseRate, r.AlwaysPass, 1-r.AlwaysPass)
	fmt.Fprintf(w, "  at threshold %.2f       value  95 %% interval\n", r.Threshold)
	for _, line := range []struct {
		name  string
		value quality.Figure
		in    quality.Interval
	}{
		{"accuracy", r.Accuracy, r.Intervals.Accuracy},
		{"balanced accuracy", r.BalancedAccuracy, r.Intervals.BalancedAccuracy},
		{"failure recall", r.FailureRecall, r.Intervals.FailureRecall},
		{"kappa", r.Kappa, r.Intervals.Kappa},
		{"Brier", r.Brier, r.Intervals.Brier},
		{"ECE", r.ECE, r.Intervals.ECE},
		{"ROC AUC", r.AUC, r.Intervals.AUC},
	} {
		fmt.Fprintf(w, "    %-20s %6v  %v to %v\n", line.name, line.value, line.in.Low, line.in.High)
	}
	if in := r.Intervals.AUC; in.Low.Defined() && in.Low <= 0.5 {
		fmt.Fprintln(w, "  not shown to be better than chance: the interval of ROC AUC reaches down to 0.5; do not rely on this judge for this criterion")
	}
	fmt.Fprintf(w, "  reliability      n  mean p  pass rate\n")
	for _, b := range r.Bins {
		if b.N > 0 {
			fmt.Fprintf(w, "    %.1f to %.1f %6d  %6v  %9v\n", b.Low, b.High, b.N, b.MeanP, b.PassRate)
		}
	}
	fmt.Fprintf(w, "  threshold  pass rate  accuracy  balanced  failure recall  failure precision  kappa\n")
	for _, p := range r.Points {
		fmt.Fprintf(w, "    %.2f     %9v %9v %9v %15v %18v %6v\n", p.Threshold, p.PassRate, p.Accuracy, p.BalancedAccuracy, p.FailureRecall, p.FailurePrecision, p.Kappa)
	}
	if r.Suggested.Defined() {
		fmt.Fprintf(w, "  suggested threshold %.2f, where balanced accuracy is highest on these cases\n", float64(r.Suggested))
	} else {
		fmt.Fprintln(w, "  no threshold from 0.30 to 0.90 does better than chance")
	}
	if r.Repeats.Cases > 0 {
		fmt.Fprintf(w, "  asked again (%d cases): SD of the probability %v, same verdict each time in %v\n", r.Repeats.Cases, r.Repeats.SD, r.Repeats.VerdictAgreement)
	}
	printFit(w, g, r.Fit, problem)
}

func printFit(w io.Writer, g *group, fit *quality.Fit, problem string) {
	switch {
	case problem != "":
		fmt.Fprintf(w, "  no calibration: %s\n", problem)
	case fit != nil:
		o := fit.OutOfFold
		fmt.Fprintf(w, "  Platt calibration, out of fold: Brier %v, ECE %v, accuracy %v, balanced accuracy %v, failure recall %v at threshold %.2f\n",
			o.Brier, o.ECE, o.Accuracy, o.BalancedAccuracy, o.FailureRecall, fit.Threshold)
		fmt.Fprintf(w, "  to use it, write under the criterion, and use_calibrated: true under the rubric:\n    calibration: {slope: %.6g, intercept: %.6g, judge_config: %s}\n",
			fit.Slope, fit.Intercept, g.key.config)
	}
}

func printUnanswered(w io.Writer, unanswered map[string]map[string]int) {
	for _, criterion := range sortedNames(unanswered) {
		var parts []string
		for _, reason := range sortedNames(unanswered[criterion]) {
			parts = append(parts, fmt.Sprintf("%d %s", unanswered[criterion][reason], reason))
		}
		fmt.Fprintf(w, "\ncriterion %s: not in any figure above: %s\n", criterion, strings.Join(parts, ", "))
	}
}

// noteOtherVersions says where labels are about another wording of a criterion
// than the rubric has: the report is then not about the rubric's.
func noteOtherVersions(w io.Writer, a *asking, rubric judge.Rubric) {
	own, err := a.judge.Asked(a.rubric, judge.Unit{Inference: record.Inference{ID: "any"}})
	if err != nil {
		return
	}
	noted := map[string]bool{}
	for _, c := range a.cases {
		asked, err := a.judge.Asked(a.rubric, c.unit)
		if err != nil || len(c.unit.Criteria) == 0 {
			continue
		}
		for _, q := range asked {
			same := slices.ContainsFunc(own, func(o judge.Asked) bool { return o.Criterion == q.Criterion && o.Version == q.Version })
			if slices.Contains(rubric.CriterionNames(), q.Criterion) && !same && !noted[q.Criterion] {
				noted[q.Criterion] = true
				fmt.Fprintf(w, "\nnote: the file's criterion %s differs from the rubric's; the figures are about the file's\n", q.Criterion)
			}
		}
	}
}
