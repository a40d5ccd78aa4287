package judge

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"

	"docket/e2e/program"
)

// TestFakeConforms runs the public conformance suite of System One, which tries
// the official Python library too, against the fake.
func TestFakeConforms(t *testing.T) {
	for name, key := range map[string]string{"open": "", "with a key": "sk-fake"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(judgetest.SystemOne{Key: key})
			t.Cleanup(srv.Close)
			file := filepath.Join(t.TempDir(), "report.json")
			argv := []string{suite(t), "test", srv.URL, "--json", file}
			if key != "" {
				argv = append(argv, "--key", key)
			}
			out := string(program.Run(t, nil, "", argv...))
			checkReport(t, file, key != "", out)
		})
	}
}

// checkReport wants every requirement to be met: those about keys where there
// is one, and that keys are ignored where there is none.
func checkReport(t *testing.T, file string, keyed bool, shown string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Results []struct{ ID, Status string }
	}
	decode(t, data, &report)
	if len(report.Results) < 48 {
		t.Errorf("the suite has %d requirements, want 48 or more", len(report.Results))
	}
	without := []string{"auth.bearer", "auth.missing", "auth.invalid"}
	if keyed {
		without = []string{"auth.ignored-when-off"}
	}
	for _, r := range report.Results {
		if r.Status != "pass" && !slices.Contains(without, r.ID) {
			t.Errorf("%s: %s\n%s", r.ID, r.Status, shown)
		}
	}
}

// suite is the conformance suite's command.
func suite(t *testing.T) string {
	t.Helper()
	return program.Existing(t, filepath.Join(filepath.Dir(python(t)), "jevcompat"), ".venv/bin/pip install --no-deps -r e2e/judge/requirements.txt")
}

// TestClientAgainstReference asks the suite's reference server, clean and with
// each of its faults. A fault that makes an answer unreadable is inconclusive
// with a reason; all others leave the answers as they are.
func TestClientAgainstReference(t *testing.T) {
	urls := startReferences(t)
	clean := referenceVerdicts(t, urls[""])
	for _, v := range clean {
		if v.Probability == nil || v.JudgeModel != "jevcompat-mock-0.1" {
			t.Fatalf("the clean server gave %+v", v)
		}
	}
	unreadable := map[string]string{
		"wrong-route":         record.ReasonJudgeError,
		"auth-rejects-header": record.ReasonJudgeError,
		"auth-x-api-key":      record.ReasonJudgeError,
		"reject-jev-latest":   record.ReasonJudgeError,
		"xssi-200":            record.ReasonMalformed,
		"nan":                 record.ReasonMalformed,
		"noul-range":          record.ReasonOutOfRange,
	}
	for name, url := range urls {
		t.Run(name, func(t *testing.T) {
			for i, v := range referenceVerdicts(t, url) {
				want := unreadable[name]
				if name == "first-question-only" && i > 0 {
					want = record.ReasonMissingAnswer
				}
				leaks := strings.HasSuffix(name, "-leaks") // another model, in effect
				switch {
				case want != "" && (v.Outcome != record.OutcomeInconclusive || v.Reason != want || v.Probability != nil):
					t.Errorf("%s: %s, %s, %v: want inconclusive, %s", v.Criterion, v.Outcome, v.Reason, v.Probability, want)
				case want == "" && v.Probability == nil:
					t.Errorf("%s: %s, %s: %s", v.Criterion, v.Outcome, v.Reason, v.Detail)
				case want == "" && !leaks && *v.Probability != *clean[i].Probability:
					t.Errorf("%s: %v, and %v from the clean server", v.Criterion, *v.Probability, *clean[i].Probability)
				}
			}
		})
	}
}

// startReferences starts the reference servers and returns their URLs, by
// fault; "" is the clean one.
func startReferences(t *testing.T) map[string]string {
	t.Helper()
	cmd := exec.Command(python(t), script(t, filepath.Join("python", "mocks.py")))
	cmd.Env, cmd.Stderr = program.CleanEnviron(), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	var urls map[string]string
	if err := json.NewDecoder(stdout).Decode(&urls); err != nil {
		t.Fatal(fmt.Errorf("the reference servers did not start: %w", err))
	}
	if len(urls) < 50 {
		t.Fatalf("%d reference servers, want 50 or more", len(urls))
	}
	return urls
}

func referenceVerdicts(t *testing.T, url string) []record.Verdict {
	t.Helper()
	var b judge.BackendConfig
	b.SetDefaults()
	b.Profile, b.URL, b.Model, b.Key = "typesafe", url, "jev-latest", record.NewSecret("sk-fake")
	j := judgetest.New(t, b, judge.Rubric{Criteria: judgetest.Three()}, nil)
	return j.Judge(t.Context(), "r", judgetest.Unit()).Verdicts
}
