package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"docket/internal/record"
	"docket/internal/store/storetest"
)

// A database with rows that an earlier program made is updated, also when the
// update is stopped in between, and then used for what is new.
func TestUpdateOfADatabaseWithRows(t *testing.T) {
	cfg := DefaultConfig()
	cfg.DSN, cfg.QueryTimeout = storetest.DSN(t), 2*time.Minute // of a busy machine
	s, err := Open(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	known, err := loadMigrations(migrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	const before, between = 31, 36 // without and with a part of feedback, redaction and deletion
	if err := s.applyAll(t.Context(), known[:before]); err != nil {
		t.Fatal(err)
	}
	old := inferences()
	old.columns = slices.DeleteFunc(old.columns, func(c column[record.Inference]) bool { return c.name == "redacted" || c.name == "redactions" })
	id, at := uuid.Must(uuid.NewV7()).String(), time.Now().UTC().Truncate(time.Microsecond)
	inf := record.Inference{ID: id, Time: at, Project: "shop", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", ConversationID: "c", Operation: "chat"}
	if err := insertChunk(t.Context(), s, old, "old", []record.Inference{inf}); err != nil {
		t.Fatal(err)
	}
	if err := s.applyAll(t.Context(), known[:between]); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	d, err := s.Inference(t.Context(), id)
	if err != nil || d.Inference.ConversationID != "c" || d.Inference.Redacted != "" {
		t.Errorf("the old row: %+v, %v", d.Inference, err)
	}
	f := record.Feedback{ID: "f", Time: at, Updated: at, InferenceID: id, Label: record.FeedbackDown}
	if err := s.LinkFeedback(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	all, err := s.Candidates(t.Context(), record.CandidateQuery{})
	if err != nil || len(all) != 2 || all[0].HasFeedback() || !all[1].HasFeedback() {
		t.Errorf("candidates: %+v, %v", all, err)
	}
	gone, err := s.Delete(t.Context(), record.Subject{Conversation: "c"}, "tester")
	if err != nil || gone.Rows["inferences"] != 1 || gone.Rows["candidates"] != 2 || gone.Rows["feedback"] == 0 {
		t.Errorf("deleted %v, %v", gone.Rows, err)
	}
}
