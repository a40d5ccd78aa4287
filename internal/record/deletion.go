package record

import "time"

// Subject is whose data is meant: one of User and Conversation, in one project
// or in all.
type Subject struct {
	User         string
	Conversation string
	Project      string
}

// Kinds of a Subject.
const (
	SubjectUser         = "user"
	SubjectConversation = "conversation"
)

// Kind names what the subject is.
func (s Subject) Kind() string {
	if s.Conversation != "" {
		return SubjectConversation
	}
	return SubjectUser
}

// Deletion is the note about one deletion. It does not name the subject.
type Deletion struct {
	ID          string
	Time        time.Time
	Kind        string // one of Subject*
	SubjectHash string // SHA-256 of "ID/kind/value" in hex, with the ID of the deletion
	Project     string
	By          string            // who deleted
	Complete    bool              // nothing was left when it ended
	Rows        map[string]uint64 // by table

	// Shared counts calls of other users, or of none, in conversations that the
	// subject shares with others: they stay, and may repeat what the subject said.
	// Not stored.
	Shared uint64
}
