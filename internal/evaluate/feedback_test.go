package evaluate_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/evaluate"
	"docket/internal/record"
	"docket/internal/sampling"
)

// complaints is a rule about thumbs down.
func complaints() sampling.Rule {
	r := rule(1)
	r.Name, r.Match.Feedback = "complaints", &sampling.Feedback{Labels: []string{"down"}}
	return r
}

// complaint is the candidate that feedback makes of reply n.
func complaint(n int, label string, feedback string) record.Candidate {
	return evaluate.FeedbackCandidate(reply(n), record.Feedback{ID: feedback, Label: label})
}

// chosen is how a verdict came to be.
type chosen struct {
	Rule, Stratum string
	P             float64
}

func (f *fakeStore) chosen() map[string]chosen {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]chosen{}
	for _, v := range f.verdicts {
		out[v.InferenceID] = chosen{v.Rule, v.Stratum, v.InclusionP}
	}
	return out
}

func (f *fakeStore) counted() map[string]uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.epochs)
}

func TestLateFeedbackMakesANewCandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(0.5), complaints())
		for n := range 4 { // 1 and 3 are sampled
			store.insert(time.Now(), reply(n))
		}
		time.Sleep(20 * time.Second)
		store.insert(time.Now(), complaint(0, "down", "f1"))
		store.insert(time.Now(), complaint(1, "down", "f2"))
		store.insert(time.Now(), complaint(2, "up", "f3"))
		time.Sleep(20 * time.Second)
		// More feedback on the same inferences, a changed mind among it.
		store.insert(time.Now(), complaint(0, "down", "f4"))
		store.insert(time.Now(), complaint(1, "up", "f2"))
		time.Sleep(time.Second)
		store.insert(time.Now(), complaint(1, "down", "f2"))
		time.Sleep(20 * time.Second)
		stop()

		want := map[string]chosen{
			id(0): {"complaints", "feedback", 1}, // not sampled before
			id(1): {"complaints", "feedback", 1}, // judged before: not again, but it now stands for itself alone
			id(3): {"all", "ok", 0.5},
		}
		if diff := cmp.Diff(want, store.chosen()); diff != "" {
			t.Errorf("how they were chosen (-want +got):\n%s", diff)
		}
		if most := judge.most(); most != 1 {
			t.Errorf("an inference was judged %d times", most)
		}
		epochs := map[string]uint64{"all/ok/sampled": 2, "all/ok/not_sampled": 2, "complaints/feedback/sampled": 2}
		if diff := cmp.Diff(epochs, store.counted()); diff != "" {
			t.Errorf("epochs (-want +got):\n%s", diff)
		}
	})
}

// A restart between and after, and both shards: nothing is counted or judged
// twice.
func TestFeedbackOverRestartsAndShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		run := func(shards string) {
			config := evaluate.DefaultConfig()
			config.Shards = shards
			stop := start(t, config, store, judge, rule(0.5), complaints())
			time.Sleep(20 * time.Second)
			stop()
		}
		for n := range 8 {
			store.insert(time.Now(), reply(n))
		}
		run("1/2")
		run("2/2")
		for n := range 4 {
			store.insert(time.Now(), complaint(n, "down", fmt.Sprint("f", n)))
		}
		for range 2 {
			run("1/2")
			run("2/2")
		}
		if diff := cmp.Diff(ids(0, 1, 2, 3, 5, 7), store.judged()); diff != "" {
			t.Errorf("judged (-want +got):\n%s", diff)
		}
		if most := judge.most(); most != 1 {
			t.Errorf("an inference was judged %d times", most)
		}
		epochs := map[string]uint64{"all/ok/sampled": 4, "all/ok/not_sampled": 4, "complaints/feedback/sampled": 4}
		if diff := cmp.Diff(epochs, store.counted()); diff != "" {
			t.Errorf("epochs (-want +got):\n%s", diff)
		}
	})
}

// Feedback that comes while the inference is being judged waits for the verdict.
func TestFeedbackDuringJudging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		judge.slow = time.Minute
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(0.5), complaints())
		store.insert(time.Now(), reply(1))
		time.Sleep(10 * time.Second)
		store.insert(time.Now(), complaint(1, "down", "f1"))
		time.Sleep(2 * time.Minute)
		stop()
		if most := judge.most(); most != 1 {
			t.Errorf("it was judged %d times", most)
		}
		if diff := cmp.Diff(map[string]chosen{id(1): {"complaints", "feedback", 1}}, store.chosen()); diff != "" {
			t.Errorf("how it was chosen (-want +got):\n%s", diff)
		}
	})
}

