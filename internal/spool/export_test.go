package spool

import "io"

// SegmentFile lets tests put a faulty disk under the log.
type SegmentFile = segmentFile

// CreateFile makes a real segment file.
func CreateFile(path string) (SegmentFile, error) { return createFile(path) }

// OpenOn is Open on a disk of the test's.
func OpenOn(cfg Config, opts Options, create func(string) (SegmentFile, error), free func(string) (int64, error)) (*Spool, error) {
	return open(cfg, opts, hooks{create: create, free: free, small: writeFile})
}

// OpenOnSmall is OpenOn with small files of the test's, too.
func OpenOnSmall(cfg Config, create func(string) (SegmentFile, error), free func(string) (int64, error), small func(string, []byte) error) (*Spool, error) {
	return open(cfg, Options{}, hooks{create: create, free: free, small: small})
}

// WriteFile replaces a real small file.
func WriteFile(path string, data []byte) error { return writeFile(path, data) }

// Sizes of the format.
const (
	FrameHeader   = frameHeader
	SegmentHeader = segmentHeader
	CopyLimit     = copyLimit
	Reserve       = reserve
)

// Frame makes the bytes of one frame at its place.
func Frame(salt []byte, segment uint64, offset int64, kind byte, data []byte) []byte {
	b := make([]byte, frameHeader, frameHeader+len(data))
	putHeader(b, kind, 0, len(data), 1, payloadSum([][]byte{data}))
	sealHeader(b, frameSeed(salt, segment), offset)
	return append(b, data...)
}

// Scan reads a segment's bytes: the payloads of its records and how many bytes
// were skipped.
func Scan(salt []byte, segment uint64, file io.ReaderAt, end int64) (data []string, skipped int64, err error) {
	s := newScanner(file, frameSeed(salt, segment), readChunk)
	for at := int64(segmentHeader); at < end; {
		f, err := s.frame(at, end)
		if err == nil {
			data = append(data, string(f.data))
			at += f.size
			continue
		}
		next, err := s.resync(at, f.size, end)
		if err != nil {
			return data, skipped, err
		}
		skipped += next - at
		at = next
	}
	return data, skipped, nil
}
