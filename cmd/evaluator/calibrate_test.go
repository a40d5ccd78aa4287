package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"docket/internal/quality"
	"docket/internal/record"
	"docket/internal/store/storetest"
)

// labelLines are n cases; every fourth fails, and the reply says what the
// scripted judge will think of it.
func labelLines(n int) string {
	var b strings.Builder
	for i := range n {
		human, word := "pass", "good"
		if i%4 == 0 {
			human, word = "fail", "bad"
		}
		if i%10 == 0 { // the judge is wrong
			word = map[string]string{"good": "bad", "bad": "good"}[word]
		}
		fmt.Fprintf(&b, `{"id":"case-%d","criterion":{"name":"fine","text":"The reply is fine."},"messages":[{"role":"user","content":"Go %d"},{"role":"assistant","content":"a %s one"}],"sources":["s"],"human":%q,"licence":"own"}`+"\n", i, i, word, human)
	}
	return b.String()
}

func report(t *testing.T, dsn, criterion string) (quality.Report, record.Calibration) {
	t.Helper()
	db := openTestStore(t, dsn)
	rows, err := db.Calibrations(t.Context(), "support")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Criterion == criterion {
			var r quality.Report
			if err := json.Unmarshal([]byte(row.Report), &r); err != nil {
				t.Fatal(err)
			}
			return r, row
		}
	}
	t.Fatalf("no report on %s in %+v", criterion, rows)
	return quality.Report{}, record.Calibration{}
}

func TestCalibrateWithAFile(t *testing.T) {
	dsn := storetest.DSN(t)
	judge := &scriptedJudge{answers: map[string]float64{"a good one": 0.9, "a bad one": 0.2}}
	config, getenv := write(t, judgedBy(t, judge)), env("DOCKET_STORE", dsn)
	labels := file(t, "labels.jsonl", labelLines(40)+`{"criterion":"fine","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}],"human":"unsure"}`+"\n\n")
	got, err := printed(t, getenv, "calibrate", "--config", config, "--labels", labels, "--fit", "platt", "--repeat", "2")
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	contains(t, got, "40 labelled cases of ", "labels left out: 1 unsure, 0 partial", "0 answers are there already, 80 to ask for", "judged 80/80",
		"judge decider, model decider-1, method decision",
		"40 cases, 30 of them pass: base rate 0.750; a judge that always says pass has accuracy 0.750",
		"accuracy              0.900  ", "failure recall        0.800  ", "suggested threshold 0.50",
		"asked again (40 cases): SD of the probability 0.000, same verdict each time in 1.000",
		"Platt calibration, out of fold: Brier 0.", "calibration: {slope: ", "1 reports stored in calibrations")
	if n := len(judge.requests()); n != 80 {
		t.Errorf("%d requests, want 80", n)
	}
	if strings.Contains(got, "not shown to be better") {
		t.Errorf("a good judge is warned of:\n%s", got)
	}
	r, row := report(t, dsn, "fine")
	if row.N != 40 || row.JudgeModel != "decider-1" || row.Method != "decision" || row.Slope == nil || row.JudgeConfig == "" || row.Labels != labels {
		t.Errorf("row %+v", row)
	}
	if r.Accuracy != 0.9 || r.Fit == nil || len(r.Points) != 13 || len(r.Bins) != 10 || !(r.Intervals.Accuracy.Low < 0.9) {
		t.Errorf("report %+v", r)
	}
	// What is printed is ready to be written into the settings.
	at := strings.Index(got, "calibration: {")
	line := got[at : at+strings.Index(got[at:], "}")+1]
	text := strings.Replace(judgedBy(t, judge), "criteria:", "use_calibrated: true\n    criteria:\n      - {name: fine, text: The reply is fine., "+line+"}", 1)
	lines := strings.Split(text, "\n")
	text = strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "apology") || strings.Contains(l, "amount") }), "\n")
	one := file(t, "c.json", `{"messages":[{"role":"user","content":"Go"},{"role":"assistant","content":"a good one"}]}`)
	if got, err = printed(t, getenv, "judge", "--config", write(t, text), "--file", one); err != nil || !strings.Contains(got, "[calibrated]") {
		t.Errorf("%v\n%s", err, got)
	}
	text = strings.Replace(text, "model: decider", "model: other", 1)
	if _, err = printed(t, getenv, "check", "--config", write(t, text)); err == nil || !strings.Contains(err.Error(), "fitted for another judge configuration") {
		t.Errorf("another model: %v", err)
	}

	// Nothing of it is taken for a verdict on traffic.
	if n := strings.TrimSpace(storetest.Exec(t, dsn, "SELECT count() FROM verdicts")); n != "0" {
		t.Errorf("%s verdicts", n)
	}

	// Everything is answered now; another judge configuration starts anew.
	got, err = printed(t, getenv, "calibrate", "--config", config, "--labels", labels)
	if err != nil || len(judge.requests()) != 81 {
		t.Errorf("%v, %d requests\n%s", err, len(judge.requests()), got)
	}
	contains(t, got, "40 answers are there already, 0 to ask for")
	other := write(t, strings.Replace(judgedBy(t, judge), "model: decider", "model: decider-xl", 1))
	got, err = printed(t, getenv, "calibrate", "--config", other, "--labels", labels, "--limit", "8")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "0 answers are there already, 8 to ask for", "8 cases, 6 of them pass")
	if reports := strings.TrimSpace(storetest.Exec(t, dsn, "SELECT uniqExact(judge_config) FROM calibrations")); reports != "2" {
		t.Errorf("reports for %s configurations, want 2", reports)
	}
}

