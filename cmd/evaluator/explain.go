package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"docket/internal/evaluate"
	"docket/internal/judge"
	"docket/internal/record"
	"docket/internal/sampling"
)

// explain says of one inference what was judged, how, and otherwise at which
// gate it stopped.
func explain(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, config := newFlags("explain", stdout)
	dsn := storeFlag(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	rest := flags.Args()
	if len(rest) > 1 { // flags may also stand behind the id
		if err := flags.Parse(rest[1:]); err != nil {
			return err
		}
	}
	if len(rest) == 0 || flags.NArg() > 0 && len(rest) > 1 {
		return errors.New("want the id of one inference")
	}
	id, err := uuid.Parse(rest[0])
	if err != nil {
		return fmt.Errorf("%q is not the id of an inference: %w", rest[0], err)
	}
	s, db, err := loadAndOpen(ctx, *config, *dsn, getenv, stdout)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	d, err := db.Inference(ctx, id.String())
	if errors.Is(err, record.ErrNotFound) {
		fmt.Fprintf(stdout, "not recorded: no inference %s is stored; capture_gaps counts by reason what could not be kept\nstopped at: recorded\n", id)
		return nil
	}
	if err != nil {
		return err
	}
	e := explainer{w: stdout, settings: s, detail: d, now: time.Now()}
	if s.canJudge() {
		if e.judge, err = judge.New(s.judge, s.rubrics, judge.Options{Log: warnings(io.Discard)}); err != nil {
			return err
		}
	}
	e.explain()
	return nil
}

// explainer prints what is known about one inference.
type explainer struct {
	w        io.Writer
	settings *settings
	judge    *judge.Judge // nil when judging is off
	detail   record.InferenceDetail
	now      time.Time
}

func (e *explainer) printf(format string, args ...any) { fmt.Fprintf(e.w, format, args...) }

func (e *explainer) explain() {
	inf := e.detail.Inference
	e.printf("inference %s, %s UTC\n", inf.ID, inf.Time.Format("2006-01-02 15:04:05.000"))
	e.printf("  project %s, operation %s, model %s, %s, status %d, stratum %s, capture %s\n",
		inf.Project, orNone(inf.Operation), orNone(inf.RequestModel), inf.TerminalState, inf.Status, inf.Stratum, inf.CaptureLevel)
	e.printf("  trace %s, span %s\n", inf.TraceID, inf.SpanID)
	e.printf("recorded: yes; bodies: %s\n", either(e.detail.Body != nil, "kept", "not kept, or expired"))
	if off := e.settings.judgingOff(); off != "" {
		e.printf("%s\n", off)
	}
	rubrics := map[string]bool{}
	for _, rule := range e.settings.rules {
		rubrics[rule.Rubric] = true
		e.rule(rule)
	}
	for _, rubric := range e.judgedRubrics() {
		if !rubrics[rubric] {
			e.printf("rubric %s: judged, though no rule in the settings samples for it now\n", rubric)
			e.verdicts(rubric)
		}
	}
	for _, l := range e.detail.Labels {
		e.printf("label: %s says %s of %s%s\n", l.Annotator, l.Label, l.Criterion, behind(": ", l.Comment))
	}
	for _, f := range e.detail.Feedback {
		e.printf("feedback %s: %s%s%s%s\n", f.ID, orNone(f.Label), scored(f.Score), behind(", by ", f.User), behind(": ", f.Comment))
	}
	if len(e.settings.rules) == 0 {
		e.printf("stopped at: judging is on\n")
	}
}

func scored(score *float64) string {
	if score == nil {
		return ""
	}
	return fmt.Sprintf(", score %g", *score)
}

// withFeedback is the candidate that a piece of feedback made: one that the rule
// is about, if there is one.
func withFeedback(c record.Candidate, rule sampling.Rule, list []record.Feedback) record.Candidate {
	for _, f := range list {
		with := evaluate.FeedbackCandidate(c, f)
		if rule.Decide(with).Matched {
			return with
		}
		if !c.HasFeedback() {
			c = with
		}
	}
	return c
}

// rule goes through the gates of one rule.
func (e *explainer) rule(rule sampling.Rule) {
	inf := e.detail.Inference
	c := evaluate.CandidateOf(inf)
	if rule.AboutFeedback() {
		c = withFeedback(c, rule, e.detail.Feedback)
	}
	e.printf("rule %s, rubric %s\n", rule.Name, rule.Rubric)
	if reason := sampling.Eligible(c, rule.Eligibility()); reason != "" {
		e.stopped("eligible", reason+": "+eligibilityText(reason))
		return
	}
	e.printf("  eligible: yes\n")
	d := rule.Decide(c)
	if !d.Matched {
		e.stopped("matched", "a filter of the rule keeps it out: "+rule.Match.Mismatch(c))
		return
	}
	e.printf("  matched: yes\n")
	numbers := fmt.Sprintf("R %014x %s T %014x, inclusion probability %.6g in stratum %s, by the settings of now",
		d.Value, either(d.Sampled, ">=", "<"), d.Threshold, d.InclusionP, d.Stratum)
	judged := slices.Contains(e.judgedRubrics(), rule.Rubric)
	switch {
	case !d.Sampled && !judged:
		e.stopped("sampled", numbers)
		return
	case !d.Sampled:
		e.printf("  sampled: it was, though the settings of now would not: %s\n", numbers)
	default:
		e.printf("  sampled: yes: %s\n", numbers)
	}
	if judged {
		e.verdicts(rule.Rubric)
		return
	}
	e.stopped("judged", e.whyNotJudged())
}

func (e *explainer) stopped(gate, why string) {
	e.printf("  %s: no: %s\n  stopped at: %s\n", gate, why, gate)
}

func (e *explainer) whyNotJudged() string {
	age := e.now.Sub(e.detail.Inference.Time)
	switch {
	case e.settings.judgingOff() != "":
		return "judging is off"
	case age > e.settings.evaluator.MaxAge:
		return fmt.Sprintf("it is older than evaluator.max_age (%v); evaluator backfill judges it", e.settings.evaluator.MaxAge)
	case age < e.settings.evaluator.Settle+e.settings.evaluator.Poll:
		return "it is only just recorded"
	}
	return "it waits; see whether an evaluator is running and takes its shard"
}

func (e *explainer) judgedRubrics() []string {
	var out []string
	for _, v := range e.detail.Verdicts {
		if !slices.Contains(out, v.Rubric) {
			out = append(out, v.Rubric)
		}
	}
	slices.Sort(out)
	return out
}

func eligibilityText(reason string) string {
	switch reason {
	case record.NotGeneration:
		return "it is no chat and no text generation"
	case record.BodyOff:
		return "bodies were not captured, as the client or the route asked"
	case record.BodyCut:
		return "the copy of the request or the reply was cut at capture.max_body"
	case record.Incomplete:
		return "the reply did not arrive whole; judge_partial of the rule lets it in"
	case record.Undecodable:
		return "a body could not be understood"
	case record.DocketJudge:
		return "it is a call of a judge"
	case record.ToolStep:
		return "the reply only calls tools, the turn goes on; judge_tool_steps of the rule lets it in"
	case record.CallFailed:
		return "the call failed, there is no reply to judge"
	}
	return "unknown reason"
}

func either(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

func orNone(s string) string { return either(s == "", "(none)", s) }

// behind puts a separator before a text that is there.
func behind(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}
