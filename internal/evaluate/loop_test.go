package evaluate_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/evaluate"
	"docket/internal/leaktest"
	"docket/internal/record"
	"docket/internal/sampling"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func id(n int) string { return fmt.Sprintf("0197b9a0-0000-7000-8000-%012d", n) }

// reply is a candidate that every rule finds eligible. Every second one has a
// sample value in the upper half.
func reply(n int) record.Candidate {
	return record.Candidate{
		InferenceID: id(n), Time: time.Now(), Project: "p", Stratum: record.StratumOK, Operation: "chat", Complete: true,
		Status: 200, CaptureLevel: record.CaptureFull, TerminalState: record.StateComplete, SampleValue: uint64(n%2) << 55, Shard: uint8(n % 64),
	}
}

func rule(rate float64) sampling.Rule {
	return sampling.Rule{Name: "all", Rubric: "support", Rate: rate, Unit: sampling.UnitInference}
}

// start runs a loop in the background; stop ends it and returns its error.
func start(t *testing.T, config evaluate.Config, store *fakeStore, judge *fakeJudge, rules ...sampling.Rule) (stop func()) {
	t.Helper()
	loop, err := evaluate.New(config, evaluate.Options{Store: store, Judge: judge, Rules: rules, Instance: "e1", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the loop ended with %v", err)
		}
	}
}

func ids(n ...int) []string {
	out := make([]string, len(n))
	for i, v := range n {
		out[i] = id(v)
	}
	return out
}

func TestJudgesWhatTheRulesChoose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(0.5))
		for n := range 6 {
			store.insert(time.Now(), reply(n))
		}
		embedding := reply(7)
		embedding.Operation = "embeddings"
		store.insert(time.Now(), embedding)
		time.Sleep(20 * time.Second)
		stop()

		if diff := cmp.Diff(ids(1, 3, 5), store.judged()); diff != "" {
			t.Errorf("judged (-want +got):\n%s", diff)
		}
		want := map[string]uint64{"all/ok/sampled": 3, "all/ok/not_sampled": 3, "all/ok/not_generation": 1}
		if diff := cmp.Diff(want, store.epochs); diff != "" {
			t.Errorf("epochs (-want +got):\n%s", diff)
		}
		v := store.verdicts["support/"+id(1)+"/0"]
		got := []any{v.Rule, v.Stratum, v.InclusionP, v.Origin}
		if diff := cmp.Diff([]any{"all", "ok", 0.5, record.OriginOnline}, got); diff != "" {
			t.Errorf("how it was chosen (-want +got):\n%s", diff)
		}
	})
}

func TestTwoRulesOfOneRubricJudgeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		some, all := rule(0.25), rule(1)
		some.Name, all.Name = "some", "tagged"
		all.Match.Tags = []string{"vip"}
		stop := start(t, evaluate.DefaultConfig(), store, judge, some, all)
		for n, tags := range [][]string{{"vip"}, nil} {
			c := reply(n)
			c.Tags, c.SampleValue = tags, 1<<56-1 // both rules choose it
			store.insert(time.Now(), c)
		}
		time.Sleep(20 * time.Second)
		stop()
		if got := judge.most(); got != 1 {
			t.Errorf("an inference was judged %d times", got)
		}
		type chosen struct {
			Rule string
			P    float64
		}
		got := map[string]chosen{}
		for _, v := range store.verdicts {
			got[v.InferenceID] = chosen{v.Rule, v.InclusionP}
		}
		want := map[string]chosen{id(0): {"tagged", 1}, id(1): {"some", 0.25}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("how they were chosen (-want +got):\n%s", diff)
		}
	})
}

func TestLateInsertIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(1))
		begun := time.Now()
		time.Sleep(10 * time.Second)
		store.insert(time.Now(), reply(1))
		time.Sleep(10 * time.Second)
		store.insert(begun, reply(2)) // became visible 20 s after its insert began
		time.Sleep(30 * time.Second)
		stop()
		if diff := cmp.Diff(ids(1, 2), store.judged()); diff != "" {
			t.Errorf("judged (-want +got):\n%s", diff)
		}
		if got := judge.most(); got != 1 {
			t.Errorf("an inference was judged %d times", got)
		}
		if got := store.epochs["all/ok/sampled"]; got != 2 {
			t.Errorf("counted %d, want 2", got)
		}
	})
}

func TestRestartLosesNothingAndJudgesNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		for round := range 5 {
			stop := start(t, evaluate.DefaultConfig(), store, judge, rule(1))
			for n := range 300 {
				store.insert(time.Now(), reply(round*1000+n))
				time.Sleep(7 * time.Millisecond)
			}
			stop()
		}
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(1))
		time.Sleep(20 * time.Second)
		stop()
		if got := len(store.judged()); got != 1500 {
			t.Errorf("judged %d inferences, want 1500", got)
		}
		if got := judge.most(); got != 1 {
			t.Errorf("an inference was judged %d times", got)
		}
		if got := store.epochs["all/ok/sampled"]; got != 1500 {
			t.Errorf("counted %d, want 1500", got)
		}
	})
}

// A stop in the middle of a page, and behind one whose units all hang.
func TestStopWhileTheJudgeHangs(t *testing.T) {
	for _, n := range []int{100, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { stopWhileTheJudgeHangs(t, n) }) })
	}
}

func stopWhileTheJudgeHangs(t *testing.T, n int) {
	store, judge := newFakeStore(), newFakeJudge()
	judge.hang = true
	stop := start(t, evaluate.DefaultConfig(), store, judge, rule(1))
	for i := range n {
		store.insert(time.Now(), reply(i))
	}
	time.Sleep(20 * time.Second)
	stop()
	if got := store.judged(); len(got) > 0 {
		t.Errorf("verdicts of calls that were broken off were written: %v", got)
	}
	judge.hang = false
	stop = start(t, evaluate.DefaultConfig(), store, judge, rule(1))
	time.Sleep(20 * time.Second)
	stop()
	if got := len(store.judged()); got != n {
		t.Errorf("judged %d inferences after the restart, want %d", got, n)
	}
	if got := store.epochs["all/ok/sampled"]; got != uint64(n) {
		t.Errorf("counted %d, want %d", got, n)
	}
}

func TestFailingJudgeDoesNotStopTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		judge.fails = true
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(1))
		for n := range 50 {
			store.insert(time.Now(), reply(n))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(20 * time.Second)
		stop()
		if got := len(store.verdicts); got != 100 {
			t.Errorf("%d verdicts, want 100", got)
		}
	})
}

func TestVerdictsThatAreRefusedHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		store.poison = id(7)
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(1))
		for n := range 50 {
			store.insert(time.Now(), reply(n))
		}
		time.Sleep(20 * time.Second)
		for n := range 10 {
			store.insert(time.Now(), reply(100+n))
		}
		time.Sleep(20 * time.Second)
		stop()
		if got := len(store.judged()); got != 59 {
			t.Errorf("%d inferences have verdicts, want 59", got)
		}
		if got := judge.most(); got != 1 {
			t.Errorf("an inference was judged %d times", got)
		}
	})
}

func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		store.set(true)
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(1))
		for n := range 20 {
			store.insert(time.Now(), reply(n))
		}
		time.Sleep(time.Hour)
		store.set(false)
		time.Sleep(2 * time.Minute)
		for n := range 20 {
			store.insert(time.Now(), reply(100+n))
		}
		time.Sleep(3 * time.Second)
		store.set(true) // away when the verdicts are to be written
		time.Sleep(time.Hour)
		store.set(false)
		time.Sleep(2 * time.Minute)
		stop()
		if got := len(store.judged()); got != 40 {
			t.Errorf("judged %d inferences, want 40", got)
		}
		if got := judge.most(); got != 1 {
			t.Errorf("an inference was judged %d times", got)
		}
	})
}

func TestTwoEvaluatorsShareTheShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore()
		first, second := newFakeJudge(), newFakeJudge()
		config := evaluate.DefaultConfig()
		config.Shards = "1/2"
		stopFirst := start(t, config, store, first, rule(1))
		config.Shards = "2/2"
		stopSecond := start(t, config, store, second, rule(1))
		for n := range 64 {
			store.insert(time.Now(), reply(n))
		}
		time.Sleep(20 * time.Second)
		stopFirst()
		stopSecond()
		if len(first.asked) != 32 || len(second.asked) != 32 || len(store.judged()) != 64 {
			t.Errorf("judged %d and %d, together %d: want 32, 32, 64", len(first.asked), len(second.asked), len(store.judged()))
		}
	})
}

// Another division of the shards goes on where the one before stopped, shard by
// shard.
func TestShardsAreDividedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		run := func(shards string) {
			config := evaluate.DefaultConfig()
			config.Shards = shards
			stop := start(t, config, store, judge, rule(1))
			time.Sleep(20 * time.Second)
			stop()
		}
		insert := func(from int) {
			for n := from; n < from+64; n++ {
				store.insert(time.Now(), reply(n))
			}
		}
		insert(0)
		run("all")
		for range 2 {
			run("1/2")
			run("2/2")
		}
		insert(64)
		run("1/2") // the other half is behind now
		run("all")
		run("2/4")
		if got := len(store.judged()); got != 128 || judge.most() != 1 {
			t.Errorf("judged %d, one of them %d times", got, judge.most())
		}
		if diff := cmp.Diff(map[string]uint64{"all/ok/sampled": 128}, store.counted()); diff != "" {
			t.Errorf("epochs (-want +got):\n%s", diff)
		}
	})
}

// Places that an earlier version saved, one for the whole part, still count.
func TestOldCursorsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		store.insert(time.Now(), reply(1))
		store.cursors["candidates all"] = record.Cursor{Time: time.Now(), ID: id(1)}
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(1))
		time.Sleep(20 * time.Second)
		stop()
		if got := store.counted(); len(got) != 0 {
			t.Errorf("counted again: %v", got)
		}
	})
}

func TestTooOldIsCountedNotJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, judge := newFakeStore(), newFakeJudge()
		store.insert(time.Now().Add(-15*24*time.Hour), reply(1))
		store.insert(time.Now().Add(-time.Hour), reply(2))
		stop := start(t, evaluate.DefaultConfig(), store, judge, rule(1))
		time.Sleep(20 * time.Second)
		stop()
		if diff := cmp.Diff(ids(2), store.judged()); diff != "" {
			t.Errorf("judged (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]uint64{"all/ok/sampled": 1, "all/ok/expired": 1}, store.epochs); diff != "" {
			t.Errorf("epochs (-want +got):\n%s", diff)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	for name, change := range map[string]func(*evaluate.Config){
		"shards: \"5/4\"":   func(c *evaluate.Config) { c.Shards = "5/4" },
		"shards: \"some\"":  func(c *evaluate.Config) { c.Shards = "some" },
		"poll: 0s":          func(c *evaluate.Config) { c.Poll = 0 },
		"concurrency: 0":    func(c *evaluate.Config) { c.Concurrency = 0 },
		"overlap: -1s":      func(c *evaluate.Config) { c.Overlap = -time.Second },
		"max_age: 1s":       func(c *evaluate.Config) { c.MaxAge = time.Second },
		"concurrency: 2000": func(c *evaluate.Config) { c.Concurrency = 2000 },
	} {
		c := evaluate.DefaultConfig()
		change(&c)
		if err := c.Validate(); err == nil || len(err.Error()) < len(name) || err.Error()[:len(name)] != name {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
