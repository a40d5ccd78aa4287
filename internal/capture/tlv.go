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

// field is one field that was read.
type field struct {
	tag  byte
	num  uint64
	text string
}

// eachField calls f for every field of head. The texts share one copy of it.
func eachField(head []byte, f func(field) error) error {
	rest := string(head)
	for rest != "" {
		key, n := uvarint(rest)
		if n <= 0 || key>>1 > 255 {
			return errMalformed
		}
		rest = rest[n:]
		v, n := uvarint(rest)
		if n <= 0 {
			return errMalformed
		}
		rest = rest[n:]
		fd := field{tag: byte(key >> 1), num: v}
		if key&1 == 1 {
			if v > uint64(len(rest)) {
				return errMalformed
			}
			fd.text, rest = rest[:v], rest[v:]
		}
		if err := f(fd); err != nil {
			return err
		}
	}
	return nil
}

// uvarint is binary.Uvarint for a string.
func uvarint(s string) (v uint64, n int) {
	for i := range min(len(s), binary.MaxVarintLen64) {
		b := s[i]
		if b < 0x80 {
			return v | uint64(b)<<(7*i), i + 1
		}
		v |= uint64(b&0x7f) << (7 * i)
	}
	return 0, 0
}

func (f field) pair() (name, value string, err error) {
	size, n := uvarint(f.text)
	if n <= 0 || size > uint64(len(f.text)-n) {
		return "", "", errMalformed
	}
	rest := f.text[n:]
	return rest[:size], rest[size:], nil
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
