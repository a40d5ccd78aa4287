package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"docket/internal/record"
)

// holder is a table that holds something of a person, and which rows are his.
type holder struct {
	table string // as our tables are named; spansTable and traceIDsTable are replaced
	needs string // the parameter without which there is nothing to look for
	where string
}

const (
	spansTable    = "otel_traces"
	traceIDsTable = "otel_traces_trace_id_ts"
)

// holders lists every table that holds something of an inference, in the order
// of deletion: candidates first, so that nothing is judged any more, and
// inferences last, so that a deletion that is stopped finds its way again.
func holders() []holder {
	const byID = "inference_id IN {ids:Array(String)}"
	return []holder{
		{"candidates", "ids", byID},
		{spansTable, "judges", "TraceId IN {judges:Array(String)}"},
		{spansTable, "traces", "TraceId IN {traces:Array(String)} AND (SpanId IN {spans:Array(String)} OR SpanAttributes['docket.inference.id'] IN {ids:Array(String)})"},
		{traceIDsTable, "gone", "TraceId IN {gone:Array(String)}"},
		{"verdicts", "ids", byID},
		{"judge_calls", "ids", byID},
		{"human_labels", "ids", byID},
		{"calibration_answers", "ids", "case_id IN {ids:Array(String)}"},
		{"feedback", "ids", byID + " OR inference_id = '' AND (response_id IN {responses:Array(String)} OR trace_id IN {traces:Array(String)})"},
		{"inference_bodies", "ids", byID},
		{"inferences", "ids", byID},
	}
}

// ownFeedback is what a user said, about whatever it was.
func ownFeedback(project string) holder {
	h := holder{"feedback", "", "user_id = {user:String}"}
	if project != "" {
		h.where += " AND project IN ('', {project:String})"
	}
	return h
}

// Inferences that are looked up and deleted at a time. Their keys travel in the
// URL, of which servers take a mebibyte.
const (
	subjectChunk = 1_000
	maxKeyBytes  = 256 << 10
)

// eachChunk calls f with the inferences of a subject and their keys, as many at
// a time as fit one statement.
func (s *Store) eachChunk(ctx context.Context, ids []string, f func(ids []string, keys map[string][]string) error) error {
	for chunk := range slices.Chunk(ids, subjectChunk) {
		keys, err := s.subjectKeys(ctx, chunk)
		if err != nil {
			return err
		}
		if n := len(chunk); n > 1 && keyBytes(keys) > maxKeyBytes {
			for half := range slices.Chunk(chunk, (n+1)/2) {
				if err := s.eachChunk(ctx, half, f); err != nil {
					return err
				}
			}
			continue
		}
		if err := f(chunk, keys); err != nil {
			return err
		}
	}
	return nil
}

// keyBytes is about what the keys are long in a URL.
func keyBytes(keys map[string][]string) (n int) {
	const around = 9 // quotes and a comma, escaped
	for _, list := range keys {
		for _, key := range list {
			n += len(key) + around
		}
	}
	return n
}

