package capture

import (
	"docket/internal/record"
	"docket/internal/redact"
)

// maxLateEnds bounds the memory of lateEnds to about 4 MiB.
const maxLateEnds = 10_000

// lateEnds are ends whose record found no room in the spool. Without an end an
// exchange would hold on to its place in the spool, and a full spool would stay
// full. So the end is appended later, without bodies.
type lateEnds struct{ ends []lateEnd }

type lateEnd struct {
	head    endHead
	project string
	secrets *redact.Secrets
}

// endLater keeps an end for Flush. The caller has counted the gap.
func (r *Recorder) endLater(h endHead, project string, secrets *redact.Secrets) {
	h.Response.Cut = h.Response.Size > 0
	h.Request.Cut = h.Request.Cut || h.RequestLen > 0
	h.RequestLen, h.Headers = 0, nil
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.late.ends) >= maxLateEnds {
		r.gap(project, record.GapUnknownEnd, 0, "")
		return
	}
	r.late.ends = append(r.late.ends, lateEnd{h, project, secrets})
}

// flushLate appends ends until one finds no room again.
func (r *Recorder) flushLate() {
	r.mu.Lock()
	ends := r.late.ends
	r.late.ends = nil
	r.mu.Unlock()
	for i := range ends {
		if failure, _ := r.append(KindEnd, &ends[i].head, ends[i].secrets, ends[i].project); failure != "" {
			r.mu.Lock()
			r.late.ends = append(ends[i:], r.late.ends...)
			r.mu.Unlock()
			return
		}
		r.metrics.ended.Inc()
	}
}
