package judge

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"

	"docket/e2e/program"
)

// sent is one request of the judge, from the reviewed files of its own tests.
type sent struct {
	name, path string
	body       json.RawMessage
}

// requests reads the files of one format.
func requests(t *testing.T, format string) []sent {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "internal", "judge", "testdata", "requests", format, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no requests of %s: %v", format, err)
	}
	var out []sent
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(strings.TrimPrefix(string(data), "POST "), "\nPOST ") {
			path, body, ok := strings.Cut(part, "\n")
			if !ok || !json.Valid([]byte(body)) {
				t.Fatalf("%s has no request at %.60q", file, part)
			}
			out = append(out, sent{filepath.Base(file), path, json.RawMessage(body)})
		}
	}
	return out
}

func bodies(t *testing.T, list []sent) string {
	t.Helper()
	var out []json.RawMessage
	for _, s := range list {
		out = append(out, s.body)
	}
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// got is what a library made of one answer.
type got struct {
	Model       string      `json:"model"`
	InputTokens int         `json:"input_tokens"`
	RequestID   string      `json:"request_id"`
	Answers     []gotAnswer `json:"answers"`
	Raised      string      `json:"raised"`
	Status      int         `json:"status"`
	Message     string      `json:"message"`
}

type gotAnswer struct {
	Name          string   `json:"name"`
	Type          string   `json:"type"`
	Probability   *float64 `json:"probability"`
	Choice        string   `json:"choice"`
	Score         *float64 `json:"score"`
	Probabilities any      `json:"probabilities"`
}

// sdk is an official client library, which sends requests to a base URL.
type sdk struct {
	name string
	send func(t *testing.T, base string, list []sent) []got
}

func scripted(t *testing.T, env []string, stdin string, argv ...string) []got {
	t.Helper()
	var out []got
	decode(t, program.Run(t, env, stdin, argv...), &out)
	return out
}

func typesafe() sdk {
	return sdk{"TypeSafe for JavaScript", func(t *testing.T, base string, list []sent) []got {
		return scripted(t, []string{"TYPESAFE_BASE_URL=" + base, "TYPESAFE_API_KEY=sk-fake"}, bodies(t, list), "node", script(t, filepath.Join("node", "systemone.mjs")))
	}}
}

func openAIs() []sdk {
	env := func(base string) []string {
		return []string{"OPENAI_BASE_URL=" + base + "/v1", "OPENAI_API_KEY=sk-fake"}
	}
	return []sdk{
		{"OpenAI for Node", func(t *testing.T, base string, list []sent) []got {
			return scripted(t, env(base), bodies(t, list), "node", script(t, filepath.Join("node", "decisions.mjs")))
		}},
		{"OpenAI for Python", func(t *testing.T, base string, list []sent) []got {
			return scripted(t, env(base), bodies(t, list), python(t), script(t, filepath.Join("python", "decisions.py")))
		}},
		{"OpenAI for Go", func(t *testing.T, base string, list []sent) []got {
			return scripted(t, env(base), bodies(t, list), built(t, "library"))
		}},
	}
}

// TestRequestsAreTheLibraries sends what the judge sends through the official
// libraries: path, key and body must come out the same, and the libraries must
// read the fakes' answers, refusals included.
func TestRequestsAreTheLibraries(t *testing.T) {
	formats := judgetest.Formats()
	for name, sdks := range map[string][]sdk{"systemone": {typesafe()}, "openai": openAIs(), "openai-text": openAIs()} {
		format := formats[slices.IndexFunc(formats, func(f judgetest.Format) bool { return f.Name == name })]
		list := requests(t, name)
		for _, lib := range sdks {
			t.Run(name+"/"+lib.name, func(t *testing.T) {
				t.Parallel()
				s := judgetest.NewServer(t, format)
				asked := 0
				s.Answer(func(judgetest.Question) judgetest.Answer {
					asked++
					return judgetest.Answer{P: 1 / float64(asked+1), Refuse: asked == 2 && name != "systemone"}
				})
				results := lib.send(t, s.URL(), list)
				checkSeen(t, s.Seen(), list)
				checkGot(t, results, name)
			})
		}
	}
}

func checkSeen(t *testing.T, seen []judgetest.Seen, list []sent) {
	t.Helper()
	if len(seen) != len(list) {
		t.Fatalf("%d requests arrived, want %d", len(seen), len(list))
	}
	for i, want := range list {
		if seen[i].Path != want.path || seen[i].Header.Get("Authorization") != "Bearer sk-fake" || seen[i].Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s with %v, want %s", want.name, seen[i].Path, seen[i].Header, want.path)
		}
		var a, b any
		decode(t, want.body, &a)
		decode(t, seen[i].Body, &b)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s: the judge (-) and the library (+) differ:\n%s", want.name, diff)
		}
	}
}

