package spool

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"docket/internal/record"
)

// A segment file starts with this mark and the segment's number, 8 bytes
// little endian. The digit is the version of the format.
const (
	segmentMark   = "DOCKETS1"
	segmentHeader = 16
	segmentSuffix = ".seg"
)

// segmentFile is what is needed of a segment while it is written. Calls may
// come from several goroutines at once, except that WriteAt and Truncate come
// from one.
type segmentFile interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error // forces the data to disk; the size only if it changed
}

// segment is one file of the log. The Spool's mutex guards end and the
// reading fields.
type segment struct {
	number uint64
	path   string
	seed   uint32
	end    int64 // where the last complete record ends

	reading *os.File // open while refs > 0
	refs    int
}

func segmentPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", number, segmentSuffix))
}

func (g *segment) start() record.Position {
	return record.Position{Segment: g.number, Offset: segmentHeader}
}

// acquireLocked opens the file for reading, or shares it if it is open.
func (g *segment) acquireLocked() (*os.File, error) {
	if g.refs == 0 {
		f, err := os.Open(g.path)
		if err != nil {
			return nil, err
		}
		g.reading = f
	}
	g.refs++
	return g.reading, nil
}

// releaseLocked closes the file after its last user.
func (g *segment) releaseLocked() {
	if g.refs--; g.refs == 0 {
		_ = g.reading.Close() // only read from
		g.reading = nil
	}
}

// listSegments returns the segments of the folder by number. end is the
// file's size until repair has looked at it.
func listSegments(dir string, salt []byte) ([]*segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []*segment
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), segmentSuffix)
		if !ok {
			continue
		}
		number, err := strconv.ParseUint(name, 10, 64)
		if err != nil || number == 0 {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		list = append(list, &segment{
			number: number, path: filepath.Join(dir, e.Name()),
			seed: frameSeed(salt, number), end: info.Size(),
		})
	}
	slices.SortFunc(list, func(a, b *segment) int { return cmp.Compare(a.number, b.number) })
	return list, nil
}

// repair finds where the segment's last valid record ends and cuts the file
// there: behind it lies room allocated ahead or a record torn by a crash. It
// returns how many bytes of torn record were cut. Bad bytes before the last
// valid record stay, for the reader to report.
func (g *segment) repair() (torn int64, err error) {
	f, err := os.OpenFile(g.path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := g.checkMark(f); err != nil {
		return 0, err
	}
	s, size := newScanner(f, g.seed, readChunk), g.end
	good := min(int64(segmentHeader), size)
	for at := good; at < size; {
		fr, err := s.frame(at, size)
		if err != nil {
			if at, err = s.resync(at, fr.size, size); err != nil {
				return 0, err
			}
			continue
		}
		at += fr.size
		good = at
	}
	if torn, err = s.used(good, size); err != nil {
		return 0, err
	}
	if g.end = good; good == size {
		return torn, nil
	}
	if err := f.Truncate(good); err != nil {
		return torn, err
	}
	return torn, f.Sync()
}

// used counts the bytes from offset to the last one that is not zero.
func (s *scanner) used(offset, end int64) (int64, error) {
	var n int64
	for at := offset; at < end; at += readChunk {
		b, err := s.bytes(at, int(min(readChunk, end-at)), end)
		if err != nil {
			return 0, err
		}
		for i, c := range b {
			if c != 0 {
				n = at + int64(i) + 1 - offset
			}
		}
	}
	return n, nil
}

// checkMark refuses a segment of a format this version cannot read. A mark
// that is damaged otherwise does not matter: every frame checks by itself.
func (g *segment) checkMark(f io.ReaderAt) error {
	var mark [len(segmentMark)]byte
	if _, err := f.ReadAt(mark[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	format, version := mark[:len(mark)-1], mark[len(mark)-1]
	if string(format) == segmentMark[:len(format)] && version != segmentMark[len(format)] {
		return fmt.Errorf("%s: written in format %q, this version reads %q: %w", g.path, mark[:], segmentMark, fs.ErrInvalid)
	}
	return nil
}

// tailIsZero says whether the file ends in room allocated ahead, so that only
// repair can tell where its records end.
func (g *segment) tailIsZero() (bool, error) {
	f, err := os.Open(g.path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return newScanner(f, g.seed, readChunk).zeros(max(0, g.end-frameHeader), g.end)
}

// createSegment makes the file of a new segment, filled with zeros to size
// when fill is set. When it returns, the file is in its folder for good: a
// number that was used once is never used for other records.
func createSegment(create createFunc, dir string, number uint64, fill int64) (segmentFile, error) {
	f, err := create(segmentPath(dir, number))
	if err != nil {
		return nil, err
	}
	head := binary.LittleEndian.AppendUint64([]byte(segmentMark), number)
	_, err = f.WriteAt(head, 0)
	if fill > 0 && err == nil {
		err = fillZeros(f, segmentHeader, fill)
	}
	if err == nil {
		err = errors.Join(f.Sync(), syncDir(dir))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(segmentPath(dir, number)))
	}
	return f, nil
}

func fillZeros(f io.WriterAt, from, to int64) error {
	zeros := make([]byte, 1<<20)
	for from < to {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), to-from)], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}
