package store_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/store"
	"docket/internal/store/storetest"
)

// person is somebody with calls, and everything that can be stored about them.
type person struct {
	user  string
	first int // number of his first call
	calls int
}

func (p person) conversation() string { return "talk of " + p.user }

// batch is what capture stores: two calls in three have his name, all are in his
// conversation.
func (p person) batch(token string, at time.Time) record.Batch {
	b := record.Batch{Token: token, FirstSent: time.Now()}
	for n := p.first; n < p.first+p.calls; n++ {
		ts := at.Add(time.Duration(n) * time.Millisecond)
		inf := inference(n, ts)
		inf.ConversationID, inf.ResponseID, inf.UpstreamSpanID = p.conversation(), "chatcmpl-"+p.user+fmt.Sprint(n), spanID(5000+n)
		inf.Tags, inf.ErrorMessage, inf.Attributes = []string{"tag of " + p.user}, "said "+p.user, map[string]string{"k": p.user}
		if n%3 != 0 {
			inf.UserID = p.user
		}
		own := body(n, ts, "hello, "+p.user)
		own.Request = []byte("I am " + p.user)
		server, client := span(n, ts), span(n, ts)
		server.Attributes = map[string]string{record.AttrInferenceID: inf.ID}
		client.SpanID, client.Attributes = inf.UpstreamSpanID, map[string]string{record.AttrInferenceID: inf.ID, "u": p.user}
		b.Inferences, b.Bodies, b.Spans = append(b.Inferences, inf), append(b.Bodies, own), append(b.Spans, server, client)
	}
	return b
}

// judged stores what is known about the calls besides.
func (p person) judged(t *testing.T, s *store.Store, b record.Batch) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var calls []record.JudgeCall
	var verdicts []record.Verdict
	var spans []record.Span
	var labels []record.Label
	var answers []record.CalibrationAnswer
	var feedback []record.Feedback
	for i, inf := range b.Inferences {
		call, v, own := p.verdict(inf)
		calls, verdicts, spans = append(calls, call), append(verdicts, v), append(spans, own...)
		labels = append(labels, record.Label{Time: inf.Time, Project: "shop", Criterion: "c", InferenceID: inf.ID, Annotator: "ann", Label: "pass", Comment: "of " + p.user})
		answers = append(answers, record.CalibrationAnswer{VerdictID: v.ID, Time: inf.Time, CaseID: inf.ID, Detail: "of " + p.user})
		feedback = append(feedback, record.Feedback{ID: "feedback of " + p.user + fmt.Sprint(i), Time: inf.Time, Updated: inf.Time, ResponseID: inf.ResponseID, Label: "down", Comment: p.user})
	}
	check(s.WriteVerdicts(t.Context(), calls, verdicts))
	check(s.WriteSpans(t.Context(), "judge:"+spans[0].SpanID, spans))
	check(s.WriteLabels(t.Context(), labels))
	check(s.WriteCalibrationAnswers(t.Context(), answers))
	check(s.WriteFeedback(t.Context(), feedback))
	for i, f := range feedback[:3] {
		f.InferenceID = b.Inferences[i].ID
		check(s.LinkFeedback(t.Context(), f))
	}
	at := b.Inferences[0].Time
	check(s.WriteFeedback(t.Context(), []record.Feedback{{ID: "elsewhere " + p.user, Time: at, Updated: at, InferenceID: id(999_999), User: p.user, Label: "up"}}))
}

