package judge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

func TestRule45WhatAProgramDecides(t *testing.T) {
	u := judgetest.Unit()
	for _, c := range []struct {
		check judge.Check
		reply string
		want  bool
	}{
		{judge.Check{Contains: "sorry"}, "I am sorry", true},
		{judge.Check{Contains: "sorry"}, "I am not", false},
		{judge.Check{NotContains: "sorry"}, "I am not", true},
		{judge.Check{Regex: `\d+\.\d{2}`}, "4.50", true},
		{judge.Check{NotRegex: `(?i)password`}, "the PassWord", false},
		{judge.Check{MaxChars: 4}, "grün", true},
		{judge.Check{MaxChars: 3}, "grün", false},
		{judge.Check{JSONSchema: map[string]any{"type": "object", "required": []any{"a"}, "properties": map[string]any{"a": map[string]any{"type": "integer", "minimum": 2}}}}, ` {"a":2} `, true},
		{judge.Check{JSONSchema: map[string]any{"type": "object", "required": []any{"a"}}}, `{"b":2}`, false},
		{judge.Check{JSONSchema: map[string]any{"type": "object"}}, "no JSON {}", false},
		{judge.Check{ToolCalled: &judge.ToolCheck{Name: "refund"}}, "x", true},
		{judge.Check{ToolCalled: &judge.ToolCheck{Name: "refund", Arguments: map[string]any{"cents": 450}}}, "x", true},
		{judge.Check{ToolCalled: &judge.ToolCheck{Name: "refund", Arguments: map[string]any{"cents": 451}}}, "x", false},
		{judge.Check{ToolCalled: &judge.ToolCheck{Name: "refund", Arguments: map[string]any{"cents": "450"}}}, "x", false},
		{judge.Check{ToolCalled: &judge.ToolCheck{Name: "pay"}}, "x", false},
		{judge.Check{NoToolCalled: []string{"pay"}}, "x", true},
		{judge.Check{NoToolCalled: []string{"pay", "refund"}}, "x", false},
		{judge.Check{NoToolCalled: []string{"*"}}, "x", false},
	} {
		u.Reply = judgetest.Message("assistant", c.reply)
		r := judge.Rubric{Criteria: []judge.Criterion{{Name: "c", Check: &c.check}}}
		j, err := judge.New(judge.DefaultConfig(), map[string]judge.Rubric{"r": r}, judgetest.Options(t, nil)) // without any judge
		if err != nil {
			t.Errorf("%+v: %v", c.check, err)
			continue
		}
		got := j.Judge(t.Context(), "r", u)
		want, p := record.OutcomeFail, 0.0
		if c.want {
			want, p = record.OutcomePass, 1
		}
		if v := got.Verdicts[0]; v.Outcome != want || *v.Probability != p || v.Method != record.MethodRule || v.Detail == "" {
			t.Errorf("%+v on %q: %+v", c.check, c.reply, v)
		}
		if c := got.Calls[0]; *c.CostNanoUSD != 0 || c.Backend != "rule" {
			t.Errorf("call %+v", c)
		}
	}
	for want, check := range map[string]judge.Check{
		"want one of contains": {},
		"2 keys set":           {Contains: "a", MaxChars: 3},
		"check.regex":          {Regex: "("},
		"check.max_chars":      {MaxChars: -1},
		"check.json_schema":    {JSONSchema: map[string]any{"type": "thing"}},
		"other documents":      {JSONSchema: map[string]any{"$ref": "file:///etc/hostname"}},
		"check.tool_called":    {ToolCalled: &judge.ToolCheck{}},
	} {
		wantError(t, newWith(judge.Rubric{Criteria: []judge.Criterion{{Name: "c", Check: &check}}}), want)
	}
	// Beside criteria for a judge, only those go to it.
	r := three()
	r.Criteria[1] = judge.Criterion{Name: "amount", Check: &judge.Check{Contains: "4.50"}}
	got, seen := ask(t, "systemone", r, judgetest.Unit(), nil)
	if len(seen[0].Questions) != 2 || got.Outcome != record.OutcomePass || got.Verdicts[1].Method != record.MethodRule {
		t.Errorf("%d questions, %s", len(seen[0].Questions), got.Outcome)
	}
}

