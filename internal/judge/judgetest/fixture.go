package judgetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"docket/internal/judge"
	"docket/internal/record"
)

// Now is the time in every test that uses Options.
func Now() time.Time { return time.Date(2026, 11, 3, 10, 30, 0, 0, time.UTC) }

// Options give a judge a fixed clock, counted ids, and waits that are noted
// instead of waited.
func Options(t testing.TB, waits *[]time.Duration) judge.Options {
	t.Helper()
	var n atomic.Int64
	return judge.Options{
		Client: Client(t),
		Now:    Now,
		Random: func() float64 { return 0 },
		NewID:  func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n.Add(1)) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			if waits != nil {
				*waits = append(*waits, d)
			}
			return ctx.Err()
		},
	}
}

// New builds a judge with one backend and one rubric, called r.
func New(t testing.TB, b judge.BackendConfig, r judge.Rubric, waits *[]time.Duration) *judge.Judge {
	t.Helper()
	return NewOf(t, map[string]judge.BackendConfig{"main": b}, r, waits)
}

// NewOf builds a judge with some backends and one rubric, called r.
func NewOf(t testing.TB, backends map[string]judge.BackendConfig, r judge.Rubric, waits *[]time.Duration) *judge.Judge {
	t.Helper()
	cfg := judge.DefaultConfig()
	cfg.Backends, cfg.CacheWindow = backends, 0
	j, err := judge.New(cfg, map[string]judge.Rubric{"r": r}, Options(t, waits))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Message is a message of one text.
func Message(role, text string) record.Message {
	return record.Message{Role: role, Parts: []record.Part{{Type: record.PartText, Content: text}}}
}

// Inference is a recorded inference.
func Inference() record.Inference {
	return record.Inference{
		ID: "0192f0c1-0000-7000-8000-000000000001", Time: Now().Add(-time.Hour), Project: "shop", Environment: "test",
		TraceID: "0af7651916cd43dd8448eb211c80319c", SpanID: "b7ad6b7169203331", ConversationID: "conv-1",
		RequestModel: "acme-large", PromptName: "support", PromptVersion: "3", Complete: true,
		Stratum: record.StratumOK, TerminalState: record.StateComplete, Status: 200,
	}
}

// Body is an exchange with two tool calls, the second of which failed.
func Body() record.Body {
	text := func(s string) *string { return &s }
	failed := true
	return record.Body{
		Input: []record.Message{
			Message("system", "You are the assistant of a small shop."),
			Message("user", "My lamp (order 881) came without its bulb. Please refund the bulb."),
			{Role: "assistant", Parts: []record.Part{
				{Type: record.PartToolCall, ID: "t1", Name: "find_order", Arguments: text(`{"order":"881"}`)},
				{Type: record.PartToolCall, ID: "t2", Name: "refund", Arguments: text(`{"order":"881","cents":450}`)},
			}},
			{Role: "tool", Parts: []record.Part{{Type: record.PartToolCallResponse, ID: "t1", Response: text(`{"order":"881","items":["lamp","bulb"]}`)}}},
			{Role: "tool", Parts: []record.Part{{Type: record.PartToolCallResponse, ID: "t2", Response: text("card expired"), IsError: &failed}}},
		},
		Output: []record.Message{Message("assistant", "I am sorry the bulb was missing. The refund of 4.50 did not go through, because the card has expired.")},
		Tools:  `[{"type":"function","function":{"name":"refund"}}]`,
	}
}

// Unit is that exchange as a unit.
func Unit() judge.Unit { return UnitOf(Body()) }

// UnitOf is a body as a unit.
func UnitOf(body record.Body) judge.Unit {
	u, _ := judge.UnitFrom(Inference(), body)
	u.Rule, u.InclusionP = "live", 0.25
	return u
}

// Reply is the unit with another reply.
func Reply(text string) judge.Unit {
	body := Body()
	body.Output = []record.Message{Message("assistant", text)}
	return UnitOf(body)
}

// Three criteria, of which the second has words of its own for met and not met.
func Three() []judge.Criterion {
	return []judge.Criterion{
		{Name: "sorry", Text: "The reply says sorry."},
		{
			Name: "amount", Text: "The reply names the refunded amount.",
			SatisfiedWhen: "a sum of money is named", NotSatisfiedWhen: "no sum is named",
		},
		{Name: "polite", Text: "The reply is polite."},
	}
}

// By answers each criterion of Three with its own probability.
func By(sorry, amount, polite float64) func(Question) Answer {
	return func(q Question) Answer {
		switch topic(q.Text) {
		case "sorry":
			return Answer{P: sorry}
		case "amount":
			return Answer{P: amount}
		}
		return Answer{P: polite}
	}
}
