package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"docket/internal/judge"
	"docket/internal/record"
	"docket/internal/store"
)

// answerKey is one answer: to one criterion of one case, the nth time.
type answerKey struct {
	verdict string
	repeat  uint16
}

// asking collects answers about labelled cases: those that are stored, then those
// of the judge, which are stored as they come, so that a run that was stopped
// goes on where it was.
type asking struct {
	judge       *judge.Judge
	rubric      string
	store       *store.Store // nil: nothing is stored
	cases       []labelledCase
	repeats     int
	concurrency int
	stdout      io.Writer

	mu      sync.Mutex // guards what follows
	answers map[answerKey]record.CalibrationAnswer
	pending []record.CalibrationAnswer
	failed  error // of the store
}

// job is one case that is to be judged, the nth time.
type job struct {
	labelled int
	repeat   uint16
}

const flushAnswers = 50

// run asks everything that is not answered yet. What was answered is in answers
// and in the store also when it returns an error.
func (a *asking) run(ctx context.Context) error {
	a.answers = map[answerKey]record.CalibrationAnswer{}
	if err := a.recall(ctx); err != nil {
		return err
	}
	var jobs []job
	for repeat := range a.repeats {
		for i := range a.cases {
			if !a.answered(a.cases[i], uint16(repeat)) {
				jobs = append(jobs, job{i, uint16(repeat)})
			}
		}
	}
	bar := newProgress(a.stdout, len(jobs), a.repeats*len(a.cases)-len(jobs))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := judgeUnits(ctx, a.concurrency, len(jobs), func(i int) {
		c := a.cases[jobs[i].labelled]
		r := a.judge.Judge(ctx, a.rubric, c.unit)
		if ctx.Err() != nil {
			return // what it says is about being stopped
		}
		if err := a.keep(ctx, c, jobs[i].repeat, r.Verdicts); err != nil {
			stop(err)
		}
		bar.step()
	})
	bar.end()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if flushed := a.flush(grace); flushed != nil {
		return flushed
	}
	if err != nil {
		return fmt.Errorf("stopped with %d of %d cases to go; the same command goes on from here: %w", len(jobs)-bar.done, len(jobs), context.Cause(ctx))
	}
	return nil
}

// recall reads what was answered before. Verdicts of the same criterion version
// and judge configuration on live traffic count as the first answer.
func (a *asking) recall(ctx context.Context) error {
	if a.store == nil {
		return nil
	}
	var ids, inferences []string
	names := map[string]string{} // case by verdict id
	for _, c := range a.cases {
		for _, id := range a.judge.VerdictIDs(a.rubric, c.unit) {
			ids = append(ids, id)
			names[id] = c.name
		}
		inferences = append(inferences, c.unit.Inference.ID)
	}
	verdicts, err := a.store.AllVerdicts(ctx, record.VerdictFilter{InferenceIDs: inferences, Rubric: a.rubric})
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		if name, ok := names[v.ID]; ok {
			a.answers[answerKey{v.ID, 0}] = answerOf(v, name, 0)
		}
	}
	stored, err := a.store.CalibrationAnswers(ctx, ids)
	if err != nil {
		return err
	}
	for _, s := range stored {
		if k := (answerKey{s.VerdictID, s.Repeat}); !usable(a.answers[k]) {
			a.answers[k] = s
		}
	}
	return nil
}

// usable says that there is no use in asking again.
func usable(a record.CalibrationAnswer) bool {
	return a.Probability != nil || a.Outcome == record.OutcomeNotApplicable
}

// answered says that each labelled criterion of the case has an answer.
func (a *asking) answered(c labelledCase, repeat uint16) bool {
	for _, id := range a.labelledIDs(c) {
		if !usable(a.answers[answerKey{id, repeat}]) {
			return false
		}
	}
	return true
}

// labelledIDs are the verdict ids of the criteria that people labelled.
func (a *asking) labelledIDs(c labelledCase) map[string]string {
	out := map[string]string{}
	asked, err := a.judge.Asked(a.rubric, c.unit)
	if err != nil {
		return out
	}
	for i, id := range a.judge.VerdictIDs(a.rubric, c.unit) {
		if _, ok := c.human[asked[i].Criterion]; ok {
			out[asked[i].Criterion] = id
		}
	}
	return out
}

func (a *asking) keep(ctx context.Context, c labelledCase, repeat uint16, verdicts []record.Verdict) error {
	a.mu.Lock()
	for _, v := range verdicts {
		answer := answerOf(v, c.name, repeat)
		a.answers[answerKey{v.ID, repeat}] = answer
		a.pending = append(a.pending, answer)
	}
	full := len(a.pending) >= flushAnswers
	a.mu.Unlock()
	if !full {
		return nil
	}
	return a.flush(ctx)
}

func (a *asking) flush(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.store == nil || len(a.pending) == 0 || a.failed != nil {
		return a.failed
	}
	a.failed = a.store.WriteCalibrationAnswers(ctx, a.pending)
	a.pending = nil
	return a.failed
}

func answerOf(v record.Verdict, name string, repeat uint16) record.CalibrationAnswer {
	return record.CalibrationAnswer{
		VerdictID: v.ID, Repeat: repeat, Time: v.JudgedAt, CaseID: name, Rubric: v.Rubric, Criterion: v.Criterion,
		CriterionVersion: v.CriterionVersion, CriterionText: v.CriterionText, JudgeConfig: v.JudgeConfig, Backend: v.Backend,
		JudgeModel: v.JudgeModel, Method: v.Method, Outcome: v.Outcome, Reason: v.Reason, Detail: v.Detail,
		Probability: v.Probability, Threshold: v.Threshold,
	}
}

// progress shows how far a long run is: a bar that is drawn over on a terminal,
// a line every tenth of the way elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
	total    int
	started  time.Time

	mu   sync.Mutex // guards what follows
	done int
	last time.Time
}

func newProgress(w io.Writer, total, known int) *progress {
	p := &progress{w: w, total: total, started: time.Now()}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	fmt.Fprintf(w, "%d answers are there already, %d to ask for\n", known, total)
	return p
}

func (p *progress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	now := time.Now()
	left := time.Duration(float64(now.Sub(p.started)) / float64(p.done) * float64(p.total-p.done)).Round(time.Second)
	switch {
	case p.terminal && (now.Sub(p.last) > 200*time.Millisecond || p.done == p.total):
		const width = 30
		bar := make([]byte, width)
		for i := range bar {
			bar[i] = '.'
			if i*p.total < p.done*width {
				bar[i] = '#'
			}
		}
		fmt.Fprintf(p.w, "\r[%s] %d/%d, %v left   ", bar, p.done, p.total, left)
		p.last = now
	case !p.terminal && p.done*10/p.total > (p.done-1)*10/p.total:
		fmt.Fprintf(p.w, "judged %d/%d, %v left\n", p.done, p.total, left)
	}
}

func (p *progress) end() {
	if p.terminal && p.total > 0 {
		fmt.Fprintln(p.w)
	}
}