// checkGot wants the answers that checkSeen's server gave, in their order.
func checkGot(t *testing.T, results []got, format string) {
	t.Helper()
	asked := 0
	for _, g := range results {
		if g.Model != "fake-judge-7" || g.InputTokens != 300 || len(g.Answers) == 0 || g.Raised != "" {
			t.Errorf("%+v", g)
		}
		for _, a := range g.Answers {
			asked++
			want := map[string]string{"systemone": "noul"}[format]
			if want == "" {
				want = "predicate"
			}
			if asked == 2 && format != "systemone" {
				if a.Type != "refusal" || a.Probability != nil {
					t.Errorf("a refusal is read as %+v", a)
				}
				continue
			}
			if a.Type != want || a.Probability == nil || *a.Probability != 1/float64(asked+1) {
				t.Errorf("answer %d is read as %+v", asked, a)
			}
		}
	}
	if asked < 10 {
		t.Errorf("only %d answers", asked)
	}
}

// TestLibraryAndJudgeReadTheSame asks the whole fake through the TypeSafe
// library and through the judge.
func TestLibraryAndJudgeReadTheSame(t *testing.T) {
	srv := httptest.NewServer(judgetest.SystemOne{Key: "sk-fake"})
	t.Cleanup(srv.Close)
	verdicts := verdictsOf(t, srv.URL, "sk-fake")

	tools := slices.IndexFunc(requests(t, "systemone"), func(s sent) bool { return s.name == "tools.txt" })
	results := typesafe().send(t, srv.URL, requests(t, "systemone")[tools:tools+1])
	if results[0].RequestID != "req_fake" || len(results[0].Answers) != len(verdicts) {
		t.Fatalf("%+v", results[0])
	}
	slices.SortFunc(results[0].Answers, func(a, b gotAnswer) int { return strings.Compare(a.Name, b.Name) })
	for i, a := range results[0].Answers {
		if p := verdicts[i].Probability; p == nil || a.Probability == nil || *p != *a.Probability {
			t.Errorf("%s: the judge read %v, the library %v", a.Name, verdicts[i], a)
		}
	}

	for _, v := range verdictsOf(t, srv.URL, "sk-other") {
		if v.Reason != record.ReasonJudgeError || !strings.Contains(v.Detail, "wrong key") {
			t.Errorf("with a wrong key: %+v", v)
		}
	}
}

func verdictsOf(t *testing.T, url, key string) []record.Verdict {
	t.Helper()
	var b judge.BackendConfig
	b.SetDefaults()
	b.Format, b.URL, b.Model, b.Key = "systemone", url, "fake-judge", record.NewSecret(key)
	j := judgetest.New(t, b, judge.Rubric{Criteria: judgetest.Three()[:2]}, nil)
	return j.Judge(t.Context(), "r", judgetest.Unit()).Verdicts
}

// TestLibraryReadsEveryKind asks the whole fake for a choice and a score too,
// and with a wrong key.
func TestLibraryReadsEveryKind(t *testing.T) {
	ask := []sent{{body: json.RawMessage(`{"model":"jev-latest","state":["lamp","bulb"],"questions":{
		"yes":{"type":"noul"},
		"which":{"type":"choice","instructions":{"ask":"which"},"criteria":{"lamp":"a lamp","bulb":null}},
		"how":{"type":"score","instructions":"how bright","criteria":["dark","dim","bright"]}}}`)}}
	srv := httptest.NewServer(judgetest.SystemOne{Key: "sk-fake"})
	t.Cleanup(srv.Close)
	byName := map[string]gotAnswer{}
	for _, a := range typesafe().send(t, srv.URL, ask)[0].Answers {
		byName[a.Name] = a
	}
	yes, which, how := byName["yes"], byName["which"], byName["how"]
	if yes.Probability == nil || which.Choice != "lamp" && which.Choice != "bulb" || how.Score == nil || *how.Score < 0 || *how.Score > 2 {
		t.Errorf("%+v", byName)
	}
	other := httptest.NewServer(judgetest.SystemOne{Key: "sk-other"})
	t.Cleanup(other.Close)
	refused := typesafe().send(t, other.URL, ask)[0]
	if refused.Status != http.StatusUnauthorized || !strings.Contains(refused.Message, "wrong key") {
		t.Errorf("%+v", refused)
	}
}
