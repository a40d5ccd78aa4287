package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"docket/internal/record"
)

// Rows of a list when the filter names no limit, and at most.
const (
	defaultLimit = 100
	maxLimit     = 10_000
)

func limitOf(n int) int {
	if n <= 0 {
		return defaultLimit
	}
	return min(n, maxLimit)
}

// page bounds a query for a person: its time and its memory in the server.
func (s *Store) page(ctx context.Context) (context.Context, context.CancelFunc) {
	return readContext(ctx, s.cfg.QueryTimeout, clickhouse.Settings{"max_memory_usage": int64(s.cfg.QueryMemory)})
}

// readContext bounds a query in time. Without the setting the server scans parts
// of less than a million rows, though a projection would find the id.
func readContext(ctx context.Context, limit time.Duration, set clickhouse.Settings) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	set["max_execution_time"] = int(limit / time.Second)
	set["min_table_rows_to_use_projection_index"] = 0
	return clickhouse.Context(ctx, clickhouse.WithSettings(set)), cancel
}

// selectRows renders a query over t and reads its rows.
func selectRows[R any](ctx context.Context, s *Store, t table[R], file string, data map[string]any, args ...any) ([]R, error) {
	if data == nil {
		data = make(map[string]any, 1)
	}
	data["Columns"] = t.names()
	query, err := s.queries.render(file, data)
	if err != nil {
		return nil, err
	}
	rows, err := t.collect(ctx, s.conn, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, readError(err))
	}
	return rows, nil
}

// steps are the sizes of the windows of a walk.
func steps() []time.Duration {
	const hour = time.Hour
	return []time.Duration{hour, 6 * hour, 36 * hour, 9 * 24 * hour, 54 * 24 * hour}
}

// walk reads a list newest first over windows of time that grow as they go back,
// until limit rows are there or since is reached. What it costs follows from what
// it returns. read must return the newest rows of [from, to), at most n.
func walk[R any](since, until, before time.Time, limit int, read func(from, to time.Time, n int) ([]R, error)) ([]R, error) {
	if since.Before(minTime) {
		since = minTime
	}
	to, start := maxTime, time.Now()
	if !until.IsZero() && until.Before(to) {
		to = until
	}
	if !before.IsZero() && before.Before(to) {
		to = before.Add(time.Microsecond) // rows at that very time may follow
	}
	if to.Before(start) {
		start = to
	}
	var out []R
	for _, step := range append(steps(), 0) {
		from := start.Add(-step)
		if step == 0 || from.Before(since) {
			from = since
		}
		if from.Before(to) {
			rows, err := read(from, to, limit-len(out))
			if err != nil {
				return nil, err
			}
			out = append(out, rows...)
		}
		if len(out) >= limit || !from.After(since) {
			break
		}
		start, to = from, from
	}
	return out, nil
}

// InferenceBodies returns the bodies that are still kept, by inference id.
func (s *Store) InferenceBodies(ctx context.Context, ids []string) (map[string]record.Body, error) {
	return s.bodiesOf(ctx, bodies(), ids)
}

// InferenceMessages returns the bodies that are still kept without their raw
// request and response, by inference id.
func (s *Store) InferenceMessages(ctx context.Context, ids []string) (map[string]record.Body, error) {
	t := bodies()
	t.columns = slices.DeleteFunc(t.columns, func(c column[record.Body]) bool { return c.name == "request" || c.name == "response" })
	return s.bodiesOf(ctx, t, ids)
}

func (s *Store) bodiesOf(ctx context.Context, t table[record.Body], ids []string) (map[string]record.Body, error) {
	ctx, cancel := s.page(ctx)
	defer cancel()
	out := make(map[string]record.Body, len(ids))
	for chunk := range slices.Chunk(ids, idChunk) {
		rows, err := selectRows(ctx, s, t, "bodies.sql", nil, named("ids", chunk))
		if err != nil {
			return nil, err
		}
		for _, b := range rows {
			out[b.InferenceID] = b
		}
	}
	return out, nil
}

// maxSpans bounds the spans of one trace.
const maxSpans = 5_000

// Spans returns the spans of a trace in order of time, those of other programs
// that share the table included.
func (s *Store) Spans(ctx context.Context, traceID string) ([]record.Span, error) {
	ctx, cancel := s.page(ctx)
	defer cancel()
	t := spans(s.cfg.SpansTable)
	return selectRows(ctx, s, t, "spans.sql", map[string]any{"Table": tableName(t.name)},
		named("trace_id", traceID), named("limit", maxSpans))
}

// maxGaps bounds the gaps of one answer.
const maxGaps = 100_000

// Gaps returns what could not be recorded in [since, until), oldest first.
func (s *Store) Gaps(ctx context.Context, since, until time.Time) ([]record.Gap, error) {
	ctx, cancel := s.page(ctx)
	defer cancel()
	rows, err := selectRows(ctx, s, gaps(), "gaps.sql", nil,
		named("from", timeParam(lowest(since))), named("to", timeParam(highest(until))), named("limit", maxGaps))
	if err != nil {
		return nil, err
	}
	out := make([]record.Gap, len(rows))
	for i := range rows {
		out[i] = rows[i].Gap
	}
	return out, nil
}

// lowest and highest make a missing bound one that all rows keep.
func lowest(t time.Time) time.Time {
	if t.Before(minTime) {
		return minTime
	}
	return t
}

func highest(t time.Time) time.Time {
	if t.IsZero() || t.After(maxTime) {
		return maxTime
	}
	return t
}
