package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"docket/internal/record"
)

// Verdicts returns verdicts newest first by the time of what was judged, each
// once, as it was last written. Since is included, Until is not.
func (s *Store) Verdicts(ctx context.Context, f record.VerdictFilter) ([]record.Verdict, error) {
	ctx, cancel := s.page(ctx)
	defer cancel()
	limit := limitOf(f.Limit)
	if len(f.InferenceIDs) > idChunk {
		return s.verdictsInChunks(ctx, f, limit)
	}
	args := []any{
		named("project", f.Project), named("inference_ids", f.InferenceIDs), named("trace_id", f.TraceID),
		named("conversation_id", f.ConversationID), named("rubric", f.Rubric), named("criterion", f.Criterion),
		named("outcome", f.Outcome), named("reason", f.Reason),
		named("before", timeParam(highest(f.Before.Time))), named("before_id", f.Before.ID),
	}
	read := func(from, to time.Time, n int) ([]record.Verdict, error) {
		window := append([]any{named("from", timeParam(from)), named("to", timeParam(to)), named("limit", n)}, args...)
		return selectRows(ctx, s, verdicts(), "verdicts.sql", map[string]any{"F": f}, window...)
	}
	if len(f.InferenceIDs) > 0 || f.TraceID != "" || f.ConversationID != "" {
		return read(lowest(f.Since), highest(f.Until), limit) // an index finds them
	}
	return walk(f.Since, f.Until, f.Before.Time, limit, read)
}

// verdictsInChunks reads the verdicts of more inferences than fit one query.
func (s *Store) verdictsInChunks(ctx context.Context, f record.VerdictFilter, limit int) ([]record.Verdict, error) {
	var out []record.Verdict
	for chunk := range slices.Chunk(f.InferenceIDs, idChunk) {
		g := f
		g.InferenceIDs = chunk
		rows, err := s.Verdicts(ctx, g)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	slices.SortFunc(out, func(a, b record.Verdict) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.ID, a.ID))
	})
	return out[:min(len(out), limit)], nil
}
