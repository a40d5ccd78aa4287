package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustScenes(t *testing.T) []scene {
	t.Helper()
	scenes, err := loadScenes()
	if err != nil {
		t.Fatal(err)
	}
	return scenes
}

// TestScenes: each conversation has its names filled in and something to say.
func TestScenes(t *testing.T) {
	scenes := mustScenes(t)
	for n := range 60 {
		p := newPlot(scenes, n)
		for i, turn := range p.scene.Turns {
			text := turn.User + turn.Good + turn.Poor + turn.Refusal
			if tool := p.tool(turn); tool != nil {
				text += string(tool.Arguments)
				if !json.Valid(tool.Arguments) || !json.Valid(tool.Result) {
					t.Errorf("%s %d: %s -> %s", p.scene.Name, i, tool.Arguments, tool.Result)
				}
			}
			if strings.ContainsAny(turn.User+turn.Good+turn.Poor+turn.Refusal, "{}") || text == "" {
				t.Errorf("%s %d: %s", p.scene.Name, i, text)
			}
			if turn.Refusal == "" && (turn.Good == "" || turn.Poor == "") {
				t.Errorf("%s %d has nothing to say", p.scene.Name, i)
			}
		}
	}
	if diff := cmp.Diff(newPlot(scenes, 17), newPlot(scenes, 17), cmp.AllowUnexported(plot{})); diff != "" {
		t.Errorf("the same conversation differs: %s", diff)
	}
}

// TestTrafficFindsItsReplies plays against the scripted upstream itself.
func TestTrafficFindsItsReplies(t *testing.T) {
	scenes := mustScenes(t)
	bad := 0
	upstream := demoUpstream{scenes}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &statusWriter{ResponseWriter: w}
		upstream.ServeHTTP(rec, r)
		if rec.status == http.StatusBadRequest {
			bad++
		}
	}))
	defer server.Close()
	traffic := demoTraffic{base: server.URL + "/v1", scenes: scenes, client: server.Client()}
	if err := traffic.play(t.Context(), 0, 40, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if bad > 0 {
		t.Errorf("%d calls were no part of a scene", bad)
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

func TestDemoUpstreamRefusesOthers(t *testing.T) {
	upstream := demoUpstream{mustScenes(t)}
	for _, cue := range []string{"", "x", "1", "1.99", "-1.0", "1.-1"} {
		req := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"messages":[{"role":"user"}]}`))
		req.Header.Set(cueHeader, cue)
		rec := httptest.NewRecorder()
		upstream.ServeHTTP(rec, req)
		if rec.Code != http.StatusBadRequest {
			t.Errorf("cue %q: status %d", cue, rec.Code)
		}
	}
}

// TestDemoJudge: poor replies fail, good ones pass, and always the same.
func TestDemoJudge(t *testing.T) {
	ask := func(response string) map[string]float64 {
		body, err := json.Marshal(map[string]any{
			"state": map[string]any{"response": response},
			"questions": map[string]any{
				"a": map[string]any{"type": "noul", "instructions": "Does the reply answer what the customer asked last?"},
				"g": map[string]any{"type": "noul", "instructions": "The reply states only what a tool result says."},
				"p": map[string]any{"type": "noul", "instructions": "The reply is polite."},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		rec := httptest.NewRecorder()
		demoJudge{}.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
		var got struct {
			Answers map[string]struct{ Noul float64 }
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for k, a := range got.Answers {
			out[k] = a.Noul
		}
		return out
	}
	for _, c := range []struct {
		response        string
		answers, ground bool
		polite          bool
	}{
		{"On Saturday the shop is open from 10:00 to 16:00.", true, true, true},
		{"Obviously not, I think.", true, false, false},
		{"That depends. I am not sure.", false, true, true},
	} {
		got := ask(c.response)
		want := map[string]bool{"a": c.answers, "g": c.ground, "p": c.polite}
		for key, pass := range want {
			if p := got[key]; p < 0 || p > 1 || p >= 0.5 != pass {
				t.Errorf("%q: %s has probability %v, want pass %v", c.response, key, p, pass)
			}
		}
		if diff := cmp.Diff(got, ask(c.response)); diff != "" {
			t.Errorf("%q is not judged twice alike: %s", c.response, diff)
		}
	}
}

// TestDemoStops: the demo runs its own servers and ends them all.
func TestDemoStops(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	data := filepath.Join(s.dir, "demo")
	t.Chdir(s.dir)
	go func() {
		o := demoOptions{data: data, listen: "127.0.0.1:1", apiListen: "127.0.0.1:2", opsListen: "127.0.0.1:3", conversations: 1, every: time.Second}
		result <- o.run(ctx, s.dir, func(string) string { return "" }, &s.out)
	}()
	s.await("evaluator start", 1)
	s.await("proxy start", 1)
	cancel()
	if err := <-result; err != nil {
		t.Error(err)
	}
	for _, name := range []string{"evaluator", "proxy", engineName} {
		s.await(name+" stop", 1)
	}
	if _, err := os.Stat(filepath.Join(data, "docket.yaml")); err != nil {
		t.Error(err)
	}
}

func TestDemoArguments(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"--conversations", "0"}, {"--every", "1ms"}, {"--nothing"}} {
		if _, err := parseDemo(args, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
