package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"docket/internal/record"
	"docket/internal/store"
	"docket/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// output collects what a running program prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// await polls until f says true.
func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func env(pairs ...string) func(string) string {
	m := map[string]string{"DOCKET_STORE_QUERY_TIMEOUT": "2m"} // a busy machine takes its time
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "docket.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const settingsText = `
judge:
  backends:
    fixed: {format: static, static: {probability: 0.9, reason: says sorry}}
rubrics:
  support:
    criteria:
      - {name: apology, text: The reply apologises.}
      - {name: amount, text: The reply states the amount., threshold: 0.95}
rules:
  - {name: everything, rubric: support, rate: 1}
evaluator:
  poll: 20ms
  settle: 0s
`

// program runs the evaluator; base is where it serves, stop ends it.
func program(t *testing.T, getenv func(string) string, args ...string) (base string, out *output, stop func() error) {
	t.Helper()
	out = &output{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, args, getenv, out) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	listening := regexp.MustCompile(`evaluator listening on (http://[0-9.:]+)`)
	await(t, "the address in:\n"+out.String(), func() bool {
		if m := listening.FindStringSubmatch(out.String()); m != nil {
			base = m[1]
		}
		return base != ""
	})
	return base, out, stop
}

func fetch(t *testing.T, url string, into any) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		return
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("GET %s: %v: %s", url, err, body)
	}
}

// captured stores one exchange as the proxy does.
func captured(t *testing.T, dsn, answer string) record.Inference {
	t.Helper()
	return capturedAs(t, dsn, answer, func(*record.Inference) {})
}

// capturedAs stores one that is changed before.
func capturedAs(t *testing.T, dsn, answer string, change func(*record.Inference)) record.Inference {
	t.Helper()
	cfg := store.DefaultConfig()
	cfg.DSN = dsn
	db, err := store.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7()).String()
	inf := record.Inference{
		ID: id, Time: time.Now().UTC().Truncate(time.Microsecond), Project: "default", TraceID: strings.ReplaceAll(id, "-", ""), SpanID: "00f067aa0ba902b7",
		API: "openai.chat", Operation: "chat", Method: "POST", Path: "/v1/chat/completions", RequestModel: "m", TerminalState: record.StateComplete,
		Status: 200, Complete: true, CaptureLevel: record.CaptureFull, Stratum: record.StratumOK, FinishReason: "stop",
	}
	change(&inf)
	text := func(role, s string) record.Message {
		return record.Message{Role: role, Parts: []record.Part{{Type: record.PartText, Content: s}}}
	}
	body := record.Body{InferenceID: id, Time: inf.Time, Project: "default", Input: []record.Message{text("user", "refund me")}, Output: []record.Message{text("assistant", answer)}}
	if err := db.Write(t.Context(), record.Batch{Token: id, Inferences: []record.Inference{inf}, Bodies: []record.Body{body}}); err != nil {
		t.Fatal(err)
	}
	return inf
}

type verdictsAnswer struct {
	Verdicts []struct {
		InferenceID string `json:"inference_id"`
		Criterion   string
		Line        string
	}
}

func TestServeJudgesAndShows(t *testing.T) {
	dsn := storetest.DSN(t)
	file := write(t, settingsText)
	getenv := env("DOCKET_STORE", dsn)
	inf := captured(t, dsn, "Sorry!")
	base, _, stop := program(t, getenv, "serve", "--config", file, "--listen", "127.0.0.1:0")

	var got verdictsAnswer
	await(t, "verdicts", func() bool {
		fetch(t, base+"/api/v1/verdicts?trace_id="+inf.TraceID, &got)
		return len(got.Verdicts) == 2
	})
	lines := map[string]string{}
	for _, v := range got.Verdicts {
		lines[v.Criterion] = v.Line
	}
	want := map[string]string{
		"apology": "PASS judge: The reply apologises: scored 0.90, needed 0.50 — says sorry",
		"amount":  "FAIL judge: The reply states the amount: scored 0.90, needed 0.95 — says sorry",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if err := stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}

	// A second life goes on, and judges nothing again.
	captured(t, dsn, "Sorry again!")
	base, _, stop = program(t, getenv, "serve", "--config", file, "--listen", "127.0.0.1:0")
	await(t, "verdicts of the second life", func() bool {
		fetch(t, base+"/api/v1/verdicts", &got)
		return len(got.Verdicts) == 4
	})
	if err := stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	if n := strings.TrimSpace(storetest.Exec(t, dsn, "SELECT count() FROM judge_calls")); n != "2" {
		t.Errorf("the judge was called %s times for 2 replies", n)
	}
}

