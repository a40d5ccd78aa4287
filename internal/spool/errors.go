package spool

import (
	"errors"
	"fmt"
	"io/fs"

	"docket/internal/record"
)

// ErrClosed is returned by every call after Close.
var ErrClosed = errors.New("spool is closed")

// ErrNotFound is returned by ReadAt for a position whose segment was deleted
// or never written. It is a fs.ErrNotExist.
var ErrNotFound = fmt.Errorf("no such record in the spool: %w", fs.ErrNotExist)

// Reasons of an AppendError, and keys of Stats.Drops and Stats.Lost.
const (
	ReasonStalled  = "stalled"    // not written within max_wait; still queued
	ReasonQueue    = "queue_full" // the disk stalls and the memory queue is full
	ReasonQuota    = "quota"      // max_bytes reached
	ReasonMinFree  = "min_free"   // the disk has less than min_free left
	ReasonNoSpace  = "no_space"   // the file system refused the write: no space
	ReasonIO       = "io_error"   // the file system refused the write
	ReasonTooLarge = "too_large"  // larger than a segment
)

// AppendError says why a record is not, or not yet, in the spool. Quarantine
// returns it, too.
type AppendError struct {
	Reason string
	Err    error // the cause, may be nil
}

func (e *AppendError) Error() string {
	if e.Err == nil {
		return "spool: " + e.Reason
	}
	return fmt.Sprintf("spool: %s: %v", e.Reason, e.Err)
}

func (e *AppendError) Unwrap() error { return e.Err }

// Stalled is true when the record was not written in time but is queued: it
// will be written in its turn, unless the process dies first.
func (e *AppendError) Stalled() bool { return e.Reason == ReasonStalled }

// Full is true when there was no room for the record. It is not kept.
func (e *AppendError) Full() bool {
	switch e.Reason {
	case ReasonQueue, ReasonQuota, ReasonMinFree, ReasonNoSpace:
		return true
	}
	return false
}

// DiskFull is true when it is the disk that has no room, not the spool.
func (e *AppendError) DiskFull() bool {
	return e.Reason == ReasonMinFree || e.Reason == ReasonNoSpace
}

// CorruptError reports bytes that are no valid record. The reader has skipped
// them.
type CorruptError struct {
	Pos   record.Position
	Bytes int64
	Err   error // the read error, nil when the bytes were read but do not check
}

func (e *CorruptError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("spool: %d bytes at %v unreadable: %v", e.Bytes, e.Pos, e.Err)
	}
	return fmt.Sprintf("spool: %d bytes at %v corrupt", e.Bytes, e.Pos)
}

func (e *CorruptError) Unwrap() error { return e.Err }
