package judge

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"docket/internal/record"
)

// Options is what a Judge is given by the program. Everything may be left out.
type Options struct {
	Client *http.Client // its transport and cookies; redirects are never followed
	Log    *slog.Logger
	Meter  prometheus.Registerer // nil registers no metrics

	// Spent says what a rubric has used since the start of a day, so that
	// ceilings hold over restarts. nil counts from the start of the program. An
	// error counts as a ceiling that is reached.
	Spent func(ctx context.Context, rubric string, since time.Time) (calls int, nanoUSD uint64, err error)

	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error // between attempts
	Random func() float64                             // from 0 to 1, for waits
	NewID  func() string                              // UUIDs of runs, calls and spans
}

func (o Options) withDefaults() Options {
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	} else {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64
		client.Transport = t
	}
	// A redirect would carry judged content to an address that nobody chose.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.Client = &client
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = realSleep
	}
	if o.Random == nil {
		o.Random = realRandom
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return o
}

// Judge asks the configured judges. It is made once, shared, and safe for
// concurrent use.
type Judge struct {
	config  Config
	options Options
	rubrics map[string]*prepared
	members map[string]*member
	cache   *cache
	budget  *budget
	meter   *meter
}

// prepared is a checked rubric with its judges.
type prepared struct {
	name    string
	rubric  Rubric
	version string
	chain   []*member         // the rubric's judge, then its fallbacks
	configs map[string]string // hash of how each of them is asked
	reasons *member           // nil when no sentences are asked for
}

// Result is what came of judging one unit by one rubric.
type Result struct {
	RunID    string
	Outcome  string   // of the rubric: one of record.Outcome*
	Reason   string   // of the first inconclusive criterion
	Detail   string   // in words
	Score    *float64 // weighted mean of the probabilities, nil when one is missing
	Calls    []record.JudgeCall
	Verdicts []record.Verdict // one per criterion, in their order
	Spans    []record.Span    // the judge's own trace
}

// New checks the settings and rubrics and builds the judges. It asks nobody.
func New(cfg Config, rubrics map[string]Rubric, o Options) (*Judge, error) {
	o = o.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("judge.%w", err)
	}
	j := &Judge{config: cfg, options: o, rubrics: map[string]*prepared{}}
	var err error
	if j.members, err = newMembers(cfg, o); err != nil {
		return nil, fmt.Errorf("judge.%w", err)
	}
	j.cache = newCache(cfg.CacheWindow, cfg.CacheEntries, o.Now)
	j.budget = newBudget(o)
	if j.meter, err = newMeter(o.Meter); err != nil {
		return nil, fmt.Errorf("judge metrics: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(rubrics)) {
		if err := rubrics[name].Validate(cfg); err != nil {
			return nil, fmt.Errorf("rubrics.%s.%w", name, err)
		}
		p, err := j.prepare(name, rubrics[name])
		if err != nil {
			return nil, fmt.Errorf("rubrics.%s.%w", name, err)
		}
		j.rubrics[name] = p
	}
	j.announce()
	return j, nil
}

func (j *Judge) prepare(name string, r Rubric) (*prepared, error) {
	first, err := r.backendName(j.config)
	if err != nil {
		return nil, err
	}
	r = r.withDefaults()
	p := &prepared{name: name, rubric: r, configs: map[string]string{}}
	for _, b := range append([]string{first}, r.Fallbacks...) {
		p.chain = append(p.chain, j.members[b])
	}
	for _, m := range append(p.chain, j.members[ruleName]) {
		p.configs[m.name] = p.configOf(m)
	}
	if r.Reasons == ReasonsOnFail {
		p.reasons = j.members[r.reasonsBackend(first)]
	}
	p.version = rubricVersion(r)
	return p, p.checkCalibrations()
}

// announce says at the start what verdicts rest on.
func (j *Judge) announce() {
	for _, name := range slices.Sorted(maps.Keys(j.rubrics)) {
		p := j.rubrics[name]
		text := "rubric is ready"
		if slices.ContainsFunc(p.rubric.Criteria, func(c Criterion) bool { return c.Check == nil }) {
			text += "; before relying on it, check each criterion on a few known cases with: evaluator calibrate"
		}
		j.options.Log.Info(text, "rubric", name, "criteria", len(p.rubric.Criteria), "backend", p.chain[0].name, "version", p.version)
		for _, w := range append(p.rubric.Warnings(), p.staleCalibrations()...) {
			j.options.Log.Warn(w, "rubric", name)
		}
	}
}

// Rubrics lists the rubrics there are.
func (j *Judge) Rubrics() []string { return slices.Sorted(maps.Keys(j.rubrics)) }

// CheckCriteria checks criteria that a file of cases brings for a rubric.
func (j *Judge) CheckCriteria(rubric string, criteria []Criterion) error {
	p, ok := j.rubrics[rubric]
	if !ok {
		return fmt.Errorf("rubric %q: want one of %s", rubric, strings.Join(j.Rubrics(), ", "))
	}
	return p.rubric.validateCriteria(criteria)
}

// VerdictIDs returns the ids of the verdicts that judging the unit would give,
// in the order of the criteria: what is stored under them is already judged.
func (j *Judge) VerdictIDs(rubric string, u Unit) []string {
	p, ok := j.rubrics[rubric]
	if !ok {
		return nil
	}
	var out []string
	for _, c := range p.criteria(u) {
		out = append(out, verdictID(p.name, u, c, p.judgeConfig(p.memberOf(c), c)))
	}
	return out
}

// criteria are those of the rubric, unless a file of cases brought its own.
func (p *prepared) criteria(u Unit) []Criterion {
	if len(u.Criteria) > 0 {
		return p.rubric.fill(u.Criteria)
	}
	return p.rubric.Criteria
}

// memberOf is the judge that a criterion belongs to, nil for one with a check.
func (p *prepared) memberOf(c Criterion) *member {
	if c.Check != nil {
		return nil
	}
	return p.chain[0]
}

// Judge judges the unit by the rubric's criteria. It always returns a verdict
// for each criterion: a failure to judge is an inconclusive verdict with its
// reason, never an error and never a number.
func (j *Judge) Judge(ctx context.Context, rubric string, u Unit) Result {
	p, ok := j.rubrics[rubric]
	if !ok {
		return Result{Outcome: record.OutcomeInconclusive, Reason: record.ReasonJudgeError, Detail: fmt.Sprintf("no rubric is called %q", rubric)}
	}
	r := newRun(j, p, &u)
	if err := p.rubric.validateCriteria(r.criteria()); err != nil {
		r.failAll(record.ReasonJudgeError, err.Error())
		return r.result()
	}
	switch {
	case u.Problem != "":
		r.failAll(u.Problem, problemText(u.Problem))
	default:
		r.ask(ctx)
	}
	r.decide()
	if p.reasons != nil {
		r.explainFailures(ctx)
	}
	return r.result()
}

func problemText(reason string) string {
	switch reason {
	case record.ReasonEmptyReply:
		return "the reply has no text, no refusal and no tool call"
	case record.ReasonNotCaptured:
		return "the request or the reply was not recorded"
	}
	return reason
}
