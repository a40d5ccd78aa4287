package store

import (
	"time"

	"docket/internal/record"
)

// deletions is the note about each deletion.
func deletions() table[record.Deletion] {
	type R = record.Deletion
	return table[R]{
		name: "deletions",
		columns: []column[R]{
			text("deletion_id", func(r *R) *string { return &r.ID }),
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			word("kind", func(r *R) *string { return &r.Kind }),
			text("subject_hash", func(r *R) *string { return &r.SubjectHash }),
			word("project", func(r *R) *string { return &r.Project }),
			text("deleted_by", func(r *R) *string { return &r.By }),
			field("complete", "Bool", func(r *R) *bool { return &r.Complete }),
			field("rows", "Map(String, UInt64)", func(r *R) *map[string]uint64 { return &r.Rows }),
		},
	}
}

// deletedID is the trace that a deleted inference leaves: a hash of its id.
type deletedID struct {
	Hash string
	At   time.Time
}

func deletedIDs() table[deletedID] {
	type R = deletedID
	return table[R]{
		name: "deleted_ids",
		columns: []column[R]{
			text("id_hash", func(r *R) *string { return &r.Hash }),
			moment("deleted_at", func(r *R) *time.Time { return &r.At }),
		},
	}
}
