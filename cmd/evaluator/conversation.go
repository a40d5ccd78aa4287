package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"docket/internal/judge"
	"docket/internal/record"
	"docket/internal/wire"
)

// conversation is a case in a file: what was said, as a chat API takes it or as
// Docket's own API shows it, and what goes with it. A line of labels has one
// criterion and what a person says.
type conversation struct {
	ID        string            `json:"id"`
	Messages  []json.RawMessage `json:"messages"`
	Output    []record.Message  `json:"output"` // of Docket's own API, where messages has no reply
	Tools     json.RawMessage   `json:"tools"`
	Sources   texts             `json:"sources"`
	Expected  string            `json:"expected"`
	Criteria  []judge.Criterion `json:"criteria"`
	Criterion *judge.Criterion  `json:"criterion"`
	Human     string            `json:"human"`
	Labels    []givenLabel      `json:"labels"` // of evaluator export
}

// givenLabel is what somebody says about one criterion, as the API shows it.
type givenLabel struct {
	Criterion string `json:"criterion"`
	Label     string `json:"label"`
}

// texts is a list of texts, or one.
type texts []string

// UnmarshalJSON reads both.
func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// readConversation reads a file with one conversation. What Docket's own API
// shows has more keys than are used here; in every other file an unknown key is
// an error.
func readConversation(data []byte) (conversation, error) {
	var c conversation
	dec := json.NewDecoder(bytes.NewReader(data))
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return c, fmt.Errorf("want one JSON object: %w", err)
	}
	if keys["output"] == nil {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(&c); err != nil {
		return c, err
	}
	if c.ID == "" {
		c.ID = uuid.NewSHA1(uuid.NameSpaceOID, data).String()
	}
	return c, nil
}

// unit is what a judge is shown of the conversation.
func (c conversation) unit() (judge.Unit, error) {
	if len(c.Messages) == 0 {
		return judge.Unit{}, errors.New("messages: none: want those of the conversation, the reply as the last one")
	}
	body, err := c.chatBody()
	if c.isNormal() {
		body, err = c.normalBody()
	}
	if err != nil {
		return judge.Unit{}, err
	}
	inf := record.Inference{
		ID: c.ID, Project: "file", Operation: "chat", Method: http.MethodPost, Complete: true,
		TerminalState: record.StateComplete, CaptureLevel: record.CaptureFull, Stratum: record.StratumOK,
	}
	u, _ := judge.UnitFrom(inf, body) // a problem becomes the reason of the verdicts
	if c.Sources != nil {
		u.Sources = c.Sources
	}
	u.Expected, u.Criteria = c.Expected, c.Criteria
	if c.Criterion != nil {
		u.Criteria = append(slices.Clone(u.Criteria), *c.Criterion)
	}
	return u, nil
}

// isNormal says that messages have the normal form, whose messages have parts.
func (c conversation) isNormal() bool {
	var m struct{ Parts json.RawMessage }
	return len(c.Output) > 0 || json.Unmarshal(c.Messages[0], &m) == nil && m.Parts != nil
}

func (c conversation) normalBody() (record.Body, error) {
	body := record.Body{Output: c.Output, Tools: string(c.Tools)}
	for i, raw := range c.Messages {
		var m record.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			return body, fmt.Errorf("messages[%d]: %w", i, err)
		}
		body.Input = append(body.Input, m)
	}
	if string(c.Tools) == "null" {
		body.Tools = ""
	}
	if len(body.Output) == 0 {
		last := len(body.Input) - 1
		body.Input, body.Output = body.Input[:last], body.Input[last:]
	}
	return body, replyRole(body.Output[0].Role)
}

func replyRole(role string) error {
	if role != "assistant" {
		return fmt.Errorf("messages: the last one is of role %q: want the assistant's, which is what is judged", role)
	}
	return nil
}

// chatBody lets the decoder of live traffic read the messages, so that a file is
// shown to the judge as the same traffic would be.
func (c conversation) chatBody() (record.Body, error) {
	last := len(c.Messages) - 1
	var reply struct{ Role string }
	if err := json.Unmarshal(c.Messages[last], &reply); err != nil {
		return record.Body{}, fmt.Errorf("messages[%d]: %w", last, err)
	}
	if err := replyRole(reply.Role); err != nil {
		return record.Body{}, err
	}
	asked := map[string]any{"model": "file", "messages": c.Messages[:last]}
	if len(c.Tools) > 0 {
		asked["tools"] = c.Tools
	}
	request, err := json.Marshal(asked)
	if err != nil {
		return record.Body{}, err
	}
	response, err := json.Marshal(map[string]any{
		"object": "chat.completion", "model": "file",
		"choices": []any{map[string]any{"index": 0, "message": c.Messages[last], "finish_reason": "stop"}},
	})
	if err != nil {
		return record.Body{}, err
	}
	kind := map[string]string{"content-type": "application/json"}
	d := wire.Decode(wire.Exchange{
		Method: http.MethodPost, Path: "/v1/chat/completions", API: "openai", RequestHeader: kind, ResponseHeader: kind,
		Request: request, Response: response, Status: http.StatusOK, BodyEnded: true,
	})
	if d.Undecodable || len(d.Output) == 0 {
		return record.Body{}, errors.New("messages: want those of the chat completions API, or those that Docket's API shows")
	}
	return record.Body{Request: request, Response: response, Input: d.Input, Output: d.Output, Tools: d.Tools}, nil
}

// named puts the rubric's own criterion where a file gives only its name.
func named(rubric judge.Rubric, criteria []judge.Criterion) []judge.Criterion {
	names := rubric.CriterionNames()
	out := slices.Clone(criteria)
	for i, c := range out {
		if at := slices.Index(names, c.Text); c.Name == "" && at >= 0 {
			out[i] = rubric.Criteria[at]
		}
	}
	return out
}

// oneRubric builds a judge with a single rubric: the one that is asked for, the
// only one there is, or one made of criteria that a file brings.
func (s *settings) oneRubric(name string, criteria []judge.Criterion, options judge.Options) (*judge.Judge, string, error) {
	names := sortedNames(s.rubrics)
	rubric, ok := s.rubrics[name]
	switch {
	case name == "" && len(names) == 1:
		name = names[0]
		rubric = s.rubrics[name]
	case name == "" && len(criteria) > 0:
		name = "file"
		rubric = judge.Rubric{Criteria: criteria}
		rubric.SetDefaults()
	case !ok:
		return nil, "", fmt.Errorf("--rubric %q: want one of %s", name, cmp.Or(strings.Join(names, ", "), "none: the settings have no rubrics"))
	}
	j, err := judge.New(s.judge, map[string]judge.Rubric{name: rubric}, options)
	if err != nil && !s.canJudge() {
		return nil, "", errors.New(s.judgingOff())
	}
	return j, name, err
}
