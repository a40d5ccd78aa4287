package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"syscall"

	"docket/internal/record"
	"docket/internal/redact"
)

// leadBytes is room for the length before a head.
const leadBytes = binary.MaxVarintLen32

type headWriter interface{ write(w *fieldWriter) }

// append writes one record of an exchange. Secrets are masked in head and
// bodies before that. It returns the reason and detail of the gap, "" when the
// record is in the spool or will be.
func (r *Recorder) append(kind byte, h headWriter, s *redact.Secrets, project string, bodies ...[]byte) (failure, detail string) {
	scratch := r.heads.Get().(*[]byte)
	defer r.heads.Put(scratch)
	w := fieldWriter{out: append((*scratch)[:0], make([]byte, leadBytes)...)}
	h.write(&w)
	if _, found := s.Mask(w.out[leadBytes:]); found {
		w.out = w.out[:leadBytes]
		w.mask = func(b []byte) []byte { b, _ = s.Mask(b); return b }
		h.write(&w)
	}
	*scratch = w.out
	var lead [leadBytes]byte
	n := binary.PutUvarint(lead[:], uint64(len(w.out)-leadBytes))
	start := leadBytes - n
	copy(w.out[start:], lead[:n])

	var parts [3][]byte
	parts[0] = w.out[start:]
	k := 1
	for _, b := range bodies {
		parts[k], _ = s.Mask(b)
		k++
	}
	_, err := r.opts.Spool.Append(context.Background(), kind, parts[:k]...)
	failure = classify(err)
	if failure == record.GapAtRisk {
		r.gap(project, failure, 0, "")
		failure = ""
	}
	if failure == "" {
		r.appended.Add(1)
		return "", ""
	}
	return failure, err.Error()
}

// classify turns an error of the spool into the reason of a gap.
func classify(err error) string {
	if err == nil {
		return ""
	}
	var stalled interface{ Stalled() bool }
	if errors.As(err, &stalled) && stalled.Stalled() {
		return record.GapAtRisk
	}
	var path *fs.PathError
	var errno syscall.Errno
	if errors.As(err, &path) || errors.As(err, &errno) {
		return record.GapDiskFull
	}
	var disk interface{ DiskFull() bool }
	if errors.As(err, &disk) && disk.DiskFull() {
		return record.GapDiskFull
	}
	var full interface{ Full() bool }
	if errors.As(err, &full) { // no room, or too large for any room
		return record.GapByteCap
	}
	return record.GapSpoolClosed
}
