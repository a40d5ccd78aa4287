package evaluate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"docket/internal/judge"
	"docket/internal/record"
	"docket/internal/sampling"
)

// Store is what the loop reads from and writes to. Methods are safe for
// concurrent use.
type Store interface {
	// Now is the store's clock, the one that sets Candidate.InsertedAt.
	Now(ctx context.Context) (time.Time, error)
	// Candidates returns candidates in the order of insertion.
	Candidates(ctx context.Context, q record.CandidateQuery) ([]record.Candidate, error)
	// InferencesByID returns those that exist.
	InferencesByID(ctx context.Context, ids []string) (map[string]record.Inference, error)
	// InferenceBodies returns those that are still kept.
	InferenceBodies(ctx context.Context, ids []string) (map[string]record.Body, error)
	// JudgedIDs says which of these verdicts exist.
	JudgedIDs(ctx context.Context, verdictIDs []string) (map[string]bool, error)
	// WriteVerdicts may be called again with the same rows.
	WriteVerdicts(ctx context.Context, calls []record.JudgeCall, verdicts []record.Verdict) error
	WriteSpans(ctx context.Context, token string, spans []record.Span) error
	WriteEpochs(ctx context.Context, rows []record.Epoch) error
	// FeedbackCandidates returns the candidates that feedback made of these
	// inferences.
	FeedbackCandidates(ctx context.Context, inferenceIDs []string) ([]record.Candidate, error)
	// Verdicts returns each verdict once, as it was last written.
	Verdicts(ctx context.Context, f record.VerdictFilter) ([]record.Verdict, error)
	// RefreshQuality computes the hourly sums of verdicts again.
	RefreshQuality(ctx context.Context, since, until time.Time) error
	// SaveCursors notes one place under several names; LoadCursors returns those
	// that are saved.
	SaveCursors(ctx context.Context, names []string, at record.Cursor) error
	LoadCursors(ctx context.Context, names []string) (map[string]record.Cursor, error)
}

// Judge judges units. Methods are safe for concurrent use.
type Judge interface {
	// VerdictIDs are the ids of the verdicts that judging this unit by this
	// rubric gives.
	VerdictIDs(rubric string, unit judge.Unit) []string
	// Judge never fails: what goes wrong is in the verdicts.
	Judge(ctx context.Context, rubric string, unit judge.Unit) judge.Result
}

// Options is what code gives the loop.
type Options struct {
	Store    Store
	Judge    Judge
	Rules    []sampling.Rule
	Instance string // names this evaluator in epochs
	Log      *slog.Logger
	// Verdicts is told of verdicts after they are written; nil for nobody.
	Verdicts func(ctx context.Context, verdicts []record.Verdict)
	// Spans is told of the judge's own spans after they are written; nil for nobody.
	Spans      func(ctx context.Context, spans []record.Span)
	Registerer prometheus.Registerer // nil: no metrics
	Now        func() time.Time      // nil: time.Now
}

// Loop judges what is captured, until it is stopped.
type Loop struct {
	config Config
	opts   Options
	shards []uint8
	epochs *epochs
	flight *flight
	meter  *meter
}

// New checks the configuration and the rules.
func New(config Config, opts Options) (*Loop, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	shards, err := parseShards(config.Shards)
	if err != nil {
		return nil, err
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	m, err := newMeter(opts.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return &Loop{config: config, opts: opts, shards: shards, epochs: newEpochs(opts.Instance), flight: newFlight(), meter: m}, nil
}

// Run judges until ctx ends, and then writes what is judged already. It returns
// nil when it was stopped.
func (l *Loop) Run(ctx context.Context) error {
	done, counted, err := l.loadPlaces(ctx)
	if err != nil {
		return stopped(err)
	}
	t := newTracker(l.first(done))
	reader, writer := l.newReader(t, counted), l.newWriter(t, done, counted) // both read the tracker as it is at the start
	units := make(chan unit)
	results := make(chan result)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(units)
		return reader.run(ctx, units)
	})
	g.Go(func() error {
		defer close(results)
		l.work(ctx, units, results)
		return nil
	})
	g.Go(func() error { return writer.run(ctx, results) })
	return stopped(g.Wait())
}

func stopped(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// unit is one inference that one rule chose.
type unit struct {
	candidate record.Candidate
	rule      sampling.Rule
	decision  sampling.Decision
	inference record.Inference
	body      *record.Body

	raise  bool             // not to be judged: only what is judged already is looked at
	raised []record.Verdict // verdicts that get a higher probability; nothing is judged
}

// result is a judged unit.
type result struct {
	place  place
	key    flightKey
	raised bool // the verdicts are known, only their probability is not
	judge.Result
}

// work judges units, several at the same time, until there are no more. When
// ctx ends, what is being judged is dropped: it is judged after the restart.
func (l *Loop) work(ctx context.Context, units <-chan unit, results chan<- result) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for range l.config.Concurrency {
		wg.Go(func() {
			for u := range units {
				r := l.judge(ctx, u)
				if ctx.Err() != nil {
					continue
				}
				results <- r
			}
		})
	}
}

func (l *Loop) judge(ctx context.Context, u unit) result {
	if len(u.raised) > 0 {
		return result{place: placeOf(u.candidate), key: u.key(), raised: true, Result: judge.Result{Verdicts: u.raised}}
	}
	started := l.opts.Now()
	var body record.Body
	if u.body != nil {
		body = *u.body
	}
	asked, _ := judge.UnitFrom(u.inference, body) // its problem, if any, becomes the reason of the verdicts
	asked.Origin = record.OriginOnline
	asked.Rule, asked.Stratum, asked.InclusionP = u.rule.Name, u.decision.Stratum, u.decision.InclusionP
	r := l.opts.Judge.Judge(ctx, u.rule.Rubric, asked)
	l.meter.judged(l.opts.Now().Sub(started))
	return result{place: placeOf(u.candidate), key: u.key(), Result: r}
}

func placeOf(c record.Candidate) place { return place{c.InsertedAt, c.InferenceID} }