// What a rule about feedback matches and does not draw counts for less, too,
// when another rule drew it.
func TestFeedbackRuleThatDrawsByConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		some := complaints()
		some.Rate, some.Unit = 1e-12, sampling.UnitConversation
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(0.5), some)
		for n := range 2 {
			c := reply(n)
			c.ConversationID = "c"
			store.insert(time.Now(), c)
			time.Sleep(10 * time.Second)
			with := evaluate.FeedbackCandidate(c, record.Feedback{ID: fmt.Sprint(n), Label: "down"})
			store.insert(time.Now(), with)
		}
		time.Sleep(20 * time.Second)
		stop()
		got := store.chosen()
		if len(got) != 1 || got[id(1)].P <= 0.5 || got[id(1)].P > 0.5+1e-11 {
			t.Errorf("how they were chosen: %v", got)
		}
	})
}

// The hourly sums of hours that the store does not refresh by itself.
func TestLateVerdictsRefreshTheirHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(1))
		old := time.Now().Add(-100 * time.Hour)
		for n, at := range []time.Time{old, old, time.Now()} {
			c := reply(n)
			c.Time = at
			store.insert(time.Now(), c)
		}
		time.Sleep(20 * time.Second)
		stop()
		if diff := cmp.Diff([]time.Time{old.UTC().Truncate(time.Hour)}, store.refreshed); diff != "" {
			t.Errorf("hours (-want +got):\n%s", diff)
		}
	})
}

// fakeLinks is a store of feedback whose inferences appear one by one.
type fakeLinks struct {
	mu     sync.Mutex
	rows   []record.Feedback
	known  map[string]string // inference by what was given
	asked  int
	linked []string
}

func (f *fakeLinks) Feedback(_ context.Context, filter record.FeedbackFilter) ([]record.Feedback, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []record.Feedback
	for _, r := range f.rows {
		if r.Linked == *filter.Linked && !r.Time.Before(filter.Since) {
			out = append(out, r)
		}
	}
	return out, nil
}

func (f *fakeLinks) FeedbackTarget(_ context.Context, r record.Feedback) (record.Inference, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if id, ok := f.known[r.InferenceID+r.ResponseID+r.TraceID]; ok {
		return record.Inference{ID: id, Project: "p"}, nil
	}
	return record.Inference{}, fmt.Errorf("no: %w", record.ErrNotFound)
}

func (f *fakeLinks) LinkFeedback(_ context.Context, r record.Feedback) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.linked = append(f.linked, r.ID+" "+r.Project+" "+r.InferenceID)
	for i := range f.rows {
		if f.rows[i].ID == r.ID {
			f.rows[i].Linked = true
		}
	}
	return nil
}

func (f *fakeLinks) done() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.linked)
}

func TestLinkerWaitsForInferences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		links := &fakeLinks{known: map[string]string{"i1": "i1"}, rows: []record.Feedback{
			{ID: "a", Time: now, InferenceID: "i1"},
			{ID: "b", Time: now, ResponseID: "r"},
			{ID: "c", Time: now, TraceID: "t"},
			{ID: "old", Time: now.Add(-8 * 24 * time.Hour), InferenceID: "i1"},
		}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- (&evaluate.Linker{Store: links, Poll: time.Second, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
		}()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("ended with %v", err)
			}
		}()
		synctest.Wait()
		if diff := cmp.Diff([]string{"a p i1"}, links.done()); diff != "" {
			t.Errorf("at once (-want +got):\n%s", diff)
		}
		links.mu.Lock()
		links.known["t"], links.known["r"] = "i2", "i3"
		links.mu.Unlock()
		time.Sleep(5 * time.Second)
		if diff := cmp.Diff([]string{"a p i1", "b p i3"}, links.done()); diff != "" {
			t.Errorf("when the answer is there (-want +got):\n%s", diff)
		}
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff([]string{"a p i1", "b p i3", "c p i2"}, links.done()); diff != "" {
			t.Errorf("when the trace can be whole (-want +got):\n%s", diff)
		}
	})
}

// What never comes is asked for less and less.
func TestLinkerLooksLessOftenForOldFeedback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		links := &fakeLinks{rows: []record.Feedback{{ID: "a", Time: time.Now(), InferenceID: "never"}}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- (&evaluate.Linker{Store: links, Poll: time.Second, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
		}()
		time.Sleep(24 * time.Hour)
		cancel()
		<-done
		if links.asked < 100 || links.asked > 300 {
			t.Errorf("asked %d times in a day", links.asked)
		}
	})
}
