package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// upstream is a scripted model API: the model that a request names says what it
// does.
type upstream struct {
	*httptest.Server
	gap      time.Duration // between the chunks of scenario load; set before the first call
	mu       sync.Mutex
	held     chan struct{} // guarded by mu; streams wait in it before their last chunk
	waiting  int           // guarded by mu; streams that wait
	requests []seenRequest // guarded by mu
}

// seenRequest is what arrived of one call.
type seenRequest struct {
	Scenario string
	Header   http.Header
	Body     string
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

// hold keeps streams open until the returned function is called.
func (u *upstream) hold() (release func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	held := make(chan struct{})
	u.held, u.waiting = held, 0
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.held = nil
		close(held)
	}
}

// open counts the streams that are kept open.
func (u *upstream) open() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.waiting
}

// wait waits while streams are kept open, or until the client leaves.
func (u *upstream) wait(ctx context.Context) {
	u.mu.Lock()
	held := u.held
	if held != nil {
		u.waiting++
	}
	u.mu.Unlock()
	if held == nil {
		return
	}
	select {
	case <-held:
	case <-ctx.Done():
	}
}

// seen returns the requests of one scenario.
func (u *upstream) seen(scenario string) []seenRequest {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []seenRequest
	for _, r := range u.requests {
		if r.Scenario == scenario {
			out = append(out, r)
		}
	}
	return out
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var req struct {
		Model    string `json:"model"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil || len(req.Messages) == 0 {
		http.Error(w, "no chat request", http.StatusBadRequest)
		return
	}
	scenario := strings.TrimPrefix(req.Model, "scripted-")
	u.mu.Lock()
	u.requests = append(u.requests, seenRequest{scenario, r.Header.Clone(), string(body)})
	u.mu.Unlock()
	id := replyID(req.Messages[len(req.Messages)-1].Content)
	switch scenario {
	case "text":
		answer(w, http.StatusOK, completion(id, "stop", map[string]any{"role": "assistant", "content": replyText}))
	case "echo":
		answer(w, http.StatusUnauthorized, problem("invalid_request_error", "bad credentials: "+credentials(r)))
	case "load":
		u.stream(w, r, textChunks(id), u.gap)
	default:
		answer(w, http.StatusNotFound, problem("invalid_request_error", "no model "+req.Model))
	}
}

// replyID is the provider's id of the answer to a question.
func replyID(question string) string {
	h := fnv.New64a()
	io.WriteString(h, question)
	return fmt.Sprintf("chatcmpl-e2e%016x", h.Sum64())
}

const replyText = "Grüße zurück, 世界! 👋 \"quoted\" <b>&amp;</b>"

func usage() map[string]any {
	return map[string]any{"prompt_tokens": 21, "completion_tokens": 9, "total_tokens": 30}
}

func completion(id, finish string, message map[string]any) map[string]any {
	return map[string]any{
		"id": id, "object": "chat.completion", "created": 1700000000, "model": "scripted-2024-01-01",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish, "logprobs": nil}},
		"usage":   usage(),
	}
}

func problem(kind, message string) map[string]any {
	return map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": nil}}
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req-e2e")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

// chunk is one event of a stream; a nil delta makes the one with the usage.
func chunk(id string, delta map[string]any, finish any) string {
	choices := []any{}
	body := map[string]any{"id": id, "object": "chat.completion.chunk", "created": 1700000000, "model": "scripted-2024-01-01", "usage": nil}
	if delta == nil {
		body["usage"] = usage()
	} else {
		choices = append(choices, map[string]any{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": nil})
	}
	body["choices"] = choices
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return "data: " + string(data) + "\n\n"
}

func textChunks(id string) []string {
	out := []string{chunk(id, map[string]any{"role": "assistant", "content": ""}, nil)}
	for part := range strings.SplitAfterSeq(replyText, " ") {
		out = append(out, chunk(id, map[string]any{"content": part}, nil))
	}
	return append(out, chunk(id, map[string]any{}, "stop"), chunk(id, nil, nil), "data: [DONE]\n\n")
}

func (u *upstream) stream(w http.ResponseWriter, r *http.Request, chunks []string, gap time.Duration) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	for i, c := range chunks {
		if i == len(chunks)-1 {
			u.wait(r.Context())
		}
		if _, err := io.WriteString(w, c); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		if gap == 0 {
			continue
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(gap):
		}
	}
}

// credentials repeats every secret of the request, as careless servers do.
func credentials(r *http.Request) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		out = append(out, name+"="+strings.Join(r.Header[name], ","))
	}
	return strings.Join(append(out, "query="+r.URL.RawQuery, "key="+r.URL.Query().Get("key")), "; ")
}
