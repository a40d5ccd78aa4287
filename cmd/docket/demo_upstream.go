package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// cueHeader tells the scripted upstream where in which conversation a call is:
// CONVERSATION.TURN. It passes through the proxy as any header does.
const cueHeader = "X-Demo-Cue"

// demoUpstream is a model API that plays the scenes. Its answers come in OpenAI's
// form, whole or streamed, with a call to a tool where the scene has one.
type demoUpstream struct{ scenes []scene }

type demoRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role string `json:"role"`
	} `json:"messages"`
}

func (u demoUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var req demoRequest
	p, t, err := u.find(r.Header.Get(cueHeader))
	if err == nil {
		err = json.Unmarshal(body, &req)
	}
	if err != nil || len(req.Messages) == 0 {
		demoAnswer(w, http.StatusBadRequest, demoProblem("invalid_request_error", "the demo's model plays only the demo's scenes"))
		return
	}
	sum := crc32.ChecksumIEEE(body)
	if sum%41 == 0 {
		w.Header().Set("Retry-After", "1")
		demoAnswer(w, http.StatusTooManyRequests, demoProblem("rate_limit_error", "too many requests for "+req.Model))
		return
	}
	answered := req.Messages[len(req.Messages)-1].Role == "tool"
	message, finish := demoMessage(p, t, answered)
	head := demoHead{
		ID: fmt.Sprintf("chatcmpl-demo%08x", sum), Created: time.Now().Unix(), Model: req.Model + "-2026-01",
		Usage: demoUsage{len(body) / 4, 12 + len(message["content"].(string))/4},
	}
	if !req.Stream || answered == (p.tool(t) == nil) { // calls to tools come whole
		demoAnswer(w, http.StatusOK, head.completion(message, finish))
		return
	}
	cut := sum%29 == 0
	head.stream(w, r, message, finish, cut)
}

// find reads a cue.
func (u demoUpstream) find(cue string) (plot, turn, error) {
	number, at, _ := strings.Cut(cue, ".")
	n, err1 := strconv.Atoi(number)
	i, err2 := strconv.Atoi(at)
	if err1 != nil || err2 != nil || n < 0 {
		return plot{}, turn{}, fmt.Errorf("%s %q: want CONVERSATION.TURN", cueHeader, cue)
	}
	p := newPlot(u.scenes, n)
	if i < 0 || i >= len(p.scene.Turns) {
		return plot{}, turn{}, fmt.Errorf("%s %q: no such turn", cueHeader, cue)
	}
	return p, p.scene.Turns[i], nil
}

// demoMessage is the assistant's message. answered says that the tool's result
// is there already.
func demoMessage(p plot, t turn, answered bool) (message map[string]any, finish string) {
	switch tool := p.tool(t); {
	case t.Refusal != "":
		return map[string]any{"role": "assistant", "content": "", "refusal": t.Refusal}, "stop"
	case tool != nil && !answered:
		call := map[string]any{"name": tool.Name, "arguments": string(tool.Arguments)}
		return map[string]any{
			"role": "assistant", "content": "",
			"tool_calls": []any{map[string]any{"id": "call_" + strconv.Itoa(p.number), "type": "function", "function": call}},
		}, "tool_calls"
	default:
		return map[string]any{"role": "assistant", "content": p.reply(t)}, "stop"
	}
}

// demoHead is what all answers to one request share.
type demoHead struct {
	ID      string
	Created int64
	Model   string
	Usage   demoUsage
}

type demoUsage struct{ Prompt, Completion int }

func (u demoUsage) object() map[string]any {
	return map[string]any{"prompt_tokens": u.Prompt, "completion_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion}
}

func (h demoHead) completion(message map[string]any, finish string) map[string]any {
	return map[string]any{
		"id": h.ID, "object": "chat.completion", "created": h.Created, "model": h.Model, "usage": h.Usage.object(),
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
	}
}

// stream sends the message word by word, and breaks off in the middle when cut.
func (h demoHead) stream(w http.ResponseWriter, r *http.Request, message map[string]any, finish string, cut bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	key, text := "content", message["content"].(string)
	if refusal, ok := message["refusal"].(string); ok {
		key, text = "refusal", refusal
	}
	words := strings.SplitAfter(text, " ")
	for i, word := range words {
		if cut && i == len(words)/2 {
			panic(http.ErrAbortHandler)
		}
		h.event(w, []any{map[string]any{"index": 0, "delta": map[string]any{key: word}, "finish_reason": nil}}, nil)
		select {
		case <-r.Context().Done():
			return
		case <-time.After(4 * time.Millisecond):
		}
	}
	h.event(w, []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}, nil)
	h.event(w, []any{}, h.Usage.object())
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func (h demoHead) event(w http.ResponseWriter, choices []any, usage map[string]any) {
	data, err := json.Marshal(map[string]any{
		"id": h.ID, "object": "chat.completion.chunk", "created": h.Created, "model": h.Model, "choices": choices, "usage": usage,
	})
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func demoAnswer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func demoProblem(kind, message string) map[string]any {
	return map[string]any{"error": map[string]any{"type": kind, "message": message, "param": nil, "code": nil}}
}
