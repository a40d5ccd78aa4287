package record

import (
	"cmp"
	"fmt"
)

// Position is a place in the spool: the start of a record.
type Position struct {
	Segment uint64
	Offset  int64
}

// String prints the position so that ParsePosition reads it back.
func (p Position) String() string { return fmt.Sprintf("%d.%d", p.Segment, p.Offset) }

// Compare is negative when p is before q, positive when it is after it.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Segment, q.Segment), cmp.Compare(p.Offset, q.Offset))
}

// ParsePosition reads what String printed.
func ParsePosition(s string) (Position, error) {
	var p Position
	if _, err := fmt.Sscanf(s, "%d.%d", &p.Segment, &p.Offset); err != nil {
		return Position{}, fmt.Errorf("spool position %q: want SEGMENT.OFFSET", s)
	}
	return p, nil
}

// SpoolRecord is one record of the spool. Pos is where it starts, End where the
// next one starts. Data is valid until the next read.
type SpoolRecord struct {
	Pos, End Position
	Kind     byte
	Data     []byte
}
