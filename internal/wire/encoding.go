package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// MaxDecoded bounds what a body may grow to when its content encoding is
// removed; what lies beyond is left out.
const MaxDecoded = 16 << 20

// maxEncodings bounds how many encodings may be stacked.
const maxEncodings = 3

// errEncoding says that a content encoding is not known here.
var errEncoding = errors.New("unknown content encoding")

// decodeContent removes the content encodings that a header names, last one
// first. A body that is cut or broken gives as much as can be decoded. cut says
// that the result lacks something at its end.
func decodeContent(header string, body []byte) (out []byte, cut bool, err error) {
	names := strings.FieldsFunc(strings.ToLower(header), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	if len(names) > maxEncodings {
		return nil, false, fmt.Errorf("%w: %d of them", errEncoding, len(names))
	}
	for i := len(names) - 1; i >= 0 && len(body) > 0; i-- {
		r, err := newDecoder(names[i], body)
		if err != nil {
			return nil, cut, err
		}
		if r == nil {
			continue
		}
		plain, short := readBounded(r)
		body, cut = plain, cut || short
	}
	return body, cut, nil
}

// Content removes the content encodings that a header names, as Decode does:
// from a body that is cut or broken as far as it goes, and up to MaxDecoded. cut
// says that the result lacks something at its end. An encoding that is not known
// is an error.
func Content(header string, body []byte) (plain []byte, cut bool, err error) {
	return decodeContent(header, body)
}

// Plain reads a body without the content encodings that a header names, at most
// MaxDecoded bytes of it. It is nil when the body is not encoded, or in a way
// that is not known here.
func Plain(header string, body []byte) io.Reader {
	var r io.Reader
	var err error
	if strings.ContainsRune(header, ',') {
		var plain []byte
		plain, _, err = decodeContent(header, body)
		r = bytes.NewReader(plain)
	} else {
		r, err = newDecoder(strings.ToLower(strings.TrimSpace(header)), body)
	}
	if err != nil || r == nil {
		return nil
	}
	return io.LimitReader(r, MaxDecoded)
}

// newDecoder returns a reader of the decoded bytes, or nil when the body is not
// encoded, whatever its header says.
func newDecoder(name string, body []byte) (io.Reader, error) {
	src := bytes.NewReader(body)
	switch name {
	case "identity":
		return nil, nil
	case "gzip", "x-gzip":
		if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
			return nil, nil
		}
		return gzip.NewReader(src)
	case "deflate":
		if looksPlain(body) {
			return nil, nil
		}
		if r, err := zlib.NewReader(src); err == nil {
			return r, nil
		}
		return flate.NewReader(bytes.NewReader(body)), nil
	case "br":
		if looksPlain(body) {
			return nil, nil
		}
		return brotli.NewReader(src), nil
	case "zstd":
		if !bytes.HasPrefix(body, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
			return nil, nil
		}
		r, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(MaxDecoded))
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	return nil, fmt.Errorf("%w: %q", errEncoding, name)
}

// looksPlain says whether a body is readable already: JSON, an event stream or
// HTML. Encodings without a magic number need the test.
func looksPlain(body []byte) bool {
	s := string(body[:min(len(body), 16)])
	return looksLikeSSE(s) || strings.HasPrefix(s, `{"`) || strings.HasPrefix(s, "[{") || strings.HasPrefix(s, "<")
}

// readBounded reads up to MaxDecoded bytes. short says that there was more, or
// that the rest could not be decoded.
func readBounded(r io.Reader) (out []byte, short bool) {
	var b bytes.Buffer
	_, err := b.ReadFrom(io.LimitReader(r, MaxDecoded+1))
	if b.Len() > MaxDecoded {
		b.Truncate(MaxDecoded)
		return b.Bytes(), true
	}
	return b.Bytes(), err != nil
}
