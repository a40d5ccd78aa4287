package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// sdk is one official client library, driven by a script.
type sdk struct {
	name string
	argv []string
}

func sdks() []sdk {
	return []sdk{
		{"python", []string{filepath.Join("..", ".venv", "bin", "python"), filepath.Join("python", "client.py")}},
		{"node", []string{"node", filepath.Join("node", "client.mjs")}},
	}
}

// seen is what the application saw of one call.
type seen struct {
	ID           *string    `json:"id"`
	Text         *string    `json:"text"`
	FinishReason *string    `json:"finish_reason"`
	ToolCalls    []seenCall `json:"tool_calls"`
	TotalTokens  *int       `json:"total_tokens"`
	Chunks       int        `json:"chunks"`
	Raised       string     `json:"raised"`
	Status       int        `json:"status"`
	Message      *string    `json:"message"`
	RetryAfter   *string    `json:"retry_after"`
}

type seenCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// call runs one scenario against a base URL.
func (s sdk) call(t *testing.T, base, scenario, traceID string) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := append(s.argv[1:len(s.argv):len(s.argv)], scenario, fmt.Sprintf("00-%s-%s-01", traceID, callerSpan))
	cmd := exec.CommandContext(ctx, s.argv[0], args...)
	cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+base, "OPENAI_API_KEY=not-a-key", "NO_PROXY=127.0.0.1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", s.name, scenario, err, stderr.String())
	}
	var out seen
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("%s %s: %v in %q", s.name, scenario, err, stdout.String())
	}
	return out
}

// callerSpan is the span of the application in every traceparent that tests send.
const callerSpan = "00f067aa0ba902b7"

func scenarios() []string {
	return []string{"text", "stream", "tools", "parallel_tools", "bad_request", "rate_limited", "cut", "leave"}
}
