package evaluate_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"docket/internal/judge"
	"docket/internal/record"
)

// refusedError is what the store says of rows that it never takes.
type refusedError struct{}

func (refusedError) Error() string { return "refused" }
func (refusedError) Refused() bool { return true }

var errDown = errors.New("connection refused")

// fakeStore keeps candidates and verdicts in memory.
type fakeStore struct {
	mu         sync.Mutex
	candidates []record.Candidate
	bodies     map[string]record.Body
	verdicts   map[string]record.Verdict
	calls      []record.JudgeCall
	epochs     map[string]uint64 // rule/stratum/reason
	cursors    map[string]record.Cursor
	down       bool
	poison     string // an inference whose verdicts are refused
	writes     int
	rereads    int
	refreshed  []time.Time
}

func newFakeStore() *fakeStore {
	return &fakeStore{bodies: map[string]record.Body{}, verdicts: map[string]record.Verdict{}, epochs: map[string]uint64{}, cursors: map[string]record.Cursor{}}
}

// insert adds a captured reply that becomes visible now and was inserted at t.
func (f *fakeStore) insert(t time.Time, c record.Candidate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.InsertedAt = t
	f.candidates = append(f.candidates, c)
	slices.SortFunc(f.candidates, func(a, b record.Candidate) int {
		return cmp.Or(a.InsertedAt.Compare(b.InsertedAt), cmp.Compare(a.InferenceID, b.InferenceID))
	})
}

func (f *fakeStore) set(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

func (f *fakeStore) state() error {
	if f.down {
		return errDown
	}
	return nil
}

func (f *fakeStore) Now(context.Context) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now(), f.state()
}

func (f *fakeStore) Candidates(_ context.Context, q record.CandidateQuery) ([]record.Candidate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []record.Candidate
	for _, c := range f.candidates {
		after := c.InsertedAt.After(q.After) || c.InsertedAt.Equal(q.After) && c.InferenceID > q.AfterID
		if after && !c.InsertedAt.After(q.Until) && len(out) < q.Limit && (q.Shards == nil || slices.Contains(q.Shards, c.Shard)) {
			out = append(out, c)
		}
	}
	f.rereads += len(out)
	return out, f.state()
}

func (f *fakeStore) InferencesByID(_ context.Context, ids []string) (map[string]record.Inference, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]record.Inference{}
	for _, id := range ids {
		out[id] = record.Inference{ID: id, Complete: true}
	}
	for _, c := range f.candidates {
		if inf, ok := out[c.InferenceID]; ok {
			inf.Time = c.Time
			out[c.InferenceID] = inf
		}
	}
	return out, f.state()
}

func (f *fakeStore) InferenceBodies(context.Context, []string) (map[string]record.Body, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bodies, f.state()
}

func (f *fakeStore) JudgedIDs(_ context.Context, ids []string) (map[string]bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]bool{}
	for _, id := range ids {
		if _, ok := f.verdicts[id]; ok {
			out[id] = true
		}
	}
	return out, f.state()
}

func (f *fakeStore) WriteVerdicts(_ context.Context, calls []record.JudgeCall, verdicts []record.Verdict) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	if f.down {
		return errDown
	}
	for _, v := range verdicts {
		if v.InferenceID == f.poison {
			return refusedError{}
		}
	}
	f.calls = append(f.calls, calls...)
	for _, v := range verdicts {
		f.verdicts[v.ID] = v
	}
	return nil
}

func (f *fakeStore) WriteSpans(context.Context, string, []record.Span) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state()
}

func (f *fakeStore) WriteEpochs(_ context.Context, rows []record.Epoch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return errDown
	}
	for _, r := range rows {
		f.epochs[r.Rule+"/"+r.Stratum+"/"+r.Reason] += r.Count
	}
	return nil
}

func (f *fakeStore) SaveCursors(_ context.Context, names []string, at record.Cursor) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return errDown
	}
	for _, name := range names {
		f.cursors[name] = at
	}
	return nil
}

func (f *fakeStore) LoadCursors(context.Context, []string) (map[string]record.Cursor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.cursors), f.state()
}

func (f *fakeStore) FeedbackCandidates(_ context.Context, ids []string) ([]record.Candidate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []record.Candidate
	for _, c := range f.candidates {
		if c.HasFeedback() && slices.Contains(ids, c.InferenceID) {
			out = append(out, c)
		}
	}
	return out, f.state()
}

func (f *fakeStore) Verdicts(_ context.Context, filter record.VerdictFilter) ([]record.Verdict, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []record.Verdict
	for _, v := range f.verdicts {
		if slices.Contains(filter.InferenceIDs, v.InferenceID) && v.Rubric == filter.Rubric {
			out = append(out, v)
		}
	}
	return out, f.state()
}

func (f *fakeStore) RefreshQuality(_ context.Context, since, _ time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refreshed = append(f.refreshed, since)
	return f.state()
}

// judged lists the inferences that have a verdict.
func (f *fakeStore) judged() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, v := range f.verdicts {
		out = append(out, v.InferenceID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fakeJudge passes everything, and counts.
type fakeJudge struct {
	mu    sync.Mutex
	asked map[string]int
	units []judge.Unit
	hang  bool // until the context ends
	slow  time.Duration
	fails bool // answers with an inconclusive verdict
}

func newFakeJudge() *fakeJudge { return &fakeJudge{asked: map[string]int{}} }

func (f *fakeJudge) VerdictIDs(rubric string, u judge.Unit) []string {
	return []string{rubric + "/" + u.Inference.ID + "/0", rubric + "/" + u.Inference.ID + "/1"}
}

func (f *fakeJudge) Judge(ctx context.Context, rubric string, u judge.Unit) judge.Result {
	f.mu.Lock()
	f.asked[u.Inference.ID]++
	f.units = append(f.units, u)
	hang, fails, slow := f.hang, f.fails, f.slow
	f.mu.Unlock()
	if slow > 0 {
		time.Sleep(slow)
	}
	if hang {
		<-ctx.Done()
	}
	var r judge.Result
	for i, id := range f.VerdictIDs(rubric, u) {
		v := record.Verdict{
			ID: id, Time: u.Inference.Time, InferenceID: u.Inference.ID, Rubric: rubric, Criterion: fmt.Sprint("c", i), Outcome: record.OutcomePass,
			Rule: u.Rule, Stratum: u.Stratum, InclusionP: u.InclusionP, Origin: u.Origin,
		}
		if fails {
			v.Outcome, v.Reason = record.OutcomeInconclusive, record.ReasonJudgeError
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	return r
}

// most is how often the inference that was asked about most often was.
func (f *fakeJudge) most() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := 0
	for _, n := range f.asked {
		most = max(most, n)
	}
	return most
}
