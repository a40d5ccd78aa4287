package spool_test

import (
	"testing"

	"docket/internal/spool"
)

// TestWhoHasNoRoom: the disk, the spool, or neither.
func TestWhoHasNoRoom(t *testing.T) {
	for reason, want := range map[string][2]bool{
		spool.ReasonMinFree: {true, true}, spool.ReasonNoSpace: {true, true}, spool.ReasonQuota: {true, false},
		spool.ReasonQueue: {true, false}, spool.ReasonIO: {}, spool.ReasonStalled: {}, spool.ReasonTooLarge: {},
	} {
		e := &spool.AppendError{Reason: reason}
		if got := [2]bool{e.Full(), e.DiskFull()}; got != want {
			t.Errorf("%s: full, disk full %v, want %v", reason, got, want)
		}
	}
}
