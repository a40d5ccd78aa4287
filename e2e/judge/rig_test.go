package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"docket/e2e/program"
)

// rig is an installation in one folder, with an upstream whose replies are
// scripted.
type rig struct {
	t                              *testing.T
	replies                        map[string]string // by the user's message
	engineAddr, proxyAddr, apiAddr string
}

// startRig starts engine, proxy and evaluator with these settings of judge,
// rubrics and rules.
func startRig(t *testing.T, settings string, replies map[string]string) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, replies: replies, engineAddr: program.FreeAddr(t), proxyAddr: program.FreeAddr(t), apiAddr: program.FreeAddr(t)}
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("password", "e2e-password")
	write("docket.yaml", settings+"\nevaluator:\n  poll: 100ms\n  settle: 200ms\n")
	upstream := httptest.NewServer(http.HandlerFunc(r.upstream))
	t.Cleanup(upstream.Close)

	env := []string{"DOCKET_STORE=http://default:e2e-password@" + r.engineAddr + "/docket"}
	start(t, r.engineAddr, dir, nil, []string{
		built(t, "localclickhouse"), "--listen", r.engineAddr, "--lib", program.Library(t, "../.."),
		"--data", filepath.Join(dir, "clickhouse"), "--password-file", filepath.Join(dir, "password"),
	})
	start(t, r.proxyAddr, dir, env, []string{
		built(t, "proxy"), "--config", "docket.yaml", "--listen", r.proxyAddr, "--ops-listen", "127.0.0.1:0",
		"--upstream", upstream.URL + "/v1", "--spool", filepath.Join(dir, "spool"),
	})
	start(t, r.apiAddr, dir, env, []string{built(t, "evaluator"), "serve", "--config", "docket.yaml", "--listen", r.apiAddr})
	return r
}

// upstream answers a chat request with the scripted reply.
func (r *rig) upstream(w http.ResponseWriter, req *http.Request) {
	var in struct {
		Messages []struct{ Role, Content string } `json:"messages"`
	}
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
		http.Error(w, "no chat request", http.StatusBadRequest)
		return
	}
	asked := in.Messages[len(in.Messages)-1].Content
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "shop-assistant",
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": r.replies[asked]},
		}},
		"usage": map[string]any{"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30},
	})
}

// ask sends a user's message through the proxy.
func (r *rig) ask(message string) {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"model": "shop-assistant", "messages": []any{
		map[string]string{"role": "system", "content": "You are the assistant of a small shop."},
		map[string]string{"role": "user", "content": message},
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := http.Post("http://"+r.proxyAddr+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(got), r.replies[message]) {
		r.t.Fatalf("the client got %d %s (%v), want %q", res.StatusCode, got, err, r.replies[message])
	}
}

// verdict is a verdict as the read API shows it, as far as tests look.
type verdict struct {
	InferenceID string   `json:"inference_id"`
	Rubric      string   `json:"rubric"`
	Criterion   string   `json:"criterion"`
	Backend     string   `json:"backend"`
	JudgeModel  string   `json:"judge_model"`
	Method      string   `json:"method"`
	Outcome     string   `json:"outcome"`
	Reason      *string  `json:"reason"`
	Probability *float64 `json:"probability"`
	LabelMass   *float64 `json:"label_mass"`
	Threshold   float64  `json:"threshold"`
	Origin      string   `json:"origin"`
	Line        string   `json:"line"`
}

// judgeCall is a request to a judge as the read API shows it.
type judgeCall struct {
	Rubric        string  `json:"rubric"`
	Outcome       string  `json:"outcome"`
	Format        string  `json:"format"`
	ResolvedModel *string `json:"resolved_model"`
	Questions     int     `json:"questions"`
	InputTokens   *int    `json:"input_tokens"`
	Attempts      int     `json:"attempts"`
	TraceID       *string `json:"trace_id"`
}

// call is an inference with what the judges said about it.
type call struct {
	ID       string                 `json:"id"`
	Reply    struct{ Text *string } `json:"reply"`
	Verdicts []verdict              `json:"verdicts"`
	Calls    []judgeCall            `json:"judge_calls"`
}

// judged waits until every call has this many verdicts, and returns the calls.
func (r *rig) judged(calls, verdicts int) []call {
	r.t.Helper()
	var out []call
	program.Await(r.t, fmt.Sprintf("%d calls with %d verdicts each", calls, verdicts), 3*time.Minute, func() bool {
		var list struct {
			Inferences []struct {
				ID string `json:"id"`
			} `json:"inferences"`
		}
		out = nil
		if !r.read("/inferences", &list) || len(list.Inferences) < calls {
			return false
		}
		for _, i := range list.Inferences {
			var c call
			if !r.read("/inferences/"+url.PathEscape(i.ID), &c) || len(c.Verdicts) < verdicts {
				return false
			}
			out = append(out, c)
		}
		return true
	})
	if len(out) != calls {
		r.t.Fatalf("%d calls, want %d", len(out), calls)
	}
	return out
}

// read gets a page of the read API, and says whether there was one.
func (r *rig) read(path string, into any) bool {
	r.t.Helper()
	res, err := http.Get("http://" + r.apiAddr + "/api/v1" + path)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return false
	}
	if err := json.Unmarshal(body, into); err != nil {
		r.t.Fatalf("%s: %v in %s", path, err, strings.TrimSpace(string(body)))
	}
	return true
}
