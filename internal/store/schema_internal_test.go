package store

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/store/storetest"
)

var update = flag.Bool("update", false, "rewrite the wanted statements in testdata")

// snapshot compares a text with a file, or writes it.
func snapshot(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got+"\n"); diff != "" {
		t.Errorf("%s: %s\n(-update rewrites it)", path, diff)
	}
}

// ddlFiles are all statements that create something, by name.
func ddlFiles(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, files := range []fs.FS{migrationFiles, spanFiles} {
		err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := fs.ReadFile(files, path)
			out[path] = string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestMigrationStatements(t *testing.T) {
	for layout, cluster := range map[string]string{"single": "", "cluster": "prod"} {
		cfg := DefaultConfig()
		cfg.Cluster = cluster
		d := newDDL(cfg, "docket")
		for path, source := range ddlFiles(t) {
			got, err := d.render(source)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if got != "" {
				snapshot(t, "ddl/"+layout+"/"+filepath.Base(path), got)
			}
		}
	}
}

// There is no cluster to try, but the engine reads the statements of one.
func TestClusterStatementsParse(t *testing.T) {
	dsn := storetest.DSN(t)
	cfg := DefaultConfig()
	cfg.Cluster, cfg.SpansTable = "my-cluster", "other.my-traces"
	d := newDDL(cfg, "docket")
	var distributed int
	for path, source := range ddlFiles(t) {
		statement, err := d.render(source)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if statement == "" {
			t.Errorf("%s does nothing in a cluster", path)
		}
		if !strings.Contains(statement, "ON CLUSTER `my-cluster`") {
			t.Errorf("%s is not for the cluster: %s", path, statement)
		}
		if strings.Contains(statement, "Distributed(") {
			distributed++
		}
		if ast := storetest.Exec(t, dsn, "EXPLAIN AST "+statement); !strings.HasPrefix(ast, "CreateQuery") && !strings.HasPrefix(ast, "AlterQuery") {
			t.Errorf("%s: %s", path, ast)
		}
	}
	if distributed != 18 {
		t.Errorf("%d distributed tables, want 18", distributed)
	}
	for _, name := range slices.Sorted(maps.Keys(d.ttls)) {
		statement := d.alterTTL(name)
		if ast := storetest.Exec(t, dsn, "EXPLAIN AST "+statement); !strings.HasPrefix(ast, "AlterQuery") {
			t.Errorf("%s: %s", statement, ast)
		}
	}
}

func TestMigrationsAreNumberedAndRepeatable(t *testing.T) {
	list, err := loadMigrations(migrationFiles)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d migrations: %v", len(list), err)
	}
	repeatable := regexp.MustCompile(`^(CREATE (TABLE|MATERIALIZED VIEW) IF NOT EXISTS|ALTER TABLE [^\n]*\s+(ADD|DROP) \w+ IF (NOT )?EXISTS|\{\{distributed |\{\{alterDistributed "\w+" "(ADD|DROP) \w+ IF (NOT )?EXISTS)`)
	for _, m := range list {
		if !repeatable.MatchString(m.source) {
			t.Errorf("%04d_%s cannot run twice: %.80s", m.version, m.name, m.source)
		}
	}
}

// columnsOf are the columns of a table as the program declares them.
func columnsOf[R any](t table[R]) map[string]string {
	out := make(map[string]string)
	for _, c := range t.columns {
		out[c.name] = c.typ
	}
	return out
}

// Each declared column is in its table under the same type, and each column of
// a table is declared.
func TestColumnsAreThoseOfTheTables(t *testing.T) {
	cfg := DefaultConfig()
	cfg.DSN = storetest.DSN(t)
	s, err := Open(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	notDeclared := []string{"inserted_at", "applied_at", "Events.Timestamp", "Events.Name", "Events.Attributes"}
	for name, declared := range map[string]map[string]string{
		"inferences":          columnsOf(inferences()),
		"human_labels":        columnsOf(labels()),
		"calibration_answers": columnsOf(calibrationAnswers()),
		"calibrations":        columnsOf(calibrations()),
		"inference_bodies":    columnsOf(bodies()),
		"otel_traces":         columnsOf(spans("otel_traces")),
		"verdicts":            columnsOf(verdicts()),
		"judge_calls":         columnsOf(judgeCalls()),
		"capture_gaps":        columnsOf(gaps()),
		"eval_epochs":         columnsOf(epochs()),
		"cursors":             columnsOf(cursors()),
		"candidates":          columnsOf(candidates()),
		"feedback":            columnsOf(feedback()),
		"deletions":           columnsOf(deletions()),
		"deleted_ids":         columnsOf(deletedIDs()),
		"schema_migrations":   columnsOf(applied()),
	} {
		rows := storetest.Exec(t, cfg.DSN, "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = '"+name+"' FORMAT TSVRaw")
		stored := make(map[string]string)
		for line := range strings.Lines(rows) {
			column, typ, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if _, ok := declared[column]; ok || !slices.Contains(notDeclared, column) {
				stored[column] = typ
			}
		}
		if diff := cmp.Diff(declared, stored); diff != "" {
			t.Errorf("%s: declared and stored columns differ: %s", name, diff)
		}
	}
	types := storetest.Exec(t, cfg.DSN, "SELECT DISTINCT type FROM system.columns WHERE database = currentDatabase() AND table NOT LIKE 'otel_%' AND type LIKE '%Date%' FORMAT TSVRaw")
	if types != timeType+"\n" {
		t.Errorf("time columns have types %q", types)
	}
}

// between is what stands in s between two texts, on one line.
func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return strings.Join(strings.Fields(s), " ")
}

// The statement that refreshes hourly sums computes what the view computes.
func TestRefreshAndViewAgree(t *testing.T) {
	refresh, err := queryFiles.ReadFile("queries/refresh_quality.sql")
	if err != nil {
		t.Fatal(err)
	}
	view := ddlFiles(t)["migrations/0017_quality_hourly_mv.sql"]
	for _, part := range [][2]string{{"SELECT", "FROM"}, {"GROUP BY", ";"}} {
		want := between(view, part[0], part[1])
		if got := between(string(refresh), part[0], part[1]); got != want || got == "" {
			t.Error(cmp.Diff(want, got))
		}
	}
}

// The statement that repairs candidates chooses what the view chooses.
func TestRepairAndViewAgree(t *testing.T) {
	files := ddlFiles(t)
	repair, err := queryFiles.ReadFile("queries/repair_candidates.sql")
	if err != nil {
		t.Fatal(err)
	}
	view := between(files["migrations/0007_candidates_mv.sql"], "inserted_at,", "FROM")
	if got := between(string(repair), "now64(6, 'UTC'),", "FROM"); got != view || got == "" {
		t.Error(cmp.Diff(view, got))
	}
	again, err := queryFiles.ReadFile("queries/feedback_candidate.sql")
	if err != nil {
		t.Fatal(err)
	}
	if got := between(string(again), "now64(6, 'UTC'),", ", {feedback_id"); got != view {
		t.Error(cmp.Diff(view, got))
	}
	var names []string
	for _, c := range candidates().columns {
		names = append(names, c.name)
	}
	all := strings.Join(names, ", ")
	captured, _, _ := strings.Cut(all, ", feedback_id") // capture knows of no feedback
	for statement, want := range map[string]string{string(repair): captured, string(again): all} {
		if list := between(statement, "(", ")"); list != want {
			t.Error(cmp.Diff(want, list))
		}
	}
}

func TestQueryStatements(t *testing.T) {
	q, err := loadQueries()
	if err != nil {
		t.Fatal(err)
	}
	cursor := record.Cursor{Time: time.Unix(1, 0), ID: "i"}
	allInferences := record.InferenceFilter{
		ID: "i", Project: "p", Environment: "e", TraceID: "t", ConversationID: "c", ResponseID: "r", Model: "m",
		Operation: "o", TerminalState: "s", Outcome: "pass", Rubric: "r", Criterion: "k", Feedback: "down", UserID: "u", Text: "x", Before: cursor,
	}
	allVerdicts := record.VerdictFilter{
		Project: "p", InferenceIDs: []string{"i"}, TraceID: "t", ConversationID: "c", Rubric: "r", Criterion: "k", Reason: "x", Outcome: "pass", Before: cursor,
	}
	allFeedback := record.FeedbackFilter{
		ID: "f", Project: "p", InferenceIDs: []string{"i"}, TraceID: "t", ResponseID: "r", Label: "l", User: "u", Source: "s", Linked: new(bool), Before: cursor,
	}
	rendered := make(map[string]bool)
	for _, tc := range []struct {
		name, file string
		data       any
	}{
		{"inferences", "inferences.sql", map[string]any{"Columns": "...", "F": record.InferenceFilter{}}},
		{"inferences_all", "inferences.sql", map[string]any{"Columns": "...", "F": allInferences}},
		{"inferences_of_rubric", "inferences.sql", map[string]any{"Columns": "...", "F": record.InferenceFilter{Rubric: "r", Feedback: record.FeedbackAny}}},
		{"feedback", "feedback.sql", map[string]any{"Columns": "...", "F": record.FeedbackFilter{}}},
		{"feedback_all", "feedback.sql", map[string]any{"Columns": "...", "F": allFeedback}},
		{"feedback_target_inference", "feedback_target.sql", record.Feedback{InferenceID: "i"}},
		{"feedback_target_response", "feedback_target.sql", record.Feedback{ResponseID: "r"}},
		{"feedback_target_trace", "feedback_target.sql", record.Feedback{TraceID: "t"}},
		{"feedback_candidate", "feedback_candidate.sql", nil},
		{"feedback_candidates", "feedback_candidates.sql", map[string]any{"Columns": "..."}},
		{"subject_user", "subject_ids.sql", record.Subject{User: "u", Project: "p"}},
		{"subject_conversation", "subject_ids.sql", record.Subject{Conversation: "c", Project: "p"}},
		{"subject_shared", "subject_shared.sql", record.Subject{User: "u", Project: "p"}},
		{"subject_keys", "subject_keys.sql", nil},
		{"delete_rows", "delete_rows.sql", map[string]string{"Table": "t", "OnCluster": " ON CLUSTER c", "Where": "w"}},
		{"count_rows", "count_rows.sql", map[string]string{"Table": "t", "Where": "w"}},
		{"spans_left", "spans_left.sql", map[string]string{"Table": "t"}},
		{"deleted_ids", "deleted_ids.sql", nil},
		{"inferences_by_id", "inferences_by_id.sql", map[string]any{"Columns": "..."}},
		{"verdicts", "verdicts.sql", map[string]any{"Columns": "...", "F": record.VerdictFilter{}}},
		{"verdicts_all", "verdicts.sql", map[string]any{"Columns": "...", "F": allVerdicts}},
		{"bodies", "bodies.sql", map[string]any{"Columns": "..."}},
		{"judge_calls", "judge_calls.sql", map[string]any{"Columns": "..."}},
		{"candidates", "candidates.sql", map[string]any{"Columns": "...", "Shards": false}},
		{"candidates_shards", "candidates.sql", map[string]any{"Columns": "...", "Shards": true}},
		{"judged_ids", "judged_ids.sql", nil},
		{"load_cursors", "load_cursors.sql", map[string]any{"Columns": "..."}},
		{"labels", "labels.sql", map[string]any{"Columns": "...", "F": record.LabelFilter{}}},
		{"labels_all", "labels.sql", map[string]any{"Columns": "...", "F": record.LabelFilter{Project: "p", Criterion: "k", InferenceIDs: []string{"i"}}}},
		{"calibration_answers", "calibration_answers.sql", map[string]any{"Columns": "..."}},
		{"calibrations", "calibrations.sql", map[string]any{"Columns": "...", "Rubric": "r"}},
		{"gaps", "gaps.sql", map[string]any{"Columns": "..."}},
		{"spans", "spans.sql", map[string]any{"Columns": "...", "Table": "`otel_traces`"}},
		{"stored_ids", "stored_ids.sql", map[string]string{"Table": "inferences"}},
		{"stored_spans", "stored_spans.sql", map[string]string{"Table": "`otel_traces`"}},
		{"stored_candidates", "stored_candidates.sql", nil},
		{"repair_candidates", "repair_candidates.sql", nil},
		{"stored_traces", "stored_traces.sql", map[string]string{"Index": "`otel_traces_trace_id_ts`"}},
		{"repair_traces", "repair_traces.sql", map[string]string{"Table": "`otel_traces`", "Index": "`otel_traces_trace_id_ts`"}},
		{"table_info", "table_info.sql", nil},
		{"applied", "applied.sql", map[string]any{"Columns": "..."}},
		{"now", "now.sql", nil},
		{"judge_spent", "judge_spent.sql", nil},
		{"refresh_quality", "refresh_quality.sql", nil},
		{"conversations_known", "conversations_known.sql", nil},
		{"conversations_of_responses", "conversations_of_responses.sql", nil},
	} {
		got, err := q.render(tc.file, tc.data)
		if err != nil {
			t.Fatal(err)
		}
		rendered[tc.file] = true
		snapshot(t, "queries/"+tc.name+".sql", got)
	}
	files, err := fs.Glob(queryFiles, "queries/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if !rendered[filepath.Base(path)] {
			t.Errorf("%s has no snapshot", path)
		}
	}
	for name, insert := range map[string]string{
		"inferences": insertSQL(inferences()), "bodies": insertSQL(bodies()), "spans": insertSQL(spans("other.spans")),
		"verdicts": insertSQL(verdicts()), "judge_calls": insertSQL(judgeCalls()), "gaps": insertSQL(gaps()),
		"epochs": insertSQL(epochs()), "cursors": insertSQL(cursors()), "applied": insertSQL(applied()),
		"labels": insertSQL(labels()), "feedback": insertSQL(feedback()),
		"deletions": insertSQL(deletions()), "deleted_ids": insertSQL(deletedIDs()), "calibration_answers": insertSQL(calibrationAnswers()), "calibrations": insertSQL(calibrations()),
	} {
		snapshot(t, "inserts/"+name+".sql", insert)
	}
}

// A deletion may take as long as its own limit says, whatever the limit of
// other answers is; that one stays.
func TestDeletionsHaveTheirOwnTimeLimit(t *testing.T) {
	cfg := DefaultConfig()
	cfg.DSN = "http://127.0.0.1:1/docket?read_timeout=2s"
	s, err := Open(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if own, other := s.patient().ReadTimeout, s.opts.ReadTimeout; own != deleteTimeout || other != 2*time.Second {
		t.Errorf("limits %v and %v, want %v and 2s", own, other, deleteTimeout)
	}
}