// A run that is stopped keeps what it was answered, and goes on from there.
func TestCalibrateGoesOnAfterAStop(t *testing.T) {
	dsn := storetest.DSN(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls atomic.Int64
	judge := &scriptedJudge{answers: map[string]float64{"good": 0.9, "bad": 0.2}}
	stops := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 70 {
			cancel()
		}
		judge.ServeHTTP(w, r)
	})
	text := strings.Replace(judgedBy(t, judge), "judge:", "judge:\n  default_backend: decider", 1)
	at := strings.Index(text, `url: "`) + len(`url: "`)
	text = text[:at] + newServer(t, stops) + text[at+strings.Index(text[at:], `"`):]
	config, getenv, labels := write(t, text), env("DOCKET_STORE", dsn), file(t, "l.jsonl", labelLines(120))
	var out output
	err := run(ctx, []string{"calibrate", "--config", config, "--labels", labels}, getenv, &out)
	if err == nil || !strings.Contains(err.Error(), "the same command goes on from here") {
		t.Fatalf("%v\n%s", err, out.String())
	}
	var kept int
	if _, err := fmt.Sscan(storetest.Exec(t, dsn, "SELECT count() FROM calibration_answers WHERE probability IS NOT NULL"), &kept); err != nil || kept < 50 || kept >= 120 {
		t.Fatalf("%d answers kept: %v", kept, err)
	}
	got, err := printed(t, getenv, "calibrate", "--config", config, "--labels", labels)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, fmt.Sprintf("%d answers are there already, %d to ask for", kept, 120-kept), "120 cases, 90 of them pass")
}

// Labels that people gave on the page; live verdicts of the same configuration
// are not asked for again.
func TestCalibrateWithLabelsOfTheStore(t *testing.T) {
	dsn := storetest.DSN(t)
	judge := &scriptedJudge{answers: map[string]float64{"Sorry": 0.9, "No way": 0.1}}
	config, getenv := write(t, judgedBy(t, judge)), env("DOCKET_STORE", dsn)
	db := openTestStore(t, dsn)
	var labels []record.Label
	label := func(inf record.Inference, criterion, who, what string) {
		labels = append(labels, record.Label{Time: inf.Time, Project: inf.Project, Criterion: criterion, InferenceID: inf.ID, Annotator: who, Label: what})
	}
	for i := range 6 {
		inf := captured(t, dsn, map[bool]string{true: "Sorry!", false: "No way."}[i%2 == 0])
		label(inf, "apology", "ann", map[bool]string{true: "pass", false: "fail"}[i%2 == 0])
		switch i {
		case 0:
			label(inf, "apology", "bob", "fail") // a tie
		case 1:
			label(inf, "apology", "bob", "fail")
			label(inf, "amount", "bob", "unsure")
		}
	}
	label(record.Inference{ID: "0197b9a0-0000-7000-8000-000000000001", Project: "default"}, "apology", "ann", "pass")
	if _, err := printed(t, getenv, "calibrate", "--config", config); err == nil || !strings.Contains(err.Error(), "no labelled case") {
		t.Errorf("without labels: %v", err)
	}
	if err := db.WriteLabels(t.Context(), labels); err != nil {
		t.Fatal(err)
	}
	judgeAll(t, dsn, config, 12)
	asked := len(judge.requests())
	got, err := printed(t, getenv, "calibrate", "--config", config, "--rubric", "support")
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	contains(t, got, "5 labelled cases of store; labels left out: 1 unsure, 0 partial, 1 disputed, 1 whose bodies are not kept",
		"5 answers are there already, 0 to ask for", "5 cases, 2 of them pass", "accuracy              1.000")
	if strings.Contains(got, "criterion amount") || len(judge.requests()) != asked {
		t.Errorf("%d requests more:\n%s", len(judge.requests())-asked, got)
	}
}

