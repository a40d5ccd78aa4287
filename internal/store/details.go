package store

import (
	"context"
	"math"

	"docket/internal/record"
)

// maxDetails is how many inferences Details takes at a time.
const maxDetails = idChunk

// noLimit is more rows than a few hundred inferences can have.
const noLimit = math.MaxInt32

// Details returns everything about some inferences, in their order. Unlike
// Inference it leaves nothing out, however much there is.
func (s *Store) Details(ctx context.Context, rows []record.Inference) ([]record.InferenceDetail, error) {
	var out []record.InferenceDetail
	for len(rows) > 0 {
		n := min(len(rows), maxDetails)
		chunk, err := s.details(ctx, rows[:n])
		if err != nil {
			return nil, err
		}
		out, rows = append(out, chunk...), rows[n:]
	}
	return out, nil
}

func (s *Store) details(ctx context.Context, rows []record.Inference) ([]record.InferenceDetail, error) {
	out := make([]record.InferenceDetail, len(rows))
	at, ids := make(map[string]*record.InferenceDetail, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		out[i].Inference, ids[i], at[r.ID] = r, r.ID, &out[i]
	}
	kept, err := s.InferenceBodies(ctx, ids)
	if err != nil {
		return nil, err
	}
	for id, b := range kept {
		at[id].Body = &b
	}
	judged, err := s.AllVerdicts(ctx, record.VerdictFilter{InferenceIDs: ids})
	if err != nil {
		return nil, err
	}
	for _, v := range judged {
		at[v.InferenceID].Verdicts = append(at[v.InferenceID].Verdicts, v)
	}
	calls, err := s.judgeCalls(ctx, ids, noLimit)
	if err != nil {
		return nil, err
	}
	for _, c := range calls {
		at[c.InferenceID].JudgeCalls = append(at[c.InferenceID].JudgeCalls, c)
	}
	given, err := s.AllLabels(ctx, record.LabelFilter{InferenceIDs: ids})
	if err != nil {
		return nil, err
	}
	for _, l := range given {
		at[l.InferenceID].Labels = append(at[l.InferenceID].Labels, l)
	}
	said, err := s.feedbackPage(ctx, record.FeedbackFilter{}, ids, noLimit)
	if err != nil {
		return nil, err
	}
	for _, f := range said {
		at[f.InferenceID].Feedback = append(at[f.InferenceID].Feedback, f)
	}
	return out, nil
}

// AllVerdicts returns what Verdicts does, without a limit.
func (s *Store) AllVerdicts(ctx context.Context, f record.VerdictFilter) ([]record.Verdict, error) {
	var out []record.Verdict
	f.Limit = maxLimit
	for {
		rows, err := s.Verdicts(ctx, f)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
		if len(rows) < maxLimit {
			return out, nil
		}
		last := rows[len(rows)-1]
		f.Before = record.Cursor{Time: last.Time, ID: last.ID}
	}
}