func TestServeWithoutAJudgeSaysSo(t *testing.T) {
	base, out, stop := program(t, env("DOCKET_STORE", storetest.DSN(t)), "serve", "--listen", "127.0.0.1:0")
	if !strings.Contains(out.String(), "Judging is off") {
		t.Errorf("the log does not say that judging is off:\n%s", out)
	}
	await(t, "the page", func() bool {
		res, err := http.Get(base + "/")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, _ := io.ReadAll(res.Body)
		return res.StatusCode == http.StatusOK && strings.Contains(string(body), "DOCKET_JUDGE_BACKEND")
	})
	await(t, "the tables", func() bool { return strings.Contains(out.String(), "the store is ready") })
	if err := stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}

// A judge set by the environment alone judges every reply by the starter rubric.
func TestJudgeFromTheEnvironment(t *testing.T) {
	dsn := storetest.DSN(t)
	inf := captured(t, dsn, "Here you are.")
	judge := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer fake-judge-key" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var q struct{ Questions map[string]any }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answers := map[string]any{}
		for id := range q.Questions {
			answers[id] = map[string]any{"type": "noul", "noul": 0.75}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": "decider-1", "answers": answers})
	})
	srv := newServer(t, judge)
	getenv := env("DOCKET_STORE", dsn, "DOCKET_JUDGE_BACKEND", "systemone", "DOCKET_JUDGE_URL", srv,
		"DOCKET_JUDGE_MODEL", "decider", "DOCKET_JUDGE_KEY", "fake-judge-key", "DOCKET_EVALUATOR_POLL", "20ms", "DOCKET_EVALUATOR_SETTLE", "0s")
	base, out, _ := program(t, getenv, "--listen", "127.0.0.1:0")
	var got verdictsAnswer
	await(t, "verdicts", func() bool {
		fetch(t, base+"/api/v1/verdicts?trace_id="+inf.TraceID, &got)
		return len(got.Verdicts) > 0
	})
	want := "PASS judge: The reply answers what the user asked for: scored 0.75, needed 0.50"
	if !strings.HasPrefix(got.Verdicts[0].Line, want) {
		t.Errorf("got  %q\nwant %q", got.Verdicts[0].Line, want)
	}
	if strings.Contains(out.String(), "fake-judge-key") {
		t.Errorf("the judge's key is in the log:\n%s", out)
	}
}

func TestStoreStartsLater(t *testing.T) {
	// The store's address is a server that refuses until it forwards to the engine.
	dsn := storetest.DSN(t)
	inf := captured(t, dsn, "Sorry!")
	gate := newGate(t, dsn)
	base, out, _ := program(t, env("DOCKET_STORE", gate.dsn), "serve", "--config", write(t, settingsText), "--listen", "127.0.0.1:0")
	await(t, "a word about the store", func() bool { return strings.Contains(out.String(), "the store is not ready") })
	res, err := http.Get(base + "/api/v1/inferences")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without a store: status %d, want 503", res.StatusCode)
	}
	gate.open.Store(true)
	var got verdictsAnswer
	await(t, "verdicts", func() bool {
		fetch(t, base+"/api/v1/verdicts?trace_id="+inf.TraceID, &got)
		return len(got.Verdicts) == 2
	})
}