// A criterion that people find met in part is not met, unless it is to be left
// out.
func TestCalibratePartialLabels(t *testing.T) {
	config := write(t, judgedBy(t, &scriptedJudge{answers: map[string]float64{"good": 0.9, "bad": 0.2}}))
	labels := file(t, "l.jsonl", strings.Replace(labelLines(8), `"human":"pass"`, `"human":"partial"`, 2))
	for partial, wants := range map[string][]string{
		"fail": {"8 labelled cases", "2 labels say partial and count as fail", "8 cases, 4 of them pass"},
		"skip": {"6 labelled cases", "labels left out: 0 unsure, 2 partial", "6 cases, 4 of them pass"},
	} {
		got, err := printed(t, env(), "calibrate", "--config", config, "--labels", labels, "--no-store", "--partial", partial)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, got, wants...)
	}
}

// What the judge cannot answer is in no figure, and said.
func TestCalibrateCountsWhatIsUnanswered(t *testing.T) {
	var calls atomic.Int64
	flaky := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p := "0.8"
		if calls.Add(1)%2 == 0 {
			p = "1.8"
		}
		fmt.Fprintf(w, `{"model":"m","answers":{"q1":{"type":"noul","noul":%s}}}`, p)
	})
	config := write(t, `{judge: {backends: {d: {format: systemone, url: "`+newServer(t, flaky)+`", model: d}}}, rubrics: {r: {criteria: [The reply is kind.]}}, evaluator: {concurrency: 1}}`)
	labels := file(t, "l.jsonl", strings.ReplaceAll(labelLines(8), `"criterion":{"name":"fine","text":"The reply is fine."},`, ""))
	got, err := printed(t, env(), "calibrate", "--config", config, "--labels", labels, "--no-store", "--fit", "platt")
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	contains(t, got, "criterion the_reply_is_kind: The reply is kind.", "4 cases", "not shown to be better than chance", "not in any figure above: 4 out_of_range", "no threshold from 0.30 to 0.90 does better than chance")
	if strings.Contains(got, "stored") {
		t.Errorf("--no-store stored something:\n%s", got)
	}
}

func TestCalibrateProblems(t *testing.T) {
	config := write(t, judgedBy(t, &scriptedJudge{}))
	good := file(t, "l.jsonl", labelLines(4))
	for name, c := range map[string]struct {
		want string
		args []string
	}{
		"fit":           {`--fit "isotonic"`, []string{"--fit", "isotonic"}},
		"partial":       {`--partial "x"`, []string{"--partial", "x"}},
		"repeat":        {"--repeat 0", []string{"--repeat", "0"}},
		"limit":         {"--limit -1", []string{"--limit", "-1"}},
		"no store":      {"--no-store", []string{"--no-store"}},
		"rubric":        {`--rubric "x"`, []string{"--rubric", "x", "--labels", good, "--no-store"}},
		"missing file":  {"no such file", []string{"--labels", good + "x", "--no-store"}},
		"store is away": {"--no-store works without one", []string{"--labels", good, "--store", "http://127.0.0.1:1/none"}},
		"human":         {`l.jsonl:2: human: "good"`, []string{"--no-store", "--labels", file(t, "l.jsonl", labelLines(1)+`{"human":"good"}`)}},
		"no criterion":  {"l.jsonl:1: criterion: missing", []string{"--no-store", "--labels", file(t, "l.jsonl", strings.Replace(labelLines(1), `"criterion":`, `"criterion_":`, 1))}},
		"no messages":   {"messages: none", []string{"--no-store", "--labels", file(t, "l.jsonl", `{"human":"pass","criterion":"apology"}`)}},
		"threshold":     {"threshold", []string{"--no-store", "--labels", file(t, "l.jsonl", strings.Replace(labelLines(1), `"name":"fine"`, `"threshold":7`, 1))}},
		"empty":         {"no labelled case", []string{"--no-store", "--labels", file(t, "l.jsonl", "\n")}},
	} {
		if got, err := printed(t, env(), append([]string{"calibrate", "--config", config}, c.args...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q\n%s", name, err, c.want, got)
		}
	}
}

// A label that names a criterion of the rubric is about the rubric's; one that
// words it otherwise wins, and that is said.
func TestRule25CalibrateCriteriaOfTheFile(t *testing.T) {
	config := write(t, judgedBy(t, &scriptedJudge{answers: map[string]float64{"apologises": 0.9, "sorry": 0.3}}))
	for criterion, wants := range map[string][2]string{
		`"apology"`: {"criterion apology: The reply apologises.", ""},
		`{"name":"apology","text":"The reply says sorry."}`: {"criterion apology: The reply says sorry.", "note: the file's criterion apology differs from the rubric's"},
	} {
		labels := file(t, "l.jsonl", strings.ReplaceAll(labelLines(4), `{"name":"fine","text":"The reply is fine."}`, criterion))
		got, err := printed(t, env(), "calibrate", "--config", config, "--labels", labels, "--no-store")
		if err != nil {
			t.Fatal(err)
		}
		contains(t, got, wants[0], wants[1])
		if wants[1] == "" && strings.Contains(got, "differs from the rubric's") {
			t.Errorf("%s is the rubric's own:\n%s", criterion, got)
		}
	}
}
