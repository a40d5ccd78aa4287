package judge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"

	"docket/internal/record"
)

// member is a backend with what the settings say about it.
type member struct {
	name    string
	config  BackendConfig
	profile profile
	backend backend
	slots   chan struct{} // one per call at the same time; full means wait
	limit   *rate.Limiter // nil is no limit
}

// maker builds a backend of one format.
type maker func(c BackendConfig, p profile, t *transport) (backend, error)

// makers is the table of formats: a new one is a file and a line.
func makers() map[string]maker {
	return map[string]maker{
		formatSystemOne: newSystemOne,
		formatOpenAI:    newOpenAI,
		formatSGLang:    newSGLang,
		formatChat:      newChat,
		formatHTTP:      newHTTP,
		formatStatic:    newStatic,
	}
}

// ruleName is the backend of criteria with a check. It is always there.
const (
	ruleName  = "rule"
	ruleSlots = 1024
)

// newMembers builds every configured backend, and the rule backend.
func newMembers(cfg Config, o Options) (map[string]*member, error) {
	out := map[string]*member{}
	for name, c := range cfg.backends() {
		p, err := c.profile()
		if err != nil {
			return nil, fmt.Errorf("backends.%s: %w", name, err)
		}
		b, err := makers()[p.format](c, p, newTransport(c, p, o))
		if err != nil {
			return nil, fmt.Errorf("backends.%s: %w", name, err)
		}
		m := &member{name: name, config: c, profile: p, backend: b, slots: make(chan struct{}, max(c.MaxConcurrent, 1))}
		if c.MaxPerSecond > 0 {
			m.limit = rate.NewLimiter(rate.Limit(c.MaxPerSecond), 1)
		}
		out[name] = m
	}
	rules := profile{name: formatRule, format: formatRule, maxQuestions: math.MaxInt, images: imagesNone}
	out[ruleName] = &member{name: ruleName, profile: rules, backend: ruleBackend{}, slots: make(chan struct{}, ruleSlots)}
	return out, nil
}

// ask waits for its turn, asks, and notes how long the answer took.
func (m *member) ask(ctx context.Context, now func() time.Time, r request) reply {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return m.givenUp(ctx, len(r.questions))
	}
	if m.limit != nil && m.limit.Wait(ctx) != nil {
		return m.givenUp(ctx, len(r.questions))
	}
	started := now()
	out := m.backend.ask(ctx, r)
	out.latency = max(now().Sub(started), 0)
	return out
}

func (m *member) givenUp(ctx context.Context, n int) reply {
	reason := record.ReasonJudgeError
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		reason = record.ReasonTimeout
	}
	return failed(n, methodOf(m.profile.format), reason, "given up while waiting for a turn")
}

// methodOf is how a format obtains probabilities when it gets any.
func methodOf(format string) string {
	switch format {
	case formatChat:
		return record.MethodStructured
	case formatHTTP:
		return record.MethodHTTP
	case formatRule:
		return record.MethodRule
	case formatStatic:
		return record.MethodStatic
	}
	return record.MethodDecision
}

// cost is what a call cost: what the judge says, else its tokens at the
// backend's prices; nil when that is not known.
func cost(c BackendConfig, r reply) *uint64 {
	if r.costNano != nil {
		return r.costNano
	}
	if r.method == record.MethodRule || r.method == record.MethodStatic {
		return new(uint64)
	}
	if c.InputUSD == nil || c.OutputUSD == nil || r.inputTokens == nil {
		return nil
	}
	// A million tokens at a dollar is 1e9 nano-dollars: 1000 for one token.
	nano := uint64(math.Round((float64(*r.inputTokens)**c.InputUSD + float64(deref(r.outputTokens, 0))**c.OutputUSD) * 1000))
	return &nano
}
