package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"docket/internal/record"
)

// checkAfter is the age from which a resent batch is compared with what is
// stored, as the server may have forgotten its tokens.
const checkAfter = time.Hour

// Write stores a batch. It returns nil when all rows are durable as far as the
// server's settings make an acknowledged insert durable. On an error any part of
// it may be stored; sending the same batch again is safe. A *RefusedError means
// that it would fail again.
func (s *Store) Write(ctx context.Context, b record.Batch) error {
	if b.Token == "" {
		return errors.New("write batch: it has no token")
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	b = storableBatch(b)
	stored, err := s.stored(ctx, b)
	if err != nil {
		return err
	}
	if err := insert(ctx, s, bodies(), b.Token, b.Bodies, bodyID, keep(stored.bodies, bodyID)); err != nil {
		return err
	}
	if err := insert(ctx, s, spans(s.cfg.SpansTable), b.Token, b.Spans, spanID, keep(stored.spans, spanID)); err != nil {
		return err
	}
	if err := s.repairTraces(ctx, b, stored); err != nil {
		return err
	}
	if err := insert(ctx, s, inferences(), b.Token, b.Inferences, inferenceID, keep(stored.inferences, inferenceID)); err != nil {
		return err
	}
	if err := s.repairCandidates(ctx, b, stored); err != nil {
		return err
	}
	rows := gapRows(b)
	return insert(ctx, s, gaps(), b.Token, rows, func(r *gapRow) string { return r.ID }, nil)
}

// WriteSpans stores spans under a token: calling it again with the same token
// and spans changes nothing. Traces about an inference that was deleted are left
// out.
func (s *Store) WriteSpans(ctx context.Context, token string, list []record.Span) error {
	if token == "" {
		return errors.New("write spans: no token")
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	gone, err := s.deleted(ctx, inferencesOf(list))
	if err != nil {
		return err
	}
	if gone != nil {
		about := make(idSet)
		for _, r := range list {
			if gone[r.Attributes[record.AttrInferenceID]] {
				about[r.TraceID] = true
			}
		}
		list = withoutDeleted(list, about, func(r *record.Span) string { return r.TraceID })
	}
	return insert(ctx, s, spans(s.cfg.SpansTable), token, storableSpans(list, time.Time{}), spanID, nil)
}

// inferencesOf lists the inferences that spans are about.
func inferencesOf(list []record.Span) []string {
	ids := idsOf(list, func(r *record.Span) string { return r.Attributes[record.AttrInferenceID] })
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

func inferenceID(r *record.Inference) string { return r.ID }
func bodyID(r *record.Body) string           { return r.InferenceID }
func spanID(r *record.Span) string           { return r.TraceID + r.SpanID }

// gapRows gives each gap of a batch an id that is the same on every resend.
func gapRows(b record.Batch) []gapRow {
	rows := make([]gapRow, len(b.Gaps))
	for i, g := range b.Gaps {
		g.Time = storableTime(g.Time, "", b.FirstSent)
		sum := sha256.Sum256(fmt.Appendf(nil, "%s:%d", b.Token, i))
		rows[i] = gapRow{ID: hex.EncodeToString(sum[:16]), Gap: g}
	}
	return rows
}

// storableBatch replaces times that the tables cannot hold. The batch of the
// caller is left as it is.
func storableBatch(b record.Batch) record.Batch {
	b.Inferences = replaceRows(b.Inferences,
		func(r *record.Inference) bool { return storable(r.Time) },
		func(r *record.Inference) {
			r.Attributes = withOriginalTime(r.Attributes, r.Time)
			r.Time = storableTime(r.Time, r.ID, b.FirstSent)
		})
	b.Bodies = replaceRows(b.Bodies,
		func(r *record.Body) bool { return storable(r.Time) },
		func(r *record.Body) { r.Time = storableTime(r.Time, r.InferenceID, b.FirstSent) })
	b.Spans = storableSpans(b.Spans, b.FirstSent)
	return b
}

func storableSpans(list []record.Span, otherwise time.Time) []record.Span {
	return replaceRows(list,
		func(r *record.Span) bool { return storable(r.Time) },
		func(r *record.Span) {
			r.Attributes = withOriginalTime(r.Attributes, r.Time)
			r.Time = storableTime(r.Time, r.Attributes[record.AttrInferenceID], otherwise)
		})
}

// replaceRows changes the rows that are not good, in a copy if there are any.
func replaceRows[R any](rows []R, good func(*R) bool, change func(*R)) []R {
	copied := false
	for i := range rows {
		if good(&rows[i]) {
			continue
		}
		if !copied {
			rows, copied = slices.Clone(rows), true
		}
		change(&rows[i])
	}
	return rows
}
