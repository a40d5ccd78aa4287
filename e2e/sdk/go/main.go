// Command go drives unmodified client libraries for Go through scenarios.
//
// It reads a list of {"client", "scenario", "traceparent"} as JSON from its
// input and prints a list of {"client", "scenario", "calls", "whole"}: what the
// application saw of each call in the words that all libraries share, and all
// that the library gave it. Base URL and key come from the environment.
//
// It is a module of its own: the libraries take long to compile, and Docket does
// not need them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// work is one scenario to run.
type work struct {
	Client      string `json:"client"`
	Scenario    string `json:"scenario"`
	Traceparent string `json:"traceparent"`
}

// session is one scenario: what is asked, and what came of it.
type session struct {
	work
	Calls []call `json:"calls"`
	Whole []any  `json:"whole"`
}

// call is what the application saw of one call.
type call struct {
	ID           string     `json:"id,omitempty"`
	Text         string     `json:"text,omitempty"`
	FinishReason string     `json:"finish_reason,omitempty"`
	ToolCalls    []toolCall `json:"tool_calls,omitempty"`
	TotalTokens  int64      `json:"total_tokens,omitempty"`
	Vectors      int        `json:"vectors,omitempty"`
	Dimensions   int        `json:"dimensions,omitempty"`
	Status       int        `json:"status,omitempty"`
	Error        string     `json:"error,omitempty"`
	RetryAfter   string     `json:"retry_after,omitempty"`
	Broken       bool       `json:"broken,omitempty"`
}

type toolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (s *session) saw(whole any, c call) {
	s.Calls = append(s.Calls, c)
	s.Whole = append(s.Whole, whole)
}

// api is the part of the scenario's name before the point.
func (s *session) api() string {
	name, _, _ := strings.Cut(s.Scenario, ".")
	return name
}

func (s *session) model() string {
	_, name, _ := strings.Cut(s.Scenario, ".")
	return "scripted-" + name
}

func (s *session) question() string {
	return fmt.Sprintf("%s %s: Grüße, 世界 👋", s.Client, s.Scenario)
}

const (
	system = "You are terse."
	second = "second text"
	rain   = "rain, 9 °C"
)

func parameters() map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}
}

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	var list []work
	if err := json.NewDecoder(in).Decode(&list); err != nil {
		return err
	}
	libraries := map[string]func(context.Context, *session) error{"openai-go": officialLibrary, "go-openai": communityLibrary}
	var sessions []session
	for _, w := range list {
		s := session{work: w}
		if err := libraries[w.Client](ctx, &s); err != nil {
			return fmt.Errorf("%s %s: %w", w.Client, w.Scenario, err)
		}
		sessions = append(sessions, s)
	}
	return json.NewEncoder(out).Encode(sessions)
}
