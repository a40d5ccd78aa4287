package store_test

import (
	"maps"
	"testing"
	"time"

	"docket/internal/record"
)

func TestConversationsAreFound(t *testing.T) {
	s, _ := open(t)
	b := record.Batch{Token: "x", FirstSent: now()}
	for i := range 3 {
		r := inference(i, now())
		r.Project, r.ResponseID, r.ConversationID = "p", []string{"r0", "r1", "r2"}[i], []string{"h-a", "h-b", ""}[i]
		b.Inferences = append(b.Inferences, r)
	}
	write(t, s, b)
	known, err := s.KnownConversations(t.Context(), now().Add(-time.Hour), []string{"h-a", "h-b", "h-c"})
	if err != nil || !maps.Equal(known, map[string]bool{"h-a": true, "h-b": true}) {
		t.Errorf("known %v, %v", known, err)
	}
	keys := []record.ResponseKey{{Project: "p", ResponseID: "r1"}, {Project: "p", ResponseID: "r2"}, {Project: "other", ResponseID: "r0"}}
	found, err := s.ConversationsOfResponses(t.Context(), now().Add(-time.Hour), keys)
	if err != nil || found[keys[0]] != "h-b" || found[keys[1]] != "" || found[keys[2]] != "" {
		t.Errorf("found %v, %v", found, err)
	}
	known, err = s.KnownConversations(t.Context(), now().Add(time.Hour), []string{"h-a"})
	if err != nil || len(known) != 0 {
		t.Errorf("in the future: %v, %v", known, err)
	}
}
