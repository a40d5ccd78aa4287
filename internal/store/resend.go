package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"docket/internal/record"
)

// idSet is the ids that are stored; nil when nobody looked.
type idSet map[string]bool

// presence is what of a batch is stored already.
type presence struct {
	inferences, bodies, spans idSet
	deleted                   idSet // inferences; they count as stored
}

// idChunk is how many ids go into one query; they travel in the URL.
const idChunk = 500

// stored looks up what of a batch is there, where the server's tokens do not
// tell. It forgets them after a while, and those of a part at once when a
// deletion has taken the last row of it.
func (s *Store) stored(ctx context.Context, b record.Batch) (presence, error) {
	if !b.Piece && !b.Resend {
		return presence{}, nil
	}
	ids := slices.Concat(idsOf(b.Inferences, inferenceID), idsOf(b.Bodies, bodyID), inferencesOf(b.Spans))
	gone, err := s.deleted(ctx, ids)
	if err != nil || !b.Piece && len(gone) == 0 && time.Since(b.FirstSent) <= checkAfter {
		return presence{}, err
	}
	p, err := s.present(ctx, b)
	if err == nil {
		p.addDeleted(b, gone)
	}
	return p, err
}

// present looks up which rows of a batch are stored.
func (s *Store) present(ctx context.Context, b record.Batch) (p presence, err error) {
	from, to := bounds(b.Inferences, func(r *record.Inference) time.Time { return r.Time })
	if p.inferences, err = s.storedIDs(ctx, "inferences", idsOf(b.Inferences, inferenceID), from, to); err != nil {
		return p, err
	}
	from, to = bounds(b.Bodies, func(r *record.Body) time.Time { return r.Time })
	if p.bodies, err = s.storedIDs(ctx, "inference_bodies", idsOf(b.Bodies, bodyID), from, to); err != nil {
		return p, err
	}
	from, to = bounds(b.Spans, func(r *record.Span) time.Time { return r.Time })
	traces := idsOf(b.Spans, func(r *record.Span) string { return r.TraceID })
	p.spans, err = s.storedSpans(ctx, traces, from, to)
	return p, err
}

// addDeleted counts what was deleted since as stored, so that a resend does not
// bring it back.
func (p *presence) addDeleted(b record.Batch, gone idSet) {
	p.deleted = gone
	for id := range gone {
		p.inferences[id], p.bodies[id] = true, true
	}
	for i := range b.Spans {
		if r := &b.Spans[i]; gone[r.Attributes[record.AttrInferenceID]] {
			p.spans[spanID(r)] = true
		}
	}
}

// keep selects the rows that are not stored; nil when nobody looked.
func keep[R any](set idSet, id func(*R) string) func(*R) bool {
	if set == nil {
		return nil
	}
	return func(r *R) bool { return !set[id(r)] }
}

// storedIDs looks up ids in a table that has inference_id and ts.
func (s *Store) storedIDs(ctx context.Context, table string, ids []string, from, to time.Time) (idSet, error) {
	query, err := s.queries.render("stored_ids.sql", map[string]string{"Table": table})
	if err != nil {
		return nil, err
	}
	return s.lookUp(ctx, query, ids, moments{"from": from, "to": to})
}

func (s *Store) storedSpans(ctx context.Context, traces []string, from, to time.Time) (idSet, error) {
	query, err := s.queries.render("stored_spans.sql", map[string]string{"Table": tableName(s.cfg.SpansTable)})
	if err != nil {
		return nil, err
	}
	return s.lookUp(ctx, query, traces, moments{"from": from, "to": to})
}

// moments are time parameters by name.
type moments map[string]time.Time

// lookUp runs a query that returns one string column, for ids in chunks.
func (s *Store) lookUp(ctx context.Context, query string, ids []string, times moments) (idSet, error) {
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	found := make(idSet)
	for chunk := range slices.Chunk(ids, idChunk) {
		args := []any{named("ids", chunk)}
		for name, t := range times {
			args = append(args, named(name, timeParam(t)))
		}
		if err := s.scanStrings(ctx, found, query, args...); err != nil {
			return nil, fmt.Errorf("look up %d stored ids: %w", len(chunk), err)
		}
	}
	return found, nil
}

func (s *Store) scanStrings(ctx context.Context, into idSet, query string, args ...any) error {
	rows, err := s.conn.Query(ctx, query, args...)
	if err != nil {
		return readError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		into[id] = true
	}
	return rows.Err()
}

// repairCandidates puts in candidates whose inference was stored earlier while
// the view failed. Those that may have expired since are left alone.
func (s *Store) repairCandidates(ctx context.Context, b record.Batch, stored presence) error {
	if len(stored.inferences) == 0 {
		return nil
	}
	ids := slices.DeleteFunc(idsOf(b.Inferences, inferenceID), func(id string) bool { return !stored.inferences[id] || stored.deleted[id] })
	query, err := s.queries.render("stored_candidates.sql", nil)
	if err != nil {
		return err
	}
	have, err := s.lookUp(ctx, query, ids, nil)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return have[id] })
	repair, err := s.queries.render("repair_candidates.sql", nil)
	if err != nil {
		return err
	}
	since := time.Now().Add(24*time.Hour - candidateTTL)
	for chunk := range slices.Chunk(ids, idChunk) {
		token := b.Token + ":candidates:rest:" + hashOf(chunk, func(s *string) string { return *s })
		err := s.execInsert(ctx, token, repair, named("ids", chunk), named("since", timeParam(since)))
		if err != nil {
			return fmt.Errorf("repair candidates (n=%d): %w", len(chunk), err)
		}
	}
	if len(ids) > 0 {
		s.log.Warn("put in candidates that a failed view had left out", "n", len(ids))
	}
	return nil
}

// execInsert runs INSERT ... SELECT under a token.
func (s *Store) execInsert(ctx context.Context, token, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.WriteTimeout)
	defer cancel()
	return s.conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(s.insertSettings(token))), query, args...)
}

// idsOf lists the distinct ids of rows in order.
func idsOf[R any](rows []R, id func(*R) string) []string {
	seen := make(idSet, len(rows))
	out := make([]string, 0, len(rows))
	for i := range rows {
		if v := id(&rows[i]); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}
