package capture

import (
	"encoding/binary"
	"errors"
)

// Heads of spool records are lists of fields: a varint of (tag<<1 | kind), then
// a varint (kind 0) or a varint length and that many bytes (kind 1). Zero
// values are left out and unknown tags are skipped, so that a spool survives an
// upgrade in both directions.

var errMalformed = errors.New("malformed head of a spool record")

// fieldWriter appends fields to a slice.
type fieldWriter struct {
	out  []byte
	mask func([]byte) []byte // nil when nothing is to be masked
}

func (w *fieldWriter) uint(tag byte, v uint64) {
	if v == 0 {
		return
	}
	w.out = binary.AppendUvarint(w.out, uint64(tag)<<1)
	w.out = binary.AppendUvarint(w.out, v)
}

func (w *fieldWriter) bool(tag byte, v bool) {
	if v {
		w.uint(tag, 1)
	}
}

func (w *fieldWriter) string(tag byte, v string) {
	if v == "" {
		return
	}
	if w.mask != nil {
		v = string(w.mask([]byte(v)))
	}
	w.out = binary.AppendUvarint(w.out, uint64(tag)<<1|1)
	w.out = binary.AppendUvarint(w.out, uint64(len(v)))
	w.out = append(w.out, v...)
}

// pair writes a name and a value as one field.
func (w *fieldWriter) pair(tag byte, name, value string) {
	if w.mask != nil {
		value = string(w.mask([]byte(value)))
	}
	var lead [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(lead[:], uint64(len(name)))
	w.out = binary.AppendUvarint(w.out, uint64(tag)<<1|1)
	w.out = binary.AppendUvarint(w.out, uint64(n+len(name)+len(value)))
	w.out = append(w.out, lead[:n]...)
	w.out = append(w.out, name...)
	w.out = append(w.out, value...)
}

func (w *fieldWriter) strings(tag byte, vs []string) {
	for _, v := range vs {
		w.string(tag, v)
	}
}

func (w *fieldWriter) pairs(tag byte, kv []string) {
	for i := 0; i+1 < len(kv); i += 2 {
		w.pair(tag, kv[i], kv[i+1])
	}
}

// field is one field that was read. Data points into what is read from.
type field struct {
	tag  byte
	num  uint64
	data []byte
}

// eachField calls f for every field of head.
func eachField(head []byte, f func(field) error) error {
	for len(head) > 0 {
		key, n := binary.Uvarint(head)
		if n <= 0 || key>>1 > 255 {
			return errMalformed
		}
		head = head[n:]
		v, n := binary.Uvarint(head)
		if n <= 0 {
			return errMalformed
		}
		head = head[n:]
		fd := field{tag: byte(key >> 1), num: v}
		if key&1 == 1 {
			if v > uint64(len(head)) {
				return errMalformed
			}
			fd.data, head = head[:v:v], head[v:]
		}
		if err := f(fd); err != nil {
			return err
		}
	}
	return nil
}

func (f field) pair() (name, value string, err error) {
	size, n := binary.Uvarint(f.data)
	if n <= 0 || size > uint64(len(f.data)-n) {
		return "", "", errMalformed
	}
	rest := f.data[n:]
	return string(rest[:size]), string(rest[size:]), nil
}

// splitRecord separates the head of a record from the bodies behind it.
func splitRecord(data []byte) (head, rest []byte, err error) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return nil, nil, errMalformed
	}
	data = data[n:]
	return data[:size:size], data[size:], nil
}
