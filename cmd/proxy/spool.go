package main

import (
	"context"
	"errors"

	"docket/internal/capture"
	"docket/internal/record"
	"docket/internal/spool"
)

// spoolPort gives capture the spool in the form that it asks for.
type spoolPort struct{ *spool.Spool }

// Reader starts at from.
func (p spoolPort) Reader(from record.Position) (capture.SpoolReader, error) {
	r, err := p.Spool.Reader(from)
	if err != nil {
		return nil, err
	}
	return readerPort{r}, nil
}

// ReadAt returns the record at pos.
func (p spoolPort) ReadAt(pos record.Position) (record.SpoolRecord, error) {
	r, err := p.Spool.ReadAt(pos)
	return r, corrupt(err)
}

// BacklogBytes is what is not delivered.
func (p spoolPort) BacklogBytes() int64 { return p.Stats().Backlog }

type readerPort struct{ *spool.Reader }

// Next returns the next record.
func (p readerPort) Next(ctx context.Context) (record.SpoolRecord, error) {
	r, err := p.Reader.Next(ctx)
	return r, corrupt(err)
}

// corrupt gives the error about an unreadable stretch the method that capture
// asks for.
func corrupt(err error) error {
	var bad *spool.CorruptError
	if errors.As(err, &bad) {
		return corruptError{bad}
	}
	return err
}

type corruptError struct{ *spool.CorruptError }

// Corrupt says from where to where the spool is unreadable.
func (e corruptError) Corrupt() (pos, end record.Position) {
	return e.Pos, record.Position{Segment: e.Pos.Segment, Offset: e.Pos.Offset + e.Bytes}
}
