package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"docket/internal/record"
)

// WriteFeedback stores feedback. Writing the same again changes nothing; a later
// version under the same id replaces the earlier one. Feedback on an inference
// that was deleted is left out.
func (s *Store) WriteFeedback(ctx context.Context, list []record.Feedback) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	gone, err := s.deleted(ctx, idsOf(list, func(r *record.Feedback) string { return r.InferenceID }))
	if err != nil {
		return err
	}
	list = withoutDeleted(list, gone, func(r *record.Feedback) string { return r.InferenceID })
	now := time.Now()
	list = replaceRows(list,
		func(r *record.Feedback) bool { return storable(r.Time) && storable(r.Updated) },
		func(r *record.Feedback) {
			r.Time = storableTime(r.Time, "", now)
			r.Updated = storableTime(r.Updated, "", r.Time)
		})
	return insert(ctx, s, feedback(), "feedback:"+hashOf(list, feedbackVersion), list, feedbackVersion, nil)
}

// feedbackVersion tells one version of a piece of feedback from every other.
func feedbackVersion(r *record.Feedback) string {
	return fmt.Sprintf("%q|%d|%s|%t", r.ID, r.Updated.UnixMicro(), feedbackContent(r), r.Linked)
}

// feedbackContent is what a piece of feedback says about what.
func feedbackContent(r *record.Feedback) string {
	score := "none"
	if r.Score != nil {
		score = fmt.Sprint(*r.Score)
	}
	return fmt.Sprintf("%q|%q|%q|%q|%s|%q|%q|%q|%q", r.Project, r.InferenceID, r.ResponseID, r.TraceID, score, r.Label, r.Comment, r.User, r.Source)
}

// Feedback returns each piece of feedback once, as it was last written, newest
// first. Since is included, Until is not.
func (s *Store) Feedback(ctx context.Context, f record.FeedbackFilter) ([]record.Feedback, error) {
	limit := limitOf(f.Limit)
	var out []record.Feedback
	for ids := range chunksOf(f.InferenceIDs) {
		rows, err := s.feedbackPage(ctx, f, ids, limit)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	if len(f.InferenceIDs) > idChunk {
		slices.SortStableFunc(out, func(a, b record.Feedback) int { return b.Time.Compare(a.Time) })
	}
	return out[:min(len(out), limit)], nil
}

func (s *Store) feedbackPage(ctx context.Context, f record.FeedbackFilter, ids []string, limit int) ([]record.Feedback, error) {
	ctx, cancel := s.page(ctx)
	defer cancel()
	f.InferenceIDs = ids
	linked := f.Linked != nil && *f.Linked
	return selectRows(ctx, s, feedback(), "feedback.sql", map[string]any{"F": f},
		named("id", f.ID), named("project", f.Project), named("inference_ids", ids), named("trace_id", f.TraceID),
		named("response_id", f.ResponseID), named("label", f.Label), named("user", f.User), named("source", f.Source),
		named("linked", linked), named("from", timeParam(lowest(f.Since))), named("to", timeParam(highest(f.Until))),
		named("before", timeParam(highest(f.Before.Time))), named("before_id", f.Before.ID), named("limit", limit))
}

// chunksOf cuts ids into as many as fit one query; no ids are one empty chunk.
func chunksOf(ids []string) func(yield func([]string) bool) {
	if len(ids) == 0 {
		return func(yield func([]string) bool) { yield(nil) }
	}
	return slices.Chunk(ids, idChunk)
}

// FeedbackTarget finds the inference that feedback is about; the error wraps
// ErrNotFound while it is not stored. Of several answers with one response id it
// is the latest; of a trace the latest answer to the user that began before the
// feedback came, and only when there is none the latest call of any kind.
func (s *Store) FeedbackTarget(ctx context.Context, f record.Feedback) (record.Inference, error) {
	ctx, cancel := s.page(ctx)
	defer cancel()
	query, err := s.queries.render("feedback_target.sql", f)
	if err != nil {
		return record.Inference{}, err
	}
	found := make(idSet)
	err = s.scanStrings(ctx, found, query, named("inference_id", f.InferenceID), named("response_id", f.ResponseID),
		named("trace_id", f.TraceID), named("at", timeParam(f.Time)))
	if err != nil {
		return record.Inference{}, fmt.Errorf("look for the inference of feedback %q: %w", f.ID, err)
	}
	for id := range found {
		rows, err := s.InferencesByID(ctx, []string{id})
		if inf, ok := rows[id]; ok || err != nil {
			return inf, err
		}
	}
	return record.Inference{}, fmt.Errorf("inference of feedback %q: %w", f.ID, ErrNotFound)
}

// LinkFeedback makes the inference of feedback a candidate again, then notes
// that. Calling it again with the same feedback changes nothing.
func (s *Store) LinkFeedback(ctx context.Context, f record.Feedback) error {
	if f.InferenceID == "" {
		return errors.New("link feedback: it has no inference")
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	query, err := s.queries.render("feedback_candidate.sql", nil)
	if err != nil {
		return err
	}
	// The token has no time in it: who sends the same twice makes one candidate.
	token := "candidate:" + hashOf([]record.Feedback{f}, func(r *record.Feedback) string { return r.ID + "|" + feedbackContent(r) })
	var score any
	if f.Score != nil {
		score = *f.Score
	}
	err = s.execInsert(ctx, token, query, named("inference_id", f.InferenceID), named("feedback_id", f.ID),
		named("label", f.Label), named("score", score), named("source", f.Source))
	if err != nil {
		return fmt.Errorf("make inference %s a candidate again: %w", f.InferenceID, err)
	}
	f.Linked = true
	f.Updated = f.Updated.Add(time.Microsecond) // above the version that was read, below any that came since
	return s.WriteFeedback(ctx, []record.Feedback{f})
}

// FeedbackCandidates returns the candidates that feedback made of these
// inferences, in the order of insertion.
func (s *Store) FeedbackCandidates(ctx context.Context, inferenceIDs []string) ([]record.Candidate, error) {
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	var out []record.Candidate
	for chunk := range slices.Chunk(inferenceIDs, idChunk) {
		rows, err := selectRows(ctx, s, candidates(), "feedback_candidates.sql", nil, named("ids", chunk))
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}
