package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"docket/internal/record"
)

// repairTraces puts the traces into the index of traces whose spans were stored
// earlier while the view failed.
func (s *Store) repairTraces(ctx context.Context, b record.Batch, stored presence) error {
	ids := idsOf(b.Spans, func(r *record.Span) string { return r.TraceID })
	there := make(idSet)
	for i := range b.Spans {
		r := &b.Spans[i]
		if stored.spans[spanID(r)] && !stored.deleted[r.Attributes[record.AttrInferenceID]] {
			there[r.TraceID] = true
		}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !there[id] || id == "" })
	if len(ids) == 0 {
		return nil
	}
	names := map[string]string{"Table": s.holderName(spansTable), "Index": s.holderName(traceIDsTable)}
	query, err := s.queries.render("stored_traces.sql", names)
	if err != nil {
		return err
	}
	have, err := s.lookUp(ctx, query, ids, nil)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return have[id] })
	repair, err := s.queries.render("repair_traces.sql", names)
	if err != nil {
		return err
	}
	from, to := bounds(b.Spans, func(r *record.Span) time.Time { return r.Time })
	for chunk := range slices.Chunk(ids, idChunk) {
		token := b.Token + ":traces:rest:" + hashOf(chunk, func(s *string) string { return *s })
		err := s.execInsert(ctx, token, repair, named("ids", chunk), named("from", timeParam(from)), named("to", timeParam(to)))
		if err != nil {
			return fmt.Errorf("repair the index of traces (n=%d): %w", len(chunk), err)
		}
	}
	if len(ids) > 0 {
		s.log.Warn("put in traces that a failed view had left out", "n", len(ids))
	}
	return nil
}
