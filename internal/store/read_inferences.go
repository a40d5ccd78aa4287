package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"docket/internal/record"
)

// Inferences returns inferences newest first. Since is included, Until is not.
// Text is looked for in messages, over search_window before the newest time that
// the filter allows.
func (s *Store) Inferences(ctx context.Context, f record.InferenceFilter) ([]record.Inference, error) {
	ctx, cancel := s.page(ctx)
	defer cancel()
	args := []any{
		named("id", f.ID), named("project", f.Project), named("environment", f.Environment),
		named("trace_id", f.TraceID), named("conversation_id", f.ConversationID), named("response_id", f.ResponseID),
		named("model", f.Model), named("operation", f.Operation), named("terminal_state", f.TerminalState),
		named("outcome", f.Outcome), named("rubric", f.Rubric), named("criterion", f.Criterion),
		named("feedback", f.Feedback), named("user_id", f.UserID), named("text", jsonText(f.Text)),
		named("before", timeParam(highest(f.Before.Time))), named("before_id", f.Before.ID),
	}
	read := func(from, to time.Time, n int) ([]record.Inference, error) {
		window := append([]any{named("from", timeParam(from)), named("to", timeParam(to)), named("limit", n)}, args...)
		return selectRows(ctx, s, inferences(), "inferences.sql", map[string]any{"F": f}, window...)
	}
	limit := limitOf(f.Limit)
	if f.ID != "" || f.TraceID != "" || f.ConversationID != "" || f.ResponseID != "" {
		return read(lowest(f.Since), highest(f.Until), limit) // an index finds them
	}
	since := f.Since
	if f.Text != "" {
		since = latest(since, earliest(time.Now(), f.Until, f.Before.Time).Add(-s.cfg.SearchWindow))
	}
	return walk(since, f.Until, f.Before.Time, limit, read)
}

// jsonText writes a text as it stands inside the stored messages.
func jsonText(text string) string {
	quoted := encodeJSON(text)
	return strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`)
}

// earliest is the first of t and those of more that are set.
func earliest(t time.Time, more ...time.Time) time.Time {
	for _, m := range more {
		if !m.IsZero() && m.Before(t) {
			t = m
		}
	}
	return t
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// detailLimit bounds verdicts, labels, feedback and judge calls of one inference.
const detailLimit = 1_000

// Inference returns everything about one inference; the error wraps ErrNotFound
// when there is none.
func (s *Store) Inference(ctx context.Context, id string) (record.InferenceDetail, error) {
	var d record.InferenceDetail
	list, err := s.Inferences(ctx, record.InferenceFilter{ID: id, Limit: 1})
	if err != nil {
		return d, err
	}
	if id == "" || len(list) == 0 {
		return d, fmt.Errorf("inference %q: %w", id, ErrNotFound)
	}
	d.Inference = list[0]
	kept, err := s.InferenceBodies(ctx, []string{id})
	if err != nil {
		return d, err
	}
	if b, ok := kept[id]; ok {
		d.Body = &b
	}
	if d.Verdicts, err = s.Verdicts(ctx, record.VerdictFilter{InferenceIDs: []string{id}, Limit: detailLimit}); err != nil {
		return d, err
	}
	if d.Labels, err = s.Labels(ctx, record.LabelFilter{InferenceIDs: []string{id}, Limit: detailLimit}); err != nil {
		return d, err
	}
	if d.Feedback, err = s.Feedback(ctx, record.FeedbackFilter{InferenceIDs: []string{id}, Limit: detailLimit}); err != nil {
		return d, err
	}
	d.JudgeCalls, err = s.judgeCalls(ctx, []string{id}, detailLimit)
	return d, err
}

func (s *Store) judgeCalls(ctx context.Context, ids []string, limit int) ([]record.JudgeCall, error) {
	ctx, cancel := s.page(ctx)
	defer cancel()
	return selectRows(ctx, s, judgeCalls(), "judge_calls.sql", nil, named("ids", ids), named("limit", limit))
}
