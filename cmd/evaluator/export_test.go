package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"docket/internal/query"
	"docket/internal/record"
	"docket/internal/store"
	"docket/internal/store/storetest"
)

func exportStore(t *testing.T, dsn string) *store.Store {
	t.Helper()
	cfg := store.DefaultConfig()
	cfg.DSN = dsn
	db, err := store.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// recordMany stores n calls; many share their time, and each has bodies.
func recordMany(t *testing.T, db *store.Store, n int) []record.Inference {
	t.Helper()
	at := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	b := record.Batch{Token: "many"}
	for i := range n {
		id := uuid.Must(uuid.NewV7()).String()
		inf := record.Inference{
			ID: id, Time: at.Add(-time.Duration(i/700) * time.Minute), Project: "default", TraceID: strings.ReplaceAll(id, "-", ""),
			UserID: []string{"ann", "bob"}[i%2], ConversationID: fmt.Sprint("c", i/10), Operation: "chat", API: "openai.chat", RequestModel: "m",
			TerminalState: record.StateComplete, Status: 200, Complete: true, CaptureLevel: record.CaptureFull, Stratum: record.StratumOK,
			RequestBytes: uint64(i%3) << 12, ResponseBytes: 7,
		}
		say := func(role, text string) []record.Message {
			return []record.Message{{Role: role, Parts: []record.Part{{Type: record.PartText, Content: text}}}}
		}
		b.Inferences = append(b.Inferences, inf)
		b.Bodies = append(b.Bodies, record.Body{
			InferenceID: inf.ID, Time: inf.Time, Project: "default", Request: fmt.Appendf(nil, `{"n":%d}`, i), Response: []byte{0xff},
			Input: say("user", fmt.Sprint("question <", i, ">")), Output: say("assistant", fmt.Sprint("answer ", i)),
		})
	}
	if err := db.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return b.Inferences
}

// know adds everything else that can be known about a call.
func know(t *testing.T, db *store.Store, inf record.Inference) {
	t.Helper()
	id, now := inf.ID, inf.Time
	var verdicts []record.Verdict
	for i := range 3 {
		verdicts = append(verdicts, record.Verdict{
			ID: fmt.Sprint("v", i, id), JudgedAt: now, Time: now, Project: "default", InferenceID: id, RunID: "r" + id, Rubric: "support", Criterion: fmt.Sprint("c", i),
			CriterionIndex: uint16(i), Outcome: record.OutcomeFail, Threshold: 0.5, InclusionP: 0.25, Detail: "a <b> & c",
		})
	}
	calls := []record.JudgeCall{{ID: "call" + id, RunID: "r" + id, Time: now, UnitTime: now, Project: "default", InferenceID: id, Rubric: "support", Latency: time.Second}}
	if err := db.WriteVerdicts(t.Context(), calls, verdicts); err != nil {
		t.Fatal(err)
	}
	labels := []record.Label{{Time: now, Project: "default", Criterion: "apology", InferenceID: id, Annotator: "ann", Label: record.LabelPass}}
	if err := db.WriteLabels(t.Context(), labels); err != nil {
		t.Fatal(err)
	}
	if err := db.WriteFeedback(t.Context(), []record.Feedback{{ID: "f" + id, Time: now, Updated: now, InferenceID: id, Label: "down"}}); err != nil {
		t.Fatal(err)
	}
}

// exported runs the verb and returns the lines of the file.
func exported(t *testing.T, dsn, name string, args ...string) [][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := run(t.Context(), append([]string{"export", "--out", path}, args...), env("DOCKET_STORE", dsn), io.Discard); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	return linesOf(t, r)
}

func linesOf(t *testing.T, r io.Reader) (out [][]byte) {
	t.Helper()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		out = append(out, bytes.Clone(lines.Bytes()))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

type exportedLine struct {
	ID   string
	User string
	Time time.Time
}

func heads(t *testing.T, lines [][]byte) []exportedLine {
	t.Helper()
	out := make([]exportedLine, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal(line, &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestExportManyCalls(t *testing.T) {
	dsn := storetest.DSN(t)
	db := exportStore(t, dsn)
	const n = 10_500
	calls := recordMany(t, db, n)
	for _, i := range []int{0, 499, 500, n - 1} { // at the ends of pages, too
		know(t, db, calls[i])
	}
	lines := exported(t, dsn, "all.jsonl.gz")
	got := heads(t, lines)
	for i := 1; i < len(got); i++ {
		if got[i].Time.After(got[i-1].Time) {
			t.Fatalf("line %d is newer than the one before", i)
		}
	}
	byID := map[string][]byte{}
	for i, h := range got {
		byID[h.ID] = lines[i]
	}
	if len(lines) != n || len(byID) != n {
		t.Fatalf("%d lines of %d calls, want %d of each", len(lines), len(byID), n)
	}
	// Each line is what the API shows, to the byte.
	h, err := query.New(query.DefaultConfig(), query.Options{Store: db, Labels: db, Feedback: db, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, 499, 500, n - 1} {
		res := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/inferences/"+calls[i].ID, nil)
		req.Host = "localhost"
		h.ServeHTTP(res, req)
		if diff := cmp.Diff(res.Body.String(), string(byID[calls[i].ID])); diff != "" {
			t.Errorf("call %d (-API +export):\n%s", i, diff)
		}
	}
	if !bytes.Contains(byID[calls[0].ID], []byte(`"label":"down"`)) || !bytes.Contains(byID[calls[0].ID], []byte(`"criterion":"c2"`)) {
		t.Errorf("the line lacks feedback or verdicts: %s", byID[calls[0].ID])
	}

	ofAnn := heads(t, exported(t, dsn, "ann.jsonl", "--user", "ann", "--with", "none"))
	if len(ofAnn) != n/2 || slices.ContainsFunc(ofAnn, func(l exportedLine) bool { return l.User != "ann" }) {
		t.Errorf("%d lines of one user, want %d", len(ofAnn), n/2)
	}
}

func TestExportFiltersAndParts(t *testing.T) {
	dsn := storetest.DSN(t)
	db := exportStore(t, dsn)
	calls := recordMany(t, db, 30)
	know(t, db, calls[3])
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"conversation":  {[]string{"--conversation", "c1"}, 10},
		"rubric":        {[]string{"--rubric", "support"}, 1},
		"criterion":     {[]string{"--criterion", "c1", "--outcome", "fail"}, 1},
		"outcome":       {[]string{"--outcome", "pass"}, 0},
		"feedback":      {[]string{"--feedback", "any"}, 1},
		"other label":   {[]string{"--feedback", "up"}, 0},
		"since":         {[]string{"--since", "2h"}, 30},
		"later":         {[]string{"--since", "30m"}, 0},
		"until":         {[]string{"--until", "1d"}, 0},
		"other project": {[]string{"--project", "x"}, 0},
	} {
		if got := len(exported(t, dsn, "x.jsonl", c.args...)); got != c.want {
			t.Errorf("%s: %d lines, want %d", name, got, c.want)
		}
	}
	var keys map[string]json.RawMessage
	line := exported(t, dsn, "x.jsonl", "--rubric", "support", "--with", "verdicts, feedback")[0]
	if err := json.Unmarshal(line, &keys); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"verdicts": true, "feedback": true, "labels": false, "judge_calls": false, "messages": false, "request": false, "trace_id": true} {
		if _, ok := keys[key]; ok != want {
			t.Errorf("key %s: %t, want %t", key, ok, want)
		}
	}
	var out output
	if err := run(t.Context(), []string{"export", "--out", "-", "--conversation", "c0"}, env("DOCKET_STORE", dsn), &out); err != nil {
		t.Fatal(err)
	}
	if got := linesOf(t, strings.NewReader(out.String())); len(got) != 10 {
		t.Errorf("%d lines on the standard output", len(got))
	}
}

// What is not whole does not appear.
func TestExportLeavesNoHalfFile(t *testing.T) {
	dsn := storetest.DSN(t)
	recordMany(t, exportStore(t, dsn), 5)
	dir := t.TempDir()
	l, err := createLines(filepath.Join(dir, "x.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	l.abandon()
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	for want, args := range map[string][]string{
		"--out: missing":             {},
		`--with "x": want some of`:   {"--out", "-", "--with", "x"},
		`--outcome "x": want one of`: {"--out", "-", "--outcome", "x"},
		`--since "x": want a time`:   {"--out", "-", "--since", "x"},
		"want a time before --until": {"--out", "-", "--since", "1h", "--until", "2h"},
		"no such file or directory":  {"--out", filepath.Join(dir, "missing", "x")},
	} {
		if err := run(t.Context(), append([]string{"export"}, args...), env("DOCKET_STORE", dsn), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}

// One exported call can be judged again, and exported calls with labels are
// cases for calibrate.
func TestExportedLinesAreCases(t *testing.T) {
	dsn := storetest.DSN(t)
	db := exportStore(t, dsn)
	calls := recordMany(t, db, 20)
	for i, inf := range calls[:12] {
		label := record.LabelPass
		if i%3 == 0 {
			label = record.LabelFail
		}
		if err := db.WriteLabels(t.Context(), []record.Label{{Time: time.Now(), Project: "default", Criterion: "apology", InferenceID: inf.ID, Annotator: "ann", Label: label}}); err != nil {
			t.Fatal(err)
		}
	}
	lines := exported(t, dsn, "x.jsonl")
	dir := t.TempDir()
	one, all := filepath.Join(dir, "one.json"), filepath.Join(dir, "all.jsonl")
	for path, data := range map[string][]byte{one: lines[0], all: bytes.Join(lines, []byte("\n"))} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := write(t, settingsText)
	var out output
	if err := run(t.Context(), []string{"judge", "--config", file, "--rubric", "support", "--file", one}, env(), &out); err != nil || !strings.Contains(out.String(), "PASS judge: The reply apologises") {
		t.Errorf("judge: %v: %s", err, out.String())
	}
	out = output{}
	if err := run(t.Context(), []string{"calibrate", "--config", file, "--rubric", "support", "--labels", all}, env("DOCKET_STORE", dsn), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "8 exported calls have no label on a criterion of the rubric") || !strings.Contains(out.String(), "12 cases") {
		t.Errorf("calibrate: %s", out.String())
	}
}
