package store_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/store"
	"docket/internal/store/storetest"
)

func candidateIDs(list []record.Candidate) []string {
	out := []string{}
	for _, c := range list {
		out = append(out, c.InferenceID)
	}
	return out
}

func candidatesOf(t testing.TB, s *store.Store, q record.CandidateQuery) []record.Candidate {
	t.Helper()
	got, err := s.Candidates(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestCandidatesInOrderOfInsertion(t *testing.T) {
	s, _ := open(t)
	// The older call is stored later: it must come later.
	write(t, s, batch("1", 0, 3, now()))
	write(t, s, batch("2", 3, 3, now().Add(-5*time.Hour)))
	all := candidatesOf(t, s, record.CandidateQuery{})
	if diff := cmp.Diff([]string{id(0), id(1), id(2), id(3), id(4), id(5)}, candidateIDs(all)); diff != "" {
		t.Fatal(diff)
	}
	var got []record.Candidate
	q := record.CandidateQuery{Limit: 2}
	for {
		page := candidatesOf(t, s, q)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		q.After, q.AfterID = page[len(page)-1].InsertedAt, page[len(page)-1].InferenceID
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Error("pages:", diff)
	}
	if got := candidatesOf(t, s, record.CandidateQuery{Until: all[2].InsertedAt}); len(got) != 3 {
		t.Errorf("until the first batch: got %d", len(got))
	}
	clock, err := s.Now(t.Context())
	if err != nil || clock.Before(all[5].InsertedAt) || clock.After(all[5].InsertedAt.Add(time.Minute)) {
		t.Errorf("clock %v, last insert %v: %v", clock, all[5].InsertedAt, err)
	}
}

func TestShardsShareTheCandidates(t *testing.T) {
	s, _ := open(t)
	b := batch("1", 0, 300, now())
	for i := range b.Inferences {
		if i%3 == 0 {
			b.Inferences[i].ConversationID = "conv-" + strconv.Itoa(i%30)
		}
	}
	write(t, s, b)
	conversations, total := make(map[string]uint8), 0
	for low := uint8(0); low < 64; low += 16 {
		var shards []uint8
		for n := low; n < low+16; n++ {
			shards = append(shards, n)
		}
		got := candidatesOf(t, s, record.CandidateQuery{Shards: shards, Limit: 1000})
		if len(got) < 30 {
			t.Errorf("shards from %d have %d of 300 candidates", low, len(got))
		}
		for _, c := range got {
			if c.Shard < low || c.Shard >= low+16 {
				t.Errorf("shard %d is not asked for", c.Shard)
			}
			if was, ok := conversations[c.ConversationID]; c.ConversationID != "" && ok && was != c.Shard {
				t.Errorf("conversation %s is on shards %d and %d", c.ConversationID, was, c.Shard)
			}
			conversations[c.ConversationID] = c.Shard
		}
		total += len(got)
	}
	if total != 300 {
		t.Errorf("shards have %d candidates, want 300", total)
	}
}

func TestVerdictsAreWrittenOnce(t *testing.T) {
	s, dsn := open(t)
	at := now()
	call := record.JudgeCall{ID: "call", RunID: "run", Time: at, UnitTime: at, InferenceID: id(0), Rubric: "support", CostNanoUSD: new(uint64)}
	list := []record.Verdict{verdict("a", 0, at, "pass"), verdict("b", 0, at, "fail")}
	for range 3 {
		if err := s.WriteVerdicts(t.Context(), []record.JudgeCall{call}, list); err != nil {
			t.Fatal(err)
		}
	}
	if got := count(t, dsn, "SELECT count() FROM verdicts"); got != 2 {
		t.Errorf("got %d verdicts, want 2", got)
	}
	if got := count(t, dsn, "SELECT count() FROM judge_calls"); got != 1 {
		t.Errorf("got %d calls, want 1", got)
	}
	// Judged again by another process: other call, same ids.
	again := list[0]
	again.Outcome, again.JudgedAt, again.RunID = "fail", again.JudgedAt.Add(time.Second), "run 2"
	writeVerdicts(t, s, again)
	storetest.Exec(t, dsn, "OPTIMIZE TABLE verdicts FINAL")
	if got := count(t, dsn, "SELECT countIf(outcome = 'fail') FROM verdicts"); got != 2 {
		t.Errorf("got %d failed verdicts, want 2", got)
	}
	// Merged rows are found through every projection.
	for name, f := range map[string]record.VerdictFilter{
		"inference": {InferenceIDs: []string{id(0)}}, "trace": {TraceID: traceID(0)},
	} {
		if got, err := s.Verdicts(t.Context(), f); err != nil || len(got) != 2 {
			t.Errorf("by %s: %d verdicts: %v", name, len(got), err)
		}
	}
	judged, err := s.JudgedIDs(t.Context(), []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"a": true, "b": true}, judged); diff != "" {
		t.Error(diff)
	}
}

func TestJudgedIDsOfManyVerdicts(t *testing.T) {
	s, _ := open(t)
	var list []record.Verdict
	var ids []string
	for i := range 1500 {
		v := verdict("v"+strconv.Itoa(i), i, now(), "pass")
		ids = append(ids, v.ID)
		if i%2 == 0 {
			list = append(list, v)
		}
	}
	writeVerdicts(t, s, list...)
	got, err := s.JudgedIDs(t.Context(), ids)
	if err != nil || len(got) != len(list) {
		t.Errorf("got %d, want %d: %v", len(got), len(list), err)
	}
}

func TestJudgeSpent(t *testing.T) {
	s, _ := open(t)
	at := now()
	call := func(name, rubric string, when time.Time, cost uint64) record.JudgeCall {
		return record.JudgeCall{ID: name, RunID: "run", Time: when, UnitTime: when, InferenceID: id(0), Rubric: rubric, CostNanoUSD: &cost, Origin: record.OriginOnline}
	}
	cached, unknown := call("d", "support", at, 0), call("e", "support", at, 0)
	cached.Origin, unknown.CostNanoUSD = record.OriginCache, nil
	list := []record.JudgeCall{call("a", "support", at, 5), call("b", "support", at, 7), call("c", "other", at, 100), call("f", "support", at.Add(-time.Hour), 1000), cached, unknown}
	if err := s.WriteVerdicts(t.Context(), list, nil); err != nil {
		t.Fatal(err)
	}
	again := list[0]
	again.Attempts = 2 // written again in another insert: still one call
	if err := s.WriteVerdicts(t.Context(), []record.JudgeCall{again}, nil); err != nil {
		t.Fatal(err)
	}
	calls, nano, err := s.JudgeSpent(t.Context(), "support", at)
	if err != nil || calls != 3 || nano != 12 {
		t.Errorf("%d calls, %d nano-USD: %v", calls, nano, err)
	}
	if calls, nano, err = s.JudgeSpent(t.Context(), "none", at); err != nil || calls != 0 || nano != 0 {
		t.Errorf("no such rubric: %d calls, %d nano-USD: %v", calls, nano, err)
	}
}

func TestEpochsAddUp(t *testing.T) {
	s, dsn := open(t)
	rows := []record.Epoch{filled[record.Epoch](now())}
	rows[0].Count = 2
	for range 2 {
		if err := s.WriteEpochs(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	if got := count(t, dsn, "SELECT sum(count) FROM eval_epochs"); got != 4 {
		t.Errorf("got %d, want 4", got)
	}
	got := storetest.Exec(t, dsn, "SELECT DISTINCT instance, project, rule, stratum, reason, threshold FROM eval_epochs FORMAT JSONCompactEachRow SETTINGS output_format_json_quote_64bit_integers = 0")
	want := "[" + strings.Join([]string{quoted(rows[0].Instance), quoted(rows[0].Project), quoted(rows[0].Rule), quoted(rows[0].Stratum), quoted(rows[0].Reason), strconv.FormatUint(rows[0].Threshold, 10)}, ", ") + "]\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// quoted is a string of JSON as ClickHouse writes it.
func quoted(s string) string {
	return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"`
}

func TestCursors(t *testing.T) {
	s, _ := open(t)
	names := []string{"live/0", "live/1", "live/2"}
	load := func() map[string]record.Cursor {
		t.Helper()
		got, err := s.LoadCursors(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	save := func(at record.Cursor, names ...string) {
		t.Helper()
		if err := s.SaveCursors(t.Context(), names, at); err != nil {
			t.Fatal(err)
		}
	}
	if got := load(); len(got) != 0 {
		t.Fatalf("at first: %v", got)
	}
	first := now()
	for i := range 3 {
		save(record.Cursor{Time: first.Add(time.Duration(i) * time.Second), ID: id(i)}, "live/0", "live/2")
	}
	save(record.Cursor{Time: first, ID: "other"}, "live/1")
	// It may go back: the last one counts, whatever it says.
	save(record.Cursor{Time: first.Add(-time.Hour), ID: id(7)}, "live/0")
	want := map[string]record.Cursor{
		"live/0": {Time: first.Add(-time.Hour), ID: id(7)}, "live/1": {Time: first, ID: "other"}, "live/2": {Time: first.Add(2 * time.Second), ID: id(2)},
	}
	if diff := cmp.Diff(want, load()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The view that refreshes the hourly sums is run by hand here.
func TestQualityHourly(t *testing.T) {
	s, dsn := open(t)
	at := now().Add(-2 * time.Hour)
	p := 0.75
	list := []record.Verdict{
		verdict("a", 0, at, "pass"), verdict("b", 1, at, "fail"), verdict("c", 2, at, "inconclusive"), verdict("d", 3, at, "not_applicable"),
	}
	list[0].Probability, list[0].InclusionP = &p, 0.25
	writeVerdicts(t, s, list...)
	again := list[1]
	again.JudgedAt = again.JudgedAt.Add(time.Second)
	writeVerdicts(t, s, again)
	for range 2 {
		storetest.Exec(t, dsn, "SYSTEM REFRESH VIEW quality_hourly_mv")
		storetest.Exec(t, dsn, "SYSTEM WAIT VIEW quality_hourly_mv")
	}
	// What the view does not reach is computed on demand.
	far := at.Add(-100 * 24 * time.Hour)
	writeVerdicts(t, s, verdict("e", 5, far, "pass"))
	for range 2 {
		if err := s.RefreshQuality(t.Context(), far, far.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if got := storetest.Exec(t, dsn, "SELECT n, n_pass, w, wp FROM quality_hourly FINAL WHERE hour < now() - toIntervalDay(90)"); got != "1\t1\t2\t0\n" {
		t.Errorf("old hour: got %q", got)
	}
	got := storetest.Exec(t, dsn, "SELECT n, n_pass, n_fail, n_inconclusive, n_not_applicable, w, w2, wy, wp, wq FROM quality_hourly FINAL WHERE hour > now() - toIntervalDay(90)")
	if want := "4\t1\t1\t1\t1\t6\t20\t4\t4\t3\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