func TestRule46FixedVerdict(t *testing.T) {
	b := staticBackend(0.75)
	b.Static.ByCriterion, b.Static.Reason = map[string]float64{"amount": 0.25}, "as told"
	got := judgetest.New(t, b, three(), nil).Judge(t.Context(), "r", judgetest.Unit())
	if v := got.Verdicts[0]; *v.Probability != 0.75 || v.Detail != "as told" || v.Method != record.MethodStatic {
		t.Errorf("%+v", v)
	}
	if v := got.Verdicts[1]; *v.Probability != 0.25 || v.Outcome != record.OutcomeFail {
		t.Errorf("%+v", v)
	}
	b.Static.Probability = nil
	if got := judgetest.New(t, b, three(), nil).Judge(t.Context(), "r", judgetest.Unit()); got.Verdicts[0].Reason != record.ReasonMissingAnswer {
		t.Errorf("%+v", got.Verdicts[0])
	}
	for _, bad := range []float64{-0.1, 1.1} {
		b.Static.Probability = &bad
		cfg := judge.DefaultConfig()
		cfg.Backends = map[string]judge.BackendConfig{"s": b}
		wantError(t, cfg.Validate(), "backends.s", "static.probability", "0 to 1")
	}
}

func call(id, name, arguments string) record.Part {
	return record.Part{Type: record.PartToolCall, ID: id, Name: name, Arguments: &arguments}
}

func toolResult(id, text string, failed *bool) record.Message {
	return record.Message{Role: "tool", Parts: []record.Part{{Type: record.PartToolCallResponse, ID: id, Response: &text, IsError: failed}}}
}

func TestRule47WhatWasAsked(t *testing.T) {
	result := toolResult("t", "r", nil).Parts[0]
	for name, c := range map[string]struct {
		input  []record.Message
		want   string
		reason string
	}{
		"last user message":              {[]record.Message{judgetest.Message("user", "one"), judgetest.Message("assistant", "two"), judgetest.Message("user", "three")}, "three", ""},
		"not a tool result of role user": {[]record.Message{judgetest.Message("user", "one"), {Role: "assistant", Parts: []record.Part{call("t", "f", "{}")}}, {Role: "user", Parts: []record.Part{result}}}, "one", ""},
		"else the last input":            {[]record.Message{judgetest.Message("system", "one"), judgetest.Message("developer", "two"), judgetest.Message("assistant", "three")}, "two", ""},
		"only the assistant":             {[]record.Message{judgetest.Message("assistant", "three")}, "", record.ReasonNotCaptured},
		"nothing":                        {nil, "", record.ReasonNotCaptured},
	} {
		u, reason := judge.UnitFrom(judgetest.Inference(), record.Body{Input: c.input, Output: []record.Message{judgetest.Message("assistant", "hello")}})
		if u.Asked != c.want || reason != c.reason || u.Problem != c.reason {
			t.Errorf("%s: asked %q, reason %q", name, u.Asked, reason)
		}
	}
}

func TestRule48FinalReply(t *testing.T) {
	body := judgetest.Body()
	body.Output[0].Parts = append(body.Output[0].Parts, call("t3", "mail", `{"to":"x"}`))
	u := judgetest.UnitOf(body)
	_, seen := ask(t, "systemone", first(), u, nil)
	state := seen[0].Data.(map[string]any)
	if !strings.HasPrefix(state["response"].(string), "I am sorry the bulb") {
		t.Errorf("response %v", state["response"])
	}
	calls := state["tool_calls"].([]any)
	if last := calls[len(calls)-1].(map[string]any); last["name"] != "mail" {
		t.Errorf("last call %v", last)
	}
	refused := judgetest.Body()
	refused.Output = []record.Message{{Role: "assistant", Parts: []record.Part{{Type: record.PartRefusal, Content: "I will not do that."}}}}
	u = judgetest.UnitOf(refused)
	if u.Problem != "" || u.ReplyText() != "I will not do that." {
		t.Errorf("a refusal is a reply: %q, %q", u.Problem, u.ReplyText())
	}
}

