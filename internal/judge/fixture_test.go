package judge_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"docket/internal/judge"
	"docket/internal/record"
)

var testTime = time.Date(2026, 11, 3, 9, 30, 0, 0, time.UTC)

func message(role, text string) record.Message {
	return record.Message{Role: role, Parts: []record.Part{{Type: record.PartText, Content: text}}}
}

func ptr[T any](v T) *T { return &v }

func sampleInference() record.Inference {
	return record.Inference{
		ID: "0192f0c1-0000-7000-8000-000000000001", Time: testTime, Project: "shop", Environment: "test",
		TraceID: "0af7651916cd43dd8448eb211c80319c", SpanID: "b7ad6b7169203331", ConversationID: "conv-1",
		RequestModel: "acme-large", PromptName: "support", PromptVersion: "3", Complete: true,
		Stratum: record.StratumOK, TerminalState: record.StateComplete, Status: 200,
	}
}

// sampleBody is a short exchange with two tool calls, one of which failed.
func sampleBody() record.Body {
	return record.Body{
		Input: []record.Message{
			message("system", "You are the assistant of a small shop."),
			message("user", "My lamp (order 881) came without its bulb. Please refund the bulb."),
			{Role: "assistant", Parts: []record.Part{
				{Type: record.PartToolCall, ID: "t1", Name: "find_order", Arguments: ptr(`{"order":"881"}`)},
				{Type: record.PartToolCall, ID: "t2", Name: "refund", Arguments: ptr(`{"order":"881","cents":450}`)},
			}},
			{Role: "tool", Parts: []record.Part{{Type: record.PartToolCallResponse, ID: "t1", Response: ptr(`{"order":"881","items":["lamp","bulb"]}`)}}},
			{Role: "tool", Parts: []record.Part{{Type: record.PartToolCallResponse, ID: "t2", Response: ptr("card expired"), IsError: ptr(true)}}},
		},
		Output: []record.Message{message("assistant", "I am sorry the bulb was missing. The refund of 4.50 did not go through, because the card has expired.")},
		Tools:  `[{"type":"function","function":{"name":"refund"}}]`,
	}
}

func sampleUnit() judge.Unit {
	u, reason := judge.UnitFrom(sampleInference(), sampleBody())
	if reason != "" {
		panic(reason)
	}
	u.Rule, u.InclusionP = "live", 0.25
	return u
}

// newJudge builds a judge with one backend and one rubric, r. Waits between
// attempts are noted instead of waited.
func newJudge(t *testing.T, b judge.BackendConfig, rubric judge.Rubric, waits *[]time.Duration) *judge.Judge {
	t.Helper()
	cfg := judge.DefaultConfig()
	cfg.Backends = map[string]judge.BackendConfig{"main": b}
	return newJudgeOf(t, cfg, rubric, waits)
}

func newJudgeOf(t *testing.T, cfg judge.Config, rubric judge.Rubric, waits *[]time.Duration) *judge.Judge {
	t.Helper()
	j, err := judge.New(cfg, map[string]judge.Rubric{"r": rubric}, options(waits))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func options(waits *[]time.Duration) judge.Options {
	var n atomic.Int64
	return judge.Options{
		Now: func() time.Time { return testTime.Add(time.Hour) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			if waits != nil {
				*waits = append(*waits, d)
			}
			return ctx.Err()
		},
		Random: func() float64 { return 0 },
		NewID: func() string {
			return fmt.Sprintf("00000000-0000-4000-8000-%012x", n.Add(1))
		},
	}
}
