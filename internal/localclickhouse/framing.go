package localclickhouse

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/andybalholm/brotli"
)

// maxFrame is how many bytes go into one compressed block.
const maxFrame = 1 << 20

// blockWriter packs what is written into the driver's compressed blocks.
type blockWriter struct {
	w    io.Writer
	pack *compress.Writer
}

func newBlockWriter(w io.Writer, method string) *blockWriter {
	m := compress.LZ4
	if method == "zstd" {
		m = compress.ZSTD
	}
	return &blockWriter{w: w, pack: compress.NewWriter(compress.LevelZero, m)}
}

func (b *blockWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		part := p[:min(len(p), maxFrame)]
		if err := b.pack.Compress(part); err != nil {
			return 0, fmt.Errorf("compress a block: %w", err)
		}
		if _, err := b.w.Write(b.pack.Data); err != nil {
			return 0, err
		}
		p = p[len(part):]
	}
	return n, nil
}

// blockReader unpacks such blocks. Unlike the reader it wraps, it ends with a
// plain io.EOF between two blocks, and with io.ErrUnexpectedEOF inside one.
type blockReader struct {
	src    *countingReader
	unpack *compress.Reader
}

func newBlockReader(r io.Reader) *blockReader {
	src := &countingReader{r: r}
	return &blockReader{src: src, unpack: compress.NewReader(src)}
}

func (b *blockReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b.src.n = 0
	n, err := b.unpack.Read(p)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF) && b.src.n == 0:
		return n, io.EOF
	case errors.Is(err, io.EOF):
		return n, io.ErrUnexpectedEOF
	default:
		return n, err
	}
}

// countingReader counts the bytes that were read.
type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// decode undoes the encodings of a request body.
func decode(body io.Reader, contentCode string, blocks bool) (io.Reader, error) {
	var err error
	switch contentCode {
	case "", "identity":
	case "gzip":
		body, err = gzip.NewReader(body)
	case "deflate":
		body, err = zlib.NewReader(body)
	case "br":
		body = brotli.NewReader(body)
	default:
		return nil, badRequest("the body is in " + contentCode + "; gzip, deflate and br are understood")
	}
	if err != nil {
		return nil, &Exception{Code: codeCannotDecode, Name: "CANNOT_DECOMPRESS", Message: "cannot read the body as " + contentCode + ": " + err.Error()}
	}
	if blocks {
		return newBlockReader(body), nil
	}
	return body, nil
}
