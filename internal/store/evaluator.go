package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"docket/internal/record"
)

// evaluatorTimeout bounds a query of the evaluator, which has no person waiting.
const evaluatorTimeout = time.Minute

func evaluatorContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return readContext(ctx, evaluatorTimeout, clickhouse.Settings{})
}

// Now is the clock of the server, which sets Candidate.InsertedAt.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	query, err := s.queries.render("now.sql", nil)
	if err != nil {
		return time.Time{}, err
	}
	var t time.Time
	if err := s.conn.QueryRow(ctx, query).Scan(&t); err != nil {
		return time.Time{}, fmt.Errorf("read the clock of the store: %w", err)
	}
	return t.UTC(), nil
}

// InferencesByID returns those that exist.
func (s *Store) InferencesByID(ctx context.Context, ids []string) (map[string]record.Inference, error) {
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	out := make(map[string]record.Inference, len(ids))
	for chunk := range slices.Chunk(ids, idChunk) {
		rows, err := selectRows(ctx, s, inferences(), "inferences_by_id.sql", nil, named("ids", chunk))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[r.ID] = r
		}
	}
	return out, nil
}

// Candidates returns candidates in the order they were inserted, then by id.
func (s *Store) Candidates(ctx context.Context, q record.CandidateQuery) ([]record.Candidate, error) {
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	shards := make([]uint16, len(q.Shards)) // a []uint8 would be sent as a string
	for i, n := range q.Shards {
		shards[i] = uint16(n)
	}
	return selectRows(ctx, s, candidates(), "candidates.sql", map[string]any{"Shards": len(shards) > 0},
		named("after", timeParam(lowest(q.After))), named("after_id", q.AfterID), named("until", timeParam(highest(q.Until))),
		named("shards", shards), named("limit", limitOf(q.Limit)))
}

// JudgedIDs says which of these verdicts exist.
func (s *Store) JudgedIDs(ctx context.Context, verdictIDs []string) (map[string]bool, error) {
	query, err := s.queries.render("judged_ids.sql", nil)
	if err != nil {
		return nil, err
	}
	return s.lookUp(ctx, query, verdictIDs, nil)
}

// WriteVerdicts stores judge calls, then their verdicts: who finds a verdict
// finds its call. Writing the same again changes nothing; a verdict with the same
// id and a later JudgedAt replaces the older one. What is about an inference
// that was deleted is left out.
func (s *Store) WriteVerdicts(ctx context.Context, calls []record.JudgeCall, list []record.Verdict) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	judged := func(r *record.Verdict) string { return r.InferenceID }
	called := func(r *record.JudgeCall) string { return r.InferenceID }
	gone, err := s.deleted(ctx, append(idsOf(list, judged), idsOf(calls, called)...))
	if err != nil {
		return err
	}
	list, calls = withoutDeleted(list, gone, judged), withoutDeleted(calls, gone, called)
	calls = replaceRows(calls,
		func(r *record.JudgeCall) bool { return storable(r.Time) && storable(r.UnitTime) },
		func(r *record.JudgeCall) {
			r.UnitTime = storableTime(r.UnitTime, r.InferenceID, r.Time)
			r.Time = storableTime(r.Time, "", r.UnitTime)
		})
	list = replaceRows(list,
		func(r *record.Verdict) bool { return storable(r.Time) && storable(r.JudgedAt) },
		func(r *record.Verdict) {
			r.Time = storableTime(r.Time, r.InferenceID, r.JudgedAt)
			r.JudgedAt = storableTime(r.JudgedAt, "", r.Time)
		})
	callID := func(r *record.JudgeCall) string {
		return fmt.Sprintf("%s|%s|%d|%s|%d|%s", r.ID, r.RunID, r.Time.UnixMicro(), r.Outcome, r.Attempts, r.ErrorReason)
	}
	if err := insert(ctx, s, judgeCalls(), "calls:"+hashOf(calls, callID), calls, callID, nil); err != nil {
		return err
	}
	verdictID := func(r *record.Verdict) string {
		return fmt.Sprintf("%s|%s|%d|%s|%s", r.ID, r.RunID, r.JudgedAt.UnixMicro(), r.Outcome, r.Reason)
	}
	return insert(ctx, s, verdicts(), "verdicts:"+hashOf(list, verdictID), list, verdictID, nil)
}

// RefreshQuality computes the hourly sums of quality_hourly again for the hours
// that [since, until) touches. A view does this each minute for the last 48 hours;
// who judges older inferences calls it when done.
func (s *Store) RefreshQuality(ctx context.Context, since, until time.Time) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	query, err := s.queries.render("refresh_quality.sql", nil)
	if err != nil {
		return err
	}
	from, to := since.Truncate(time.Hour), until.Add(time.Hour-1).Truncate(time.Hour)
	if err := s.conn.Exec(ctx, query, named("from", timeParam(lowest(from))), named("to", timeParam(highest(to)))); err != nil {
		return fmt.Errorf("refresh hourly sums from %v to %v: %w", from, to, err)
	}
	return nil
}

// JudgeSpent returns how many calls to judges a rubric has made since a time, and
// what those cost whose cost is known. Answers from memory are not counted.
func (s *Store) JudgeSpent(ctx context.Context, rubric string, since time.Time) (calls int, nanoUSD uint64, err error) {
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	query, err := s.queries.render("judge_spent.sql", nil)
	if err != nil {
		return 0, 0, err
	}
	var n uint64
	if err := s.conn.QueryRow(ctx, query, named("rubric", rubric), named("since", timeParam(lowest(since)))).Scan(&n, &nanoUSD); err != nil {
		return 0, 0, fmt.Errorf("sum up what rubric %s spent: %w", rubric, readError(err))
	}
	return int(n), nanoUSD, nil
}

// WriteEpochs adds to the record of what was sampled and what was not, and why.
// Counts of equal keys add up, so two calls with the same rows count twice. A
// call that fails is tried once more under the same token; after an error the
// rows may have been stored.
func (s *Store) WriteEpochs(ctx context.Context, list []record.Epoch) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	now := time.Now()
	list = replaceRows(list,
		func(r *record.Epoch) bool { return storable(r.Time) },
		func(r *record.Epoch) { r.Time = storableTime(r.Time, "", now) })
	token := "epochs:" + rand.Text()
	err := insert(ctx, s, epochs(), token, list, nil, nil)
	if err != nil && ctx.Err() == nil {
		err = insert(ctx, s, epochs(), token, list, nil, nil)
	}
	return err
}

// SaveCursors notes one place under several names.
func (s *Store) SaveCursors(ctx context.Context, names []string, at record.Cursor) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	now := time.Now()
	rows := make([]cursorRow, len(names))
	for i, name := range names {
		rows[i] = cursorRow{Name: name, At: lowest(at.Time), ID: at.ID, Updated: now}
	}
	token := fmt.Sprintf("cursor:%s:%d", hashOf(rows, func(r *cursorRow) string { return r.Name }), now.UnixNano())
	return insertChunk(ctx, s, cursors(), token, rows)
}

// LoadCursors returns what was saved last under these names, for those of which
// anything was.
func (s *Store) LoadCursors(ctx context.Context, names []string) (map[string]record.Cursor, error) {
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	rows, err := selectRows(ctx, s, cursors(), "load_cursors.sql", nil, named("names", names))
	if err != nil {
		return nil, fmt.Errorf("load cursors: %w", err)
	}
	out := make(map[string]record.Cursor, len(rows))
	for _, r := range rows {
		out[r.Name] = record.Cursor{Time: r.At, ID: r.ID}
	}
	return out, nil
}