func (p person) verdict(inf record.Inference) (record.JudgeCall, record.Verdict, []record.Span) {
	judgeTrace := strings.Repeat("ee", 8) + inf.TraceID[16:]
	call := record.JudgeCall{ID: "call" + inf.ID, RunID: "run" + inf.ID, Time: inf.Time, UnitTime: inf.Time, Project: "shop", InferenceID: inf.ID, TraceID: inf.TraceID, JudgeTraceID: judgeTrace, ErrorMessage: p.user}
	v := record.Verdict{
		ID: "verdict" + inf.ID, JudgedAt: inf.Time, Time: inf.Time, Project: "shop", InferenceID: inf.ID, TraceID: inf.TraceID, ConversationID: inf.ConversationID,
		Criterion: "c", Outcome: record.OutcomePass, InclusionP: 1, JudgeTraceID: judgeTrace, Detail: "as " + p.user + " said",
	}
	root := record.Span{Time: inf.Time, TraceID: judgeTrace, SpanID: inf.SpanID, Name: "judge", Attributes: map[string]string{record.AttrInferenceID: inf.ID}, Links: []record.Link{{TraceID: inf.TraceID, SpanID: inf.SpanID}}}
	child := record.Span{Time: inf.Time, TraceID: judgeTrace, SpanID: inf.SpanID[:15] + "f", Name: "ask", StatusMessage: p.user}
	return call, v, []record.Span{root, child}
}

// traces are texts by which a person is found again, whatever the table.
func (p person) traces(b record.Batch) []string {
	out := []string{p.user}
	for _, inf := range b.Inferences {
		out = append(out, inf.ID, inf.TraceID, inf.TraceID[16:], inf.ResponseID)
	}
	return out
}

// found lists where any of the texts stands, in whatever column of whatever
// table of the database.
func found(t *testing.T, dsn string, texts []string) []string {
	t.Helper()
	var out []string
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = "'" + s + "'"
	}
	list := "[" + strings.Join(quoted, ",") + "]"
	rows := storetest.Exec(t, dsn, `SELECT c.table, groupArray(c.name) FROM system.columns AS c JOIN system.tables AS t ON t.database = c.database AND t.name = c.table
		WHERE c.database = currentDatabase() AND t.engine LIKE '%MergeTree' AND match(c.type, 'String') GROUP BY c.table ORDER BY c.table FORMAT TSVRaw`)
	if rows == "" {
		t.Fatal("no columns to search")
	}
	for line := range strings.Lines(rows) {
		table, names, _ := strings.Cut(strings.TrimSpace(line), "\t")
		var columns, sums []string
		for name := range strings.SplitSeq(strings.Trim(names, "[]"), ",") {
			name = strings.Trim(name, "'")
			columns = append(columns, name)
			sums = append(sums, fmt.Sprintf("countIf(multiSearchAny(toString(`%s`), %s))", name, list))
		}
		counts := strings.Fields(storetest.Exec(t, dsn, fmt.Sprintf("SELECT %s FROM `%s` FORMAT TSVRaw", strings.Join(sums, ", "), table)))
		for i, n := range counts {
			if n != "0" {
				out = append(out, table+"."+columns[i])
			}
		}
	}
	return out
}

func rowsOf(t *testing.T, dsn string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, table := range []string{"inferences", "inference_bodies", "candidates", "otel_traces", "otel_traces_trace_id_ts"} {
		out[table] = count(t, dsn, "SELECT count() FROM "+table)
	}
	for _, table := range []string{"verdicts", "judge_calls", "human_labels", "calibration_answers", "feedback"} {
		out[table] = count(t, dsn, "SELECT count() FROM "+table+" FINAL") // versions may be merged or not
	}
	return out
}