func TestCheck(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"right":                 {settingsText, ""},
		"unknown section":       {"jugde: {}", "jugde"},
		"unknown key":           {"evaluator: {pol: 1s}", "pol"},
		"not YAML":              {"proxy:\n  listen: [\n", "line 2"},
		"proxy key":             {"proxy: {lissten: x}", "lissten"},
		"spool value":           {"capture: {spool: {sync: never}}", "sync"},
		"small segments":        {"capture: {max_body: 64MiB}", "spool.segment_bytes: 64MiB: want at least 129MiB"},
		"rule without rubric":   {"rules: [{name: a, rubric: none, rate: 1}]", `rubric "none"`},
		"rate of 0":             {strings.Replace(settingsText, "rate: 1", "rate: 0", 1), "rate 0"},
		"two rules of one name": {settingsText[:strings.Index(settingsText, "evaluator:")] + "  - {name: everything, rubric: support, rate: 0.5}\n", "a rule above has it too"},
		"weights all 0":         {strings.ReplaceAll(settingsText, "name: ", "weight: 0, name: "), "weight"},
		"threshold of 0":        {strings.Replace(settingsText, "threshold: 0.95", "threshold: 0", 1), "threshold"},
		"rubric without judge":  {"rubrics: {a: {criteria: [{text: The reply is short., threshold: 2}]}}", "threshold: 2"},
		"listen without token":  {"evaluator: {api: {listen: \"0.0.0.0:8081\"}}", `evaluator.api.listen: "0.0.0.0:8081"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), []string{"check", "--config", write(t, tt.text)}, env(), &out)
			if tt.want == "" {
				if err != nil || !strings.Contains(out.String(), "ok: 1 rubrics, 1 rules") {
					t.Errorf("error %v, output %s", err, out.String())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want an error with %q", err, tt.want)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(slices.Compact(slices.Clone(lines))) != len(lines) {
				t.Errorf("said twice:\n%v", err)
			}
		})
	}
}

// TestCheckOfTheProxy: what the proxy would refuse at its start is said here,
// whether the file says it or the environment.
func TestCheckOfTheProxy(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "none.pem")
	for name, c := range map[string]struct{ text, env, want string }{
		"right":            {"", "DOCKET_UPSTREAM=http://127.0.0.1:8000/v1", ""},
		"upstream":         {"", "DOCKET_UPSTREAM=ftp://u:fake-pw@host", "proxy.upstreams.openai.base_url"},
		"upstream's key":   {"", "DOCKET_UPSTREAM_KEY=fake-pw in two words", "proxy.upstreams.openai.key"},
		"variable":         {"", "DOCKET_PROXY_LISTEN=here", "proxy.listen"},
		"unknown variable": {"", "DOCKET_PROXY_LISSTEN=here", "DOCKET_PROXY_LISSTEN"},
		"preset":           {"proxy: {upstreams: {a: {preset: opnai}}}", "", "proxy.upstreams.a.preset"},
		"file":             {"proxy: {upstreams: {a: {preset: vllm, tls: {ca_file: " + ca + "}}}}", "", "proxy.upstreams.a.tls.ca_file"},
		"redaction":        {"capture: {redact: {rules: [{pattern: mail}]}}", "", "capture.redact.rules[0].pattern"},
		"redacted route":   {"capture: {redact: {rules: [{pattern: email, upstreams: [opnai]}]}}", "", "capture.redact.rules[0].upstreams"},
		"HMAC key":         {"capture: {redact: {hmac_key: fake-pw, rules: []}}", "", "capture.redact.hmac_key"},
		"right redaction":  {"capture: {redact: {rules: [{pattern: email, upstreams: [openai]}]}}", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			variable, value, _ := strings.Cut(c.env, "=")
			if variable != "" {
				t.Setenv(variable, value)
			}
			var out bytes.Buffer
			err := run(t.Context(), []string{"check", "--config", write(t, c.text)}, os.Getenv, &out)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || strings.Count(err.Error(), c.want) != 1 || strings.Contains(err.Error(), "fake-pw") {
				t.Errorf("got %v, want an error with %q once", err, c.want)
			}
		})
	}
}

// Rule 44: one property for each criterion.
func TestRule44CheckWarnsOfCriteriaWithSeveralProperties(t *testing.T) {
	got, err := printed(t, env(), "check", "--config", write(t, strings.Replace(settingsText, "The reply apologises.", "The reply apologises and is brief. It has no links.", 1)))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, `warning: rubrics.support: criterion "apology": its text has 2 sentences`, `joins properties with "and"`, "ok: 1 rubrics, 1 rules")
}

// A label that is given over the API is shown where the inference is.
func TestServeTakesLabels(t *testing.T) {
	dsn := storetest.DSN(t)
	inf := captured(t, dsn, "Sorry!")
	base, out, _ := program(t, env("DOCKET_STORE", dsn), "serve", "--config", write(t, settingsText), "--listen", "127.0.0.1:0")
	await(t, "the tables", func() bool { return strings.Contains(out.String(), "the store is ready") })
	body := `{"inference_id":"` + inf.ID + `","criterion":"amount","label":"fail","annotator":"ann","comment":"no sum"}`
	res, err := http.Post(base+"/api/v1/labels", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("status %d", res.StatusCode)
	}
	var got struct{ Labels []map[string]any }
	fetch(t, base+"/api/v1/inferences/"+inf.ID, &got)
	if len(got.Labels) != 1 || got.Labels[0]["label"] != "fail" || got.Labels[0]["annotator"] != "ann" || got.Labels[0]["selection_p"] != nil {
		t.Errorf("labels %v", got.Labels)
	}
}

func TestUnknownVerbAndArguments(t *testing.T) {
	for args, want := range map[string]string{"sevre": `unknown verb "sevre"`, "check more": `unknown argument "more"`, "migrate --dsn x": "not defined: -dsn"} {
		if err := run(t.Context(), strings.Fields(args), env(), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
	for _, arg := range []string{"help", "-h", "--help"} {
		var out bytes.Buffer
		if err := run(t.Context(), []string{arg}, env(), &out); err != nil || !strings.Contains(out.String(), "evaluator serve") {
			t.Errorf("%s: %v\n%s", arg, err, out.String())
		}
	}
}

func TestTakenAddressNamesTheSetting(t *testing.T) {
	srv := newServer(t, http.NotFoundHandler())
	err := run(t.Context(), []string{"serve", "--listen", strings.TrimPrefix(srv, "http://")}, env("DOCKET_STORE", "http://127.0.0.1:1/none"), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "evaluator.api.listen") {
		t.Errorf("got %v", err)
	}
	if errors.Is(err, context.Canceled) {
		t.Error("the start was cancelled instead of refused")
	}
}

func TestMigrate(t *testing.T) {
	dsn := storetest.DSN(t)
	var out bytes.Buffer
	for range 2 {
		if err := run(t.Context(), []string{"migrate", "--store", dsn}, env(), &out); err != nil {
			t.Fatal(err)
		}
	}
	if got := storetest.Exec(t, dsn, "SELECT count() FROM inferences"); strings.TrimSpace(got) != "0" {
		t.Errorf("inferences: %s", got)
	}
	storetest.Exec(t, dsn, fmt.Sprintf("INSERT INTO schema_migrations SELECT * REPLACE (%d AS version) FROM schema_migrations LIMIT 1", 4000))
	err := run(t.Context(), []string{"serve", "--store", dsn, "--listen", "127.0.0.1:0"}, env(), &out)
	if !errors.Is(err, store.ErrSchema) {
		t.Errorf("a database of a newer program: got %v", err)
	}
}
