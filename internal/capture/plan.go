package capture

import (
	"encoding/json"
	"fmt"
	"time"

	"docket/internal/record"
)

// plan is a stretch of the spool and the rows that end in it.
type plan struct {
	edges
	refs    []ref
	bytes   int64 // raw bodies of the rows
	records int64 // spool records of this life in the stretch
	resumed bool  // some of it may have been sent before
	sent    int   // pieces that are stored
}

// edges are what is saved before a batch is sent for the first time: with them,
// and the spool, the same rows come about again under the same tokens.
type edges struct {
	From, To  record.Position
	FirstSent time.Time
	MaxBytes  int64 // limits by which the rows are divided
	MaxRows   int

	// Rules is the version of the redaction rules of the rows.
	Rules string `json:",omitempty"`

	// Compare says that rows may be stored under other edges, which are lost:
	// the sink is asked to leave out those whose ids it has.
	Compare bool `json:",omitempty"`
}

// edgesMeta is the name of the spool's small file with the last edges.
const edgesMeta = "batch"

func (e edges) encode() ([]byte, error) { return json.Marshal(e) }

func decodeEdges(data []byte) (edges, error) {
	var e edges
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("edges of the open batch: %w", err)
	}
	return e, nil
}

func (p *plan) add(refs []ref) {
	for _, r := range refs {
		p.refs = append(p.refs, r)
		p.bytes += r.bytes()
	}
}

func (p *plan) full() bool { return len(p.refs) >= p.MaxRows || p.bytes >= p.MaxBytes }

// span is a range of a plan's refs that is sent in one piece.
type span struct{ lo, hi int }

// spans divides the rows so that no piece is above the limits, unless it is a
// single row. Only a boot record, which ends many exchanges at one position,
// needs more than one.
func (p *plan) spans() []span {
	var out []span
	lo, bytes := 0, int64(0)
	for i, r := range p.refs {
		if i > lo && (bytes+r.bytes() > p.MaxBytes+p.MaxBytes/4 || i-lo >= p.MaxRows) {
			out = append(out, span{lo, i})
			lo, bytes = i, 0
		}
		bytes += r.bytes()
	}
	if lo < len(p.refs) {
		out = append(out, span{lo, len(p.refs)})
	}
	return out
}

// token names the rows of a range.
func (p *plan) token(spoolID string, s span) string {
	if s.lo == 0 && s.hi == len(p.refs) {
		return fmt.Sprintf("%s:%v-%v", spoolID, p.From, p.To)
	}
	return fmt.Sprintf("%s:%v-%v:%d-%d", spoolID, p.From, p.To, s.lo, s.hi)
}
