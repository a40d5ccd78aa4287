package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A frame is a header and its payload, little endian:
//
//	0  magic, 2 bytes
//	2  kind
//	3  flags
//	4  payload length, 4 bytes
//	8  time of the append, Unix microseconds, 8 bytes
//	16 CRC-32C of the payload
//	20 CRC-32C of the 20 bytes before, seeded by spool, segment and offset
//
// The seed comes from random bytes that are kept in the folder: neither a
// stale frame, nor a copied one, nor one that a client put into its own
// request body checks at another place, so resynchronising cannot be fooled
// into reading payload as records.
const (
	frameHeader = 24
	magic0      = 0xD0
	magic1      = 0xCE

	// flagVoid marks a frame whose record was given up while it was written.
	flagVoid = 1

	readChunk = 256 << 10 // read at once when reading on
	pageSize  = 4 << 10   // read at once when reading one record
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errBadFrame means that the bytes read are no valid frame.
var errBadFrame = errors.New("bad frame")

// frameSeed starts the header checksums of one segment.
func frameSeed(salt []byte, segment uint64) uint32 {
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], segment)
	return crc32.Update(crc32.Checksum(salt, castagnoli), castagnoli, number[:])
}

// putHeader writes all of a header but its checksum.
func putHeader(h []byte, kind, flags byte, length int, micros int64, payloadSum uint32) {
	h[0], h[1], h[2], h[3] = magic0, magic1, kind, flags
	binary.LittleEndian.PutUint32(h[4:], uint32(length))
	binary.LittleEndian.PutUint64(h[8:], uint64(micros))
	binary.LittleEndian.PutUint32(h[16:], payloadSum)
}

// sealHeader writes the checksum, once the frame's place is known.
func sealHeader(h []byte, seed uint32, offset int64) {
	binary.LittleEndian.PutUint32(h[20:], headerSum(h, seed, offset))
}

func headerSum(h []byte, seed uint32, offset int64) uint32 {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], uint64(offset))
	return crc32.Update(crc32.Update(seed, castagnoli, place[:]), castagnoli, h[:20])
}

// payloadSum is the checksum of the parts as if they were one.
func payloadSum(parts [][]byte) uint32 {
	var sum uint32
	for _, p := range parts {
		sum = crc32.Update(sum, castagnoli, p)
	}
	return sum
}

// frame is a valid frame as read.
type frame struct {
	kind   byte
	void   bool
	micros int64
	size   int64 // header and payload
	data   []byte
}

// scanner reads the frames of one segment through a buffer. It is for one
// goroutine.
type scanner struct {
	file  io.ReaderAt
	seed  uint32
	ahead int64 // how much is read at least
	buf   []byte
	base  int64 // offset of buf[0] in the file
}

func newScanner(file io.ReaderAt, seed uint32, ahead int64) *scanner {
	return &scanner{file: file, seed: seed, ahead: ahead}
}

// bytes returns the n bytes at offset, reading ahead up to end. They are valid
// until the next call.
func (s *scanner) bytes(offset int64, n int, end int64) ([]byte, error) {
	if at := offset - s.base; at >= 0 && at+int64(n) <= int64(len(s.buf)) {
		return s.buf[at : at+int64(n)], nil
	}
	want := int(min(max(int64(n), s.ahead), end-offset))
	if cap(s.buf) < want || cap(s.buf) > 4*max(want, readChunk) {
		s.buf = make([]byte, want)
	}
	s.buf, s.base = s.buf[:want], offset
	got, err := s.file.ReadAt(s.buf, offset)
	s.buf = s.buf[:got]
	if got >= n {
		return s.buf[:n], nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = errBadFrame // the file is shorter than it was
	}
	return nil, err
}

// frame reads the frame at offset of a segment that ends at end. With
// errBadFrame, size is the frame's size when at least its header checks.
func (s *scanner) frame(offset, end int64) (frame, error) {
	f, err := s.header(offset, end)
	if err != nil || f.void {
		return f, err
	}
	b, err := s.bytes(offset, int(f.size), end)
	if err != nil {
		return frame{size: f.size}, err
	}
	f.data = b[frameHeader:]
	if crc32.Checksum(f.data, castagnoli) != binary.LittleEndian.Uint32(b[16:]) {
		return frame{size: f.size}, errBadFrame
	}
	return f, nil
}

// header reads and checks a frame's header only.
func (s *scanner) header(offset, end int64) (frame, error) {
	if end-offset < frameHeader {
		return frame{}, errBadFrame
	}
	h, err := s.bytes(offset, frameHeader, end)
	if err != nil {
		return frame{}, err
	}
	size := frameHeader + int64(binary.LittleEndian.Uint32(h[4:]))
	micros := binary.LittleEndian.Uint64(h[8:])
	if h[0] != magic0 || h[1] != magic1 || size > end-offset || micros > math.MaxInt64 ||
		headerSum(h, s.seed, offset) != binary.LittleEndian.Uint32(h[20:]) {
		return frame{}, errBadFrame
	}
	return frame{kind: h[2], void: h[3]&flagVoid != 0, micros: int64(micros), size: size}, nil
}

// resync returns the offset of the next valid frame after the bad one at
// offset, or end. size is the bad frame's size if its header was sound.
func (s *scanner) resync(offset, size, end int64) (int64, error) {
	at := offset + max(size, 1)
	for end-at >= frameHeader {
		window, err := s.bytes(at, int(min(readChunk, end-at)), end)
		if err != nil {
			return end, fmt.Errorf("resynchronise at %d: %w", at, err)
		}
		i := bytes.Index(window, []byte{magic0, magic1})
		if i < 0 {
			at += int64(len(window)) - 1 // the magic may lie across the edge
			continue
		}
		at += int64(i)
		f, err := s.frame(at, end)
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, errBadFrame) {
			return end, err
		}
		at += max(f.size, 1)
	}
	return end, nil
}

// zeros says whether all bytes from offset to end are zero: room that was
// allocated ahead and not yet used.
func (s *scanner) zeros(offset, end int64) (bool, error) {
	for offset < end {
		n := min(readChunk, end-offset)
		b, err := s.bytes(offset, int(n), end)
		if err != nil {
			return false, err
		}
		for _, c := range b {
			if c != 0 {
				return false, nil
			}
		}
		offset += n
	}
	return true, nil
}
