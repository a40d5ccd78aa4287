package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"docket/internal/record"
)

// KnownConversations says which of these conversation ids have an inference
// since a time.
func (s *Store) KnownConversations(ctx context.Context, since time.Time, ids []string) (map[string]bool, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	query, err := s.queries.render("conversations_known.sql", nil)
	if err != nil {
		return nil, err
	}
	return s.lookUp(ctx, query, ids, moments{"since": since})
}

// ConversationsOfResponses returns the conversations of those answers that are
// stored since a time and belong to one.
func (s *Store) ConversationsOfResponses(ctx context.Context, since time.Time, answers []record.ResponseKey) (map[record.ResponseKey]string, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	query, err := s.queries.render("conversations_of_responses.sql", nil)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(answers))
	for i, a := range answers {
		ids[i] = a.ResponseID
	}
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	found := map[record.ResponseKey]string{}
	for chunk := range slices.Chunk(ids, idChunk) {
		if err := s.scanConversations(ctx, found, query, chunk, since); err != nil {
			return nil, fmt.Errorf("look up the conversations of %d answers: %w", len(chunk), err)
		}
	}
	return found, nil
}

func (s *Store) scanConversations(ctx context.Context, into map[record.ResponseKey]string, query string, ids []string, since time.Time) error {
	rows, err := s.conn.Query(ctx, query, named("ids", ids), named("since", timeParam(since)))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key record.ResponseKey
		var conversation string
		if err := rows.Scan(&key.Project, &key.ResponseID, &conversation); err != nil {
			return err
		}
		into[key] = conversation
	}
	return rows.Err()
}
