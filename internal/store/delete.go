package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"docket/internal/record"
)

const (
	deletePasses  = 5         // rows that arrive meanwhile are deleted in a later pass
	deleteTimeout = time.Hour // of one statement: it rewrites the parts that hold the rows
)

// Delete removes everything that is stored of a subject and waits until it is
// gone, then notes who deleted how much, and when. Calls that arrive while it
// runs are deleted too; what is on its way to the store arrives afterwards. A
// deletion that is stopped goes on when it is called again. It returns what it
// deleted also beside an error.
func (s *Store) Delete(ctx context.Context, sub record.Subject, by string) (record.Deletion, error) {
	d := record.Deletion{
		ID: uuid.Must(uuid.NewV7()).String(), Time: time.Now().UTC().Truncate(time.Microsecond), Kind: sub.Kind(), Project: sub.Project, By: by,
		Rows: map[string]uint64{},
	}
	if (sub.User == "") == (sub.Conversation == "") {
		return d, errors.New("delete: want one of a user and a conversation")
	}
	if err := s.ready(ctx); err != nil {
		return d, err
	}
	sum := sha256.Sum256([]byte(d.ID + "/" + d.Kind + "/" + sub.User + sub.Conversation))
	d.SubjectHash = hex.EncodeToString(sum[:])
	err := s.deleteAll(ctx, sub, &d)
	d.Complete = err == nil
	if len(d.Rows) == 0 && err == nil {
		return d, nil // there was nothing
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.WriteTimeout)
	defer cancel()
	note := insertChunk(grace, s, deletions(), "deletion:"+d.ID, []record.Deletion{d})
	return d, errors.Join(err, note)
}

// deleteAll passes until nothing is found any more.
func (s *Store) deleteAll(ctx context.Context, sub record.Subject, d *record.Deletion) (err error) {
	if sub.User != "" {
		if d.Shared, err = s.sharedCalls(ctx, sub); err != nil {
			return err
		}
	}
	for range deletePasses {
		ids, err := s.subjectIDs(ctx, sub)
		if err != nil {
			return err
		}
		err = s.eachChunk(ctx, ids, func(ids []string, keys map[string][]string) error {
			return s.deleteChunk(ctx, ids, keys, d)
		})
		if err != nil {
			return err
		}
		if sub.User != "" {
			if err := s.deleteRows(ctx, ownFeedback(sub.Project), nil, sub, d); err != nil {
				return err
			}
		}
		if len(ids) == 0 {
			return nil
		}
	}
	return fmt.Errorf("delete: calls of the %s still arrive; delete again when they have stopped", sub.Kind())
}

// deleteChunk deletes some inferences and what belongs to them. Their ids are
// noted first, so that an evaluator that is at work on one of them does not
// write about it any more.
func (s *Store) deleteChunk(ctx context.Context, ids []string, keys map[string][]string, d *record.Deletion) error {
	if err := s.noteDeleted(ctx, ids); err != nil {
		return err
	}
	for range deletePasses {
		for _, h := range holders() {
			if h.table == traceIDsTable {
				if err := s.spansGone(ctx, keys); err != nil {
					return err
				}
			}
			if len(keys[h.needs]) == 0 {
				continue
			}
			if err := s.deleteRows(ctx, h, keys, record.Subject{}, d); err != nil {
				return err
			}
		}
		left, err := s.countHolders(ctx, keys)
		if err != nil || len(left) == 0 {
			return err
		}
	}
	return errors.New("delete: rows of deleted calls are still written; delete again")
}

// deleteRows deletes rows of one table and waits until they are gone.
func (s *Store) deleteRows(ctx context.Context, h holder, keys map[string][]string, sub record.Subject, d *record.Deletion) error {
	n, err := s.countRows(ctx, h, keys, sub)
	if err != nil || n == 0 {
		return err
	}
	statement, err := s.queries.render("delete_rows.sql", map[string]string{
		"Table": s.holderTable(ctx, h.table), "OnCluster": s.ddl.onCluster(), "Where": h.where,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"mutations_sync": 2, "max_execution_time": int(deleteTimeout / time.Second)}))
	conn, err := clickhouse.Open(s.patient())
	if err != nil {
		return fmt.Errorf("delete %d rows of %s: %w", n, h.table, err)
	}
	defer conn.Close()
	if err := conn.Exec(ctx, statement, holderArgs(keys, sub)...); err != nil {
		return fmt.Errorf("delete %d rows of %s: %w", n, h.table, err)
	}
	d.Rows[h.table] += n
	return nil
}

// patient are options of a connection that waits for as long as a deletion may
// take. The driver's own limit is five minutes.
func (s *Store) patient() *clickhouse.Options {
	opts := *s.opts
	opts.ReadTimeout = max(opts.ReadTimeout, deleteTimeout)
	return &opts
}

// hashID is what is kept of a deleted id.
func hashID(id string) string {
	sum := sha256.Sum256([]byte("docket.deleted/" + id))
	return hex.EncodeToString(sum[:16])
}

func (s *Store) noteDeleted(ctx context.Context, ids []string) error {
	rows := make([]deletedID, len(ids))
	now := time.Now()
	for i, id := range ids {
		rows[i] = deletedID{hashID(id), now}
	}
	hash := func(r *deletedID) string { return r.Hash }
	return insert(ctx, s, deletedIDs(), "deleted:"+hashOf(rows, hash), rows, hash, nil)
}

// deleted says which of these inferences were deleted; nil when none was.
func (s *Store) deleted(ctx context.Context, ids []string) (idSet, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	byHash := make(map[string]string, len(ids))
	for _, id := range ids {
		byHash[hashID(id)] = id
	}
	query, err := s.queries.render("deleted_ids.sql", nil)
	if err != nil {
		return nil, err
	}
	found, err := s.lookUp(ctx, query, slices.Collect(maps.Keys(byHash)), nil)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	out := make(idSet, len(found))
	for hash := range found {
		out[byHash[hash]] = true
	}
	return out, nil
}

// withoutDeleted leaves out rows about inferences that were deleted.
func withoutDeleted[R any](rows []R, gone idSet, id func(*R) string) []R {
	if gone == nil {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r R) bool { return gone[id(&r)] })
}
