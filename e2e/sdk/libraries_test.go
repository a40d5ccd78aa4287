package sdk

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"docket/e2e/program"
)

// language is one process that drives client libraries.
type language struct {
	name    string
	argv    func(t *testing.T) []string
	clients []client
}

// client is one library and the scenarios that it runs.
type client struct {
	name      string
	scenarios []string
}

func languages() []language {
	chat := []string{"chat.text", "chat.stream", "chat.tools", "chat.parallel_tools", "chat.bad_request", "chat.rate_limited", "chat.cut"}
	leave := append(slices.Clone(chat), "chat.leave")
	responses := []string{
		"responses.text", "responses.stream", "responses.tools", "responses.chain", "responses.hosted", "responses.hosted_stream",
		"responses.incomplete", "responses.incomplete_stream", "responses.failed",
	}
	embeddings := []string{"embeddings.base64", "embeddings.float"}
	messages := []string{
		"messages.text", "messages.stream", "messages.tools", "messages.tool_stream", "messages.thinking", "messages.max_tokens",
		"messages.rate_limited", "messages.overloaded", "messages.stream_error",
	}
	return []language{
		{"python", python, []client{
			{"openai-python", slices.Concat(leave, responses, embeddings)},
			{"anthropic-python", messages},
			{"langchain", []string{"chat.loop"}},
		}},
		{"node", node, []client{
			{"openai-node", slices.Concat(leave, responses, embeddings)},
			{"anthropic-node", messages},
			{"ollama-node", []string{"ollama.text", "ollama.stream"}},
			{"gemini-node", []string{"gemini.text", "gemini.stream"}},
			{"vercel", []string{"chat.loop_stream", "responses.loop", "responses.talk"}},
		}},
		{"go", golang, []client{
			{"openai-go", slices.Concat(chat, responses, embeddings[1:])},
			{"go-openai", slices.Concat(chat, embeddings[1:])},
		}},
	}
}

func python(t *testing.T) []string {
	interpreter := program.Existing(t, "../../.venv/bin/python", "python3 -m venv .venv && .venv/bin/pip install --no-deps -r e2e/sdk/requirements.txt")
	return []string{interpreter, filepath.Join("python", "client.py")}
}

func node(t *testing.T) []string {
	program.Existing(t, "node_modules", "(cd e2e/sdk && npm ci)")
	return []string{"node", filepath.Join("node", "client.mjs")}
}

func golang(t *testing.T) []string {
	t.Helper()
	if err := buildLibraries(); err != nil {
		t.Fatal(err)
	}
	return []string{filepath.Join(folder, "libraries")}
}

// work is one scenario for a library to run.
type work struct {
	Client      string `json:"client"`
	Scenario    string `json:"scenario"`
	Traceparent string `json:"traceparent"`
}

func (w work) traceID() string { return strings.Split(w.Traceparent, "-")[1] }

// outcome is what the application saw of it.
type outcome struct {
	work
	Calls []seen `json:"calls"`
	Whole []any  `json:"whole"`
}

// seen is what the application saw of one call.
type seen struct {
	ID           string     `json:"id"`
	Text         string     `json:"text"`
	Reasoning    string     `json:"reasoning"`
	FinishReason string     `json:"finish_reason"`
	ToolCalls    []toolCall `json:"tool_calls"`
	TotalTokens  int        `json:"total_tokens"`
	Vectors      int        `json:"vectors"`
	Dimensions   int        `json:"dimensions"`
	Status       int        `json:"status"`
	Error        string     `json:"error"`
	RetryAfter   string     `json:"retry_after"`
	Broken       bool       `json:"broken"`
}

type toolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// callerSpan is the span of the application in every traceparent.
const callerSpan = "00f067aa0ba902b7"

// run runs all scenarios of a language, each in a trace of its own.
func (l language) run(t *testing.T, env []string) []outcome {
	t.Helper()
	var list []work
	for _, c := range l.clients {
		for _, s := range c.scenarios {
			var id [16]byte
			rand.Read(id[:])
			list = append(list, work{c.name, s, fmt.Sprintf("00-%s-%s-01", hex.EncodeToString(id[:]), callerSpan)})
		}
	}
	input, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var out []outcome
	if err := json.Unmarshal(program.Run(t, env, string(input), l.argv(t)...), &out); err != nil {
		t.Fatal(err)
	}
	if len(out) != len(list) {
		t.Fatalf("%d of %d scenarios came back", len(out), len(list))
	}
	return out
}