// subjectIDs lists the inferences of a subject: those of the conversation, or
// those of the user. To the latter belong also calls without a user in a
// conversation in which there is no other user; they come first, as they are
// found by the others.
func (s *Store) subjectIDs(ctx context.Context, sub record.Subject) ([]string, error) {
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	query, err := s.queries.render("subject_ids.sql", sub)
	if err != nil {
		return nil, err
	}
	rows, err := s.conn.Query(ctx, query, named("user", sub.User), named("conversation", sub.Conversation), named("project", sub.Project))
	if err != nil {
		return nil, fmt.Errorf("look for the calls of a %s: %w", sub.Kind(), readError(err))
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("look for the calls of a %s: %w", sub.Kind(), err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// subjectKeys are the parameters of holders for some inferences.
func (s *Store) subjectKeys(ctx context.Context, ids []string) (map[string][]string, error) {
	query, err := s.queries.render("subject_keys.sql", nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	rows, err := s.conn.Query(ctx, query, named("ids", ids))
	if err != nil {
		return nil, fmt.Errorf("look up the traces of %d calls: %w", len(ids), err)
	}
	defer rows.Close()
	keys := map[string][]string{"ids": ids, "traces": {}, "spans": {}, "responses": {}, "judges": {}, "gone": {}}
	for rows.Next() {
		var kind, id string
		if err := rows.Scan(&kind, &id); err != nil {
			return nil, fmt.Errorf("look up the traces of %d calls: %w", len(ids), err)
		}
		keys[kind+"s"] = append(keys[kind+"s"], id)
	}
	return keys, rows.Err()
}

// spansGone adds the traces of which no span is left.
func (s *Store) spansGone(ctx context.Context, keys map[string][]string) error {
	query, err := s.queries.render("spans_left.sql", map[string]string{"Table": s.holderName(spansTable)})
	if err != nil {
		return err
	}
	all := slices.Concat(keys["traces"], keys["judges"])
	left, err := s.lookUp(ctx, query, all, nil)
	keys["gone"] = slices.DeleteFunc(all, func(id string) bool { return left[id] })
	return err
}

// holderName is the name of a holder's table for reads.
func (s *Store) holderName(table string) string {
	switch table {
	case spansTable:
		return s.ddl.spansObject("")
	case traceIDsTable:
		return s.ddl.spansObject("_trace_id_ts")
	}
	return s.ddl.object(table)
}

// holderTable is the name of the table in which a holder's rows lie.
func (s *Store) holderTable(ctx context.Context, table string) string {
	others := s.spansAreOthers(ctx)
	switch {
	case table == spansTable && !others:
		return s.ddl.spansLocal("")
	case table == traceIDsTable && !others:
		return s.ddl.spansLocal("_trace_id_ts")
	case table == spansTable || table == traceIDsTable:
		return s.holderName(table)
	}
	return s.ddl.table(table)
}

// SubjectRows counts what is stored of a subject, by table, and deletes nothing.
func (s *Store) SubjectRows(ctx context.Context, sub record.Subject) (record.Deletion, error) {
	d := record.Deletion{Kind: sub.Kind(), Project: sub.Project, Rows: map[string]uint64{}}
	ids, err := s.subjectIDs(ctx, sub)
	if err != nil {
		return d, err
	}
	err = s.eachChunk(ctx, ids, func(_ []string, keys map[string][]string) error {
		rows, err := s.countHolders(ctx, keys)
		for table, n := range rows {
			d.Rows[table] += n
		}
		return err
	})
	if err != nil {
		return d, err
	}
	if sub.User == "" {
		return d, nil
	}
	own, err := s.countRows(ctx, ownFeedback(sub.Project), nil, sub)
	if err != nil {
		return d, err
	}
	if own > d.Rows["feedback"] { // most is about his own calls, and counted there
		d.Rows["feedback"] = own
	}
	d.Shared, err = s.sharedCalls(ctx, sub)
	return d, err
}

// countHolders counts the rows of some inferences, by table.
func (s *Store) countHolders(ctx context.Context, keys map[string][]string) (map[string]uint64, error) {
	out := map[string]uint64{}
	for _, h := range holders() {
		if len(keys[h.needs]) == 0 {
			continue
		}
		n, err := s.countRows(ctx, h, keys, record.Subject{})
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out[h.table] += n
		}
	}
	return out, nil
}

func (s *Store) countRows(ctx context.Context, h holder, keys map[string][]string, sub record.Subject) (uint64, error) {
	query, err := s.queries.render("count_rows.sql", map[string]string{"Table": s.holderName(h.table), "Where": h.where})
	if err != nil {
		return 0, err
	}
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	var n uint64
	if err := s.conn.QueryRow(ctx, query, holderArgs(keys, sub)...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count rows of %s: %w", h.table, readError(err))
	}
	return n, nil
}

// holderArgs binds the keys of a chunk, or the subject.
func holderArgs(keys map[string][]string, sub record.Subject) []any {
	args := []any{named("user", sub.User), named("project", sub.Project)}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		args = append(args, named(name, keys[name]))
	}
	return args
}

func (s *Store) sharedCalls(ctx context.Context, sub record.Subject) (n uint64, err error) {
	query, err := s.queries.render("subject_shared.sql", sub)
	if err != nil {
		return 0, err
	}
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	err = s.conn.QueryRow(ctx, query, named("user", sub.User), named("project", sub.Project)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the calls of others in the same conversations: %w", readError(err))
	}
	return n, nil
}