func TestRule49ToolCallsOfTheTurn(t *testing.T) {
	body := judgetest.Body()
	earlier := []record.Message{
		judgetest.Message("user", "before"),
		{Role: "assistant", Parts: []record.Part{call("t0", "before", "{}")}},
		toolResult("t0", "old", nil), judgetest.Message("assistant", "done"),
	}
	body.Input = append(earlier, body.Input[1:]...)
	body.Output[0].Parts = append(body.Output[0].Parts, call("t3", "mail", ""))
	u := judgetest.UnitOf(body)
	want := []judge.ToolCall{
		{ID: "t1", Name: "find_order", Arguments: `{"order":"881"}`, Result: ptr(`{"order":"881","items":["lamp","bulb"]}`)},
		{ID: "t2", Name: "refund", Arguments: `{"order":"881","cents":450}`, Result: ptr("card expired"), Failed: true},
		{ID: "t3", Name: "mail"},
	}
	if diff := cmp.Diff(want, u.ToolCalls); diff != "" {
		t.Error(diff)
	}
	// Results that come in another order go to their own calls, and without ids
	// to the calls in order.
	body.Input = []record.Message{
		judgetest.Message("user", "go"),
		{Role: "assistant", Parts: []record.Part{call("a", "one", ""), call("b", "two", "")}},
		toolResult("b", "second", nil), toolResult("a", "first", nil),
	}
	u = judgetest.UnitOf(body)
	if *u.ToolCalls[0].Result != "first" || *u.ToolCalls[1].Result != "second" {
		t.Errorf("%s, %s", *u.ToolCalls[0].Result, *u.ToolCalls[1].Result)
	}
	body.Input = []record.Message{
		judgetest.Message("user", "go"),
		{Role: "assistant", Parts: []record.Part{call("", "one", ""), call("", "two", "")}},
		toolResult("", "first", nil), toolResult("", "second", nil),
	}
	u = judgetest.UnitOf(body)
	if *u.ToolCalls[0].Result != "first" || *u.ToolCalls[1].Result != "second" {
		t.Errorf("%s, %s", *u.ToolCalls[0].Result, *u.ToolCalls[1].Result)
	}
}

func TestRule50FailedCalls(t *testing.T) {
	body := judgetest.Body()
	body.Input = []record.Message{
		judgetest.Message("user", "go"),
		{Role: "assistant", Parts: []record.Part{call("a", "flagged", "{}"), call("b", "sounds_bad", "{}"), call("c", "open", "{}"), call("d", "empty", "{}")}},
		toolResult("a", "out of stock", ptr(true)), toolResult("b", `{"error":"failed badly"}`, nil), toolResult("d", "", ptr(false)),
	}
	u := judgetest.UnitOf(body)
	_, seen := ask(t, "systemone", first(), u, nil)
	want := []any{
		map[string]any{"name": "flagged", "arguments": map[string]any{}, "failed": "out of stock"},
		map[string]any{"name": "sounds_bad", "arguments": map[string]any{}, "result": map[string]any{"error": "failed badly"}},
		map[string]any{"name": "open", "arguments": map[string]any{}, "result": "no result recorded"},
		map[string]any{"name": "empty", "arguments": map[string]any{}, "result": ""},
	}
	if diff := cmp.Diff(any(want), seen[0].Data.(map[string]any)["tool_calls"]); diff != "" {
		t.Error(diff)
	}
	_, seen = ask(t, "chat-structured", first(), u, nil)
	for _, line := range []string{`1. \"flagged\" {} -\u003e failed \"out of stock\"`, `3. \"open\" {} -\u003e result \"no result recorded\"`} {
		if !strings.Contains(string(seen[0].Body), line) {
			t.Errorf("no line %s in %s", line, seen[0].Body)
		}
	}
	_, seen = ask(t, "openai", first(), u, nil)
	for _, item := range []string{`{"type":"function_call_output","call_id":"a","output":"{\"failed\":\"out of stock\"}"}`, `{"type":"function_call_output","call_id":"c","output":"no result recorded"}`} {
		if !strings.Contains(string(seen[0].Body), item) {
			t.Errorf("no item %s in %s", item, seen[0].Body)
		}
	}
}

func TestRule51NoToolsNoSection(t *testing.T) {
	body := judgetest.Body()
	body.Input = body.Input[:2]
	u := judgetest.UnitOf(body)
	_, seen := ask(t, "systemone", first(), u, nil)
	if _, has := seen[0].Data.(map[string]any)["tool_calls"]; has {
		t.Error("a key tool_calls without calls")
	}
	_, seen = ask(t, "chat-structured", first(), u, nil)
	if strings.Contains(string(seen[0].Body), "Tool calls of this turn") {
		t.Error("a section of tool calls without calls")
	}
}