func TestDeleteAUser(t *testing.T) {
	s, dsn := open(t)
	at := now()
	alice, bob := person{"alice-7f3a", 0, 12}, person{"bob-51c0", 100, 12}
	batches := map[string]record.Batch{}
	for _, p := range []person{bob} {
		batches[p.user] = p.batch("t"+p.user, at)
		write(t, s, batches[p.user])
		p.judged(t, s, batches[p.user])
	}
	before := rowsOf(t, dsn)
	kept := found(t, dsn, bob.traces(batches[bob.user]))
	b := alice.batch("t"+alice.user, at)
	write(t, s, b)
	alice.judged(t, s, b)
	if got := found(t, dsn, alice.traces(b)); len(got) < 30 {
		t.Fatalf("alice is in too few places for this test to say anything: %v", got)
	}

	want := map[string]uint64{
		"inferences": 12, "inference_bodies": 12, "candidates": 15, "otel_traces": 48, "verdicts": 12, "judge_calls": 12, "human_labels": 12,
		"calibration_answers": 12,
	}
	counted, err := s.SubjectRows(t.Context(), record.Subject{User: alice.user, Project: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	delete(counted.Rows, "feedback") // as many as versions are not merged yet
	if diff := cmp.Diff(want, counted.Rows); diff != "" {
		t.Errorf("dry run (-want +got):\n%s", diff)
	}
	d, err := s.Delete(t.Context(), record.Subject{User: alice.user}, "tester")
	if err != nil {
		t.Fatal(err)
	}
	if d.Rows["feedback"] < 13 || d.Rows["otel_traces_trace_id_ts"] != 24 {
		t.Errorf("deleted %v", d.Rows)
	}
	delete(d.Rows, "feedback")
	delete(d.Rows, "otel_traces_trace_id_ts")
	if diff := cmp.Diff(want, d.Rows); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if got := found(t, dsn, alice.traces(b)); len(got) > 0 {
		t.Errorf("alice is still in %v", got)
	}
	if diff := cmp.Diff(kept, found(t, dsn, bob.traces(batches[bob.user]))); diff != "" {
		t.Errorf("where bob is (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before, rowsOf(t, dsn)); diff != "" {
		t.Errorf("rows of bob (-before +after):\n%s", diff)
	}
	if n := count(t, dsn, "SELECT count() FROM system.parts WHERE database = currentDatabase() AND active AND has_lightweight_delete"); n > 0 {
		t.Errorf("%d parts only hide rows", n)
	}
	note := storetest.Exec(t, dsn, "SELECT kind, deleted_by, complete, length(subject_hash), rows['inferences'] FROM deletions FORMAT TSVRaw")
	if note != "user\ttester\ttrue\t64\t12\n" {
		t.Errorf("note %q", note)
	}
	// Again, there is nothing, and no second note.
	if d, err = s.Delete(t.Context(), record.Subject{User: alice.user}, "tester"); err != nil || len(d.Rows) > 0 {
		t.Errorf("again: %v, %v", d.Rows, err)
	}
	if n := count(t, dsn, "SELECT count() FROM deletions"); n != 1 {
		t.Errorf("%d notes", n)
	}
	comesBack(t, s, dsn, alice, b)
}

// comesBack tries to bring rows back: a proxy that sends an old batch again, as
// a whole and with others, and an evaluator that was at work.
func comesBack(t *testing.T, s *store.Store, dsn string, p person, b record.Batch) {
	t.Helper()
	b.Resend = true
	write(t, s, b)
	b.FirstSent = time.Now().Add(-2 * time.Hour)
	write(t, s, b)
	other := person{"carol", 200, 3}.batch("x", b.Inferences[0].Time)
	b.Inferences, b.Bodies, b.Spans = append(b.Inferences, other.Inferences...), append(b.Bodies, other.Bodies...), append(b.Spans, other.Spans...)
	b.Token = "another"
	write(t, s, b)
	if n := count(t, dsn, "SELECT count() FROM inferences WHERE conversation_id = 'talk of carol'"); n != 3 {
		t.Errorf("%d rows of the other in the batch", n)
	}
	p.judged(t, s, record.Batch{Inferences: b.Inferences[:12]})
	if got := found(t, dsn, p.traces(record.Batch{Inferences: b.Inferences[:12]})); len(got) > 0 {
		t.Errorf("after resends she is in %v", got)
	}
}

func TestDeleteAConversationOfOneProject(t *testing.T) {
	s, dsn := open(t)
	at := now()
	b := batch("t", 0, 6, at)
	for i := range b.Inferences {
		b.Inferences[i].ConversationID = "c"
		b.Inferences[i].UserID = []string{"u", "w", "u", ""}[i%4]
		if i >= 4 {
			b.Inferences[i].Project = "other"
		}
		b.Spans[i].Attributes = map[string]string{record.AttrInferenceID: id(i)}
	}
	write(t, s, b)
	counted, err := s.SubjectRows(t.Context(), record.Subject{User: "u", Project: "shop"})
	if err != nil || counted.Rows["inferences"] != 2 || counted.Shared != 2 {
		t.Errorf("of one of two users: %+v, %v", counted, err)
	}
	d, err := s.Delete(t.Context(), record.Subject{Conversation: "c", Project: "shop"}, "tester")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{"inferences": 4, "inference_bodies": 4, "candidates": 4, "otel_traces": 4, "otel_traces_trace_id_ts": 4}
	if diff := cmp.Diff(want, d.Rows); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if got := counts(t, dsn); got["inferences"] != 2 || got["bodies"] != 2 || got["spans"] != 2 {
		t.Errorf("left: %v", got)
	}
	for _, sub := range []record.Subject{{}, {User: "u", Conversation: "c"}} {
		if _, err := s.Delete(t.Context(), sub, ""); err == nil || !strings.Contains(err.Error(), "one of a user and a conversation") {
			t.Errorf("%+v: %v", sub, err)
		}
	}
}

// More calls than go into one statement, on the same days as those of others.
func TestDeleteManyCalls(t *testing.T) {
	s, dsn := open(t)
	b := batch("t", 0, 2600, now())
	for i := range b.Inferences {
		b.Inferences[i].UserID = []string{"u", "w"}[i%2]
		b.Spans[i].Attributes = map[string]string{record.AttrInferenceID: id(i)}
	}
	write(t, s, b)
	d, err := s.Delete(t.Context(), record.Subject{User: "u"}, "tester")
	if err != nil || d.Rows["inferences"] != 1300 || d.Rows["otel_traces"] != 1300 {
		t.Fatalf("%v, %v", d.Rows, err)
	}
	left := each(1300)
	left["traffic"] = 2600 // sums have nobody in them
	if diff := cmp.Diff(left, counts(t, dsn)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if n := count(t, dsn, "SELECT count() FROM inferences WHERE user_id = 'w'"); n != 1300 {
		t.Errorf("%d calls of the other", n)
	}
}

// Every table is on the list of what is deleted, or has nothing of anybody; a
// new one must be put on either.
func TestEveryTableIsDeletedFrom(t *testing.T) {
	_, dsn := open(t)
	ids := regexp.MustCompile(`(?i)inference|user|conversation|trace|span|response|case|run_?id|call_?id|verdict_?id|comment|input|output|request|body|text|message`)
	nobody := map[string][]string{ // columns that look like it and are not
		"cursors":           {"inference_id"}, // a place in the order; says nothing about anybody
		"calibrations":      {"criterion_text"},
		"traffic_hourly":    {"request_model", "input_tokens", "output_tokens"},
		"quality_hourly":    {"request_model"},
		"eval_epochs":       nil,
		"capture_gaps":      nil,
		"schema_migrations": nil,
		"deleted_ids":       nil, // hashes of ids
		"deletions":         nil, // a hash of the name
	}
	deletable := store.DeletedTables()
	rows := storetest.Exec(t, dsn, `SELECT c.table, groupArray(c.name) FROM system.columns AS c JOIN system.tables AS t ON t.database = c.database AND t.name = c.table
		WHERE c.database = currentDatabase() AND t.engine LIKE '%MergeTree' GROUP BY c.table FORMAT TSVRaw`)
	for line := range strings.Lines(rows) {
		table, list, _ := strings.Cut(strings.TrimSpace(line), "\t")
		known, exempt := nobody[table]
		switch {
		case slices.Contains(deletable, table):
			continue
		case !exempt:
			t.Errorf("table %s: a deletion does not reach it: put it into holders, or here with the reason", table)
		}
		for column := range strings.SplitSeq(strings.Trim(list, "[]"), ",") {
			column = strings.Trim(column, "'")
			if ids.MatchString(column) && !slices.Contains(known, column) {
				t.Errorf("%s.%s may hold something of a person, and a deletion does not reach it", table, column)
			}
		}
	}
}

// Two people who got the same answer from a cache: what one of them says about
// it is not the other's.
func TestDeleteLeavesFeedbackOnTheSameAnswerOfAnother(t *testing.T) {
	s, dsn := open(t)
	at := now()
	b := batch("t", 0, 2, at)
	for i := range b.Inferences {
		b.Inferences[i].UserID, b.Inferences[i].ResponseID = []string{"u", "w"}[i], "chatcmpl-cached"
	}
	write(t, s, b)
	linked := said("of w", at, func(f *record.Feedback) { f.ResponseID, f.InferenceID, f.Linked = "chatcmpl-cached", id(1), true })
	waiting := said("of nobody", at, func(f *record.Feedback) { f.ResponseID = "chatcmpl-cached" })
	if err := s.WriteFeedback(t.Context(), []record.Feedback{linked, waiting}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), record.Subject{User: "u"}, "tester"); err != nil {
		t.Fatal(err)
	}
	if got := storetest.Exec(t, dsn, "SELECT feedback_id FROM feedback FINAL FORMAT TSVRaw"); got != "of w\n" {
		t.Errorf("feedback that is left: %q", got)
	}
}

// The server forgets the tokens of a part when it removes the empty part, which
// it does some time after a deletion.
func TestDeletedCallsDoNotComeBackWhenPartsAreGone(t *testing.T) {
	s, dsn := open(t)
	b := person{"dora-19b4", 0, 3}.batch("t", now())
	write(t, s, b)
	if _, err := s.Delete(t.Context(), record.Subject{User: "dora-19b4"}, "tester"); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"inferences", "inference_bodies", "otel_traces", "otel_traces_trace_id_ts", "candidates"} {
		storetest.Exec(t, dsn, "ALTER TABLE "+table+" DROP PARTITION ALL")
	}
	b.Resend = true
	write(t, s, b)
	if got := found(t, dsn, person{"dora-19b4", 0, 3}.traces(b)); len(got) > 0 {
		t.Errorf("back again in %v", got)
	}
}

// The keys of what is deleted go into one statement only as far as it holds them.
func TestDeleteCallsWithManyJudgeCalls(t *testing.T) {
	s, dsn := open(t)
	b := batch("t", 0, 600, now())
	var calls []record.JudgeCall
	for i := range b.Inferences {
		b.Inferences[i].UserID, b.Inferences[i].ResponseID = "u", "resp_"+strings.Repeat("x", 400)+fmt.Sprint(i)
		for k := range 40 {
			n := 40*i + k
			calls = append(calls, record.JudgeCall{ID: fmt.Sprint("call", n), Time: b.Inferences[i].Time, UnitTime: b.Inferences[i].Time, InferenceID: id(i), JudgeTraceID: traceID(10_000 + n)})
		}
	}
	write(t, s, b)
	if err := s.WriteVerdicts(t.Context(), calls, nil); err != nil {
		t.Fatal(err)
	}
	counted, err := s.SubjectRows(t.Context(), record.Subject{User: "u"})
	if err != nil || counted.Rows["judge_calls"] != 24_000 {
		t.Errorf("dry run: %v, %v", counted.Rows, err)
	}
	d, err := s.Delete(t.Context(), record.Subject{User: "u"}, "tester")
	if err != nil || d.Rows["judge_calls"] != 24_000 || d.Rows["inferences"] != 600 {
		t.Fatalf("%v, %v", d.Rows, err)
	}
	if n := count(t, dsn, "SELECT count() FROM judge_calls"); n != 0 {
		t.Errorf("%d judge calls are left", n)
	}
}
