package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// One insert holds at most this; more rows make more inserts, each with its own
// token. It bounds memory here and in the server.
const (
	maxChunkRows  = 50_000
	maxChunkBytes = 8 << 20
	rowBytes      = 1 << 10 // of a row without its size
	maxPartitions = 50      // the server allows 100
)

// insert sends rows in groups of partitions, cut into chunks. keep leaves rows out (nil keeps all): a chunk that is
// then incomplete has a token of its own, made of the ids that are left, since
// other rows under the old token would vanish.
func insert[R any](ctx context.Context, s *Store, t table[R], token string, rows []R, id func(*R) string, keep func(*R) bool) error {
	for _, g := range groups(t, rows) {
		for i, chunk := range chunks(t, g.rows) {
			chunkToken := fmt.Sprintf("%s:%s:%s:%d", token, t.name, g.key, i)
			kept := chunk
			if keep != nil {
				kept = slices.DeleteFunc(slices.Clone(chunk), func(r R) bool { return !keep(&r) })
				if len(kept) == 0 {
					continue
				}
				if len(kept) < len(chunk) {
					chunkToken += ":rest:" + hashOf(kept, id)
				}
			}
			if err := insertChunk(ctx, s, t, chunkToken, kept); err != nil {
				return err
			}
		}
	}
	return nil
}

// insertChunk is one insert.
func insertChunk[R any](ctx context.Context, s *Store, t table[R], token string, rows []R) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.WriteTimeout)
	defer cancel()
	ctx = clickhouse.Context(ctx,
		clickhouse.WithSettings(s.insertSettings(token)),
		clickhouse.WithColumnNamesAndTypes(t.types()))
	batch, err := s.conn.PrepareBatch(ctx, insertSQL(t))
	if err != nil {
		return insertError(t.name, len(rows), err)
	}
	defer batch.Close()
	for i, c := range t.columns {
		if err := c.put(batch.Column(i), rows); err != nil {
			return &RefusedError{Table: t.name, Rows: len(rows), Err: fmt.Errorf("column %s: %w", c.name, err)}
		}
	}
	return insertError(t.name, len(rows), batch.Send())
}

func insertSQL[R any](t table[R]) string {
	return "INSERT INTO " + tableName(t.name) + " (" + t.names() + ")"
}

// insertSettings make an insert count once.
func (s *Store) insertSettings(token string) clickhouse.Settings {
	set := clickhouse.Settings{
		"async_insert":               0, // the token of an asynchronous insert is another one
		"insert_deduplicate":         1,
		"insert_deduplication_token": token,
		"deduplicate_blocks_in_dependent_materialized_views": 1,
	}
	if s.cfg.Cluster != "" {
		set["distributed_foreground_insert"] = 1 // answered when the shards have it
	}
	return set
}

// group is the rows of a few partitions, named by the first.
type group[R any] struct {
	key  string
	rows []R
}

// groups orders rows by partition, and starts a group when one has as many
// partitions as an insert may touch.
func groups[R any](t table[R], rows []R) []group[R] {
	key := func(r *R) string { return "" }
	if t.day != nil {
		layout := "20060102"
		if t.monthly {
			layout = "200601"
		}
		key = func(r *R) string { return t.day(r).UTC().Format(layout) }
	}
	parts := make(map[string][]R)
	for i := range rows {
		k := key(&rows[i])
		parts[k] = append(parts[k], rows[i])
	}
	var out []group[R]
	for i, k := range slices.Sorted(maps.Keys(parts)) {
		if i%maxPartitions == 0 {
			out = append(out, group[R]{key: k})
		}
		last := &out[len(out)-1]
		last.rows = append(last.rows, parts[k]...)
	}
	return out
}

// chunks cuts rows by number and size.
func chunks[R any](t table[R], rows []R) [][]R {
	var out [][]R
	start, size := 0, 0
	for i := range rows {
		n := rowBytes
		if t.size != nil {
			n += t.size(&rows[i])
		}
		if i > start && (i-start == maxChunkRows || size+n > maxChunkBytes) {
			out = append(out, rows[start:i])
			start, size = i, 0
		}
		size += n
	}
	if start < len(rows) {
		out = append(out, rows[start:])
	}
	return out
}

// hashOf is a token of rows by their ids.
func hashOf[R any](rows []R, id func(*R) string) string {
	h := sha256.New()
	for i := range rows {
		fmt.Fprintf(h, "%s\n", id(&rows[i]))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// bounds is the span of time of rows, both ends included.
func bounds[R any](rows []R, at func(*R) time.Time) (from, to time.Time) {
	for i := range rows {
		t := at(&rows[i])
		if i == 0 || t.Before(from) {
			from = t
		}
		if i == 0 || t.After(to) {
			to = t
		}
	}
	return from, to
}
