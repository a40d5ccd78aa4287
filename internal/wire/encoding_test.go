package wire_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"docket/internal/wire"
)

type encoder func(io.Writer) (io.WriteCloser, error)

func encoders() map[string]encoder {
	return map[string]encoder{
		"gzip":    func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		"x-gzip":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		"deflate": func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil },
		"Deflate": func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) },
		"br":      func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriter(w), nil },
		"zstd":    func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
	}
}

func encode(t testing.TB, e encoder, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := e(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodedExchange(encoding string, request, response []byte) wire.Exchange {
	return wire.Exchange{
		Method: "POST", Path: "/v1/chat/completions", Status: 200, BodyEnded: true, Request: request, Response: response,
		RequestHeader:  map[string]string{"content-encoding": encoding},
		ResponseHeader: map[string]string{"content-encoding": encoding},
	}
}

func TestContentEncodings(t *testing.T) {
	request := []byte(`{"model":"m-small","messages":[{"role":"user","content":"hi"}]}`)
	plain := stream(50)
	for name, e := range encoders() {
		t.Run(name, func(t *testing.T) {
			request, response := encode(t, e, request), encode(t, e, plain)
			d := wire.DecodeUnfenced(encodedExchange(name, request, response))
			if !d.Complete || d.Undecodable || d.RequestModel != "m-small" || !bytes.Equal(d.Response, plain) {
				t.Errorf("complete %v, undecodable %v, model %q, %d bytes", d.Complete, d.Undecodable, d.RequestModel, len(d.Response))
			}
			for _, n := range []int{0, 1, 5, len(response) / 2, len(response) - 1} {
				d := wire.DecodeUnfenced(encodedExchange(name, request[:min(n, len(request))], response[:n]))
				checkSound(t, d)
				if !bytes.HasPrefix(plain, d.Response) && !bytes.Equal(d.Response, response[:n]) {
					t.Errorf("cut at %d: %d bytes that are no start of the answer", n, len(d.Response))
				}
			}
			if d := wire.DecodeUnfenced(encodedExchange(name, nil, plain)); !d.Complete {
				t.Error("a plain body under this encoding is not read")
			}
		})
	}
}

func TestStackedEncodings(t *testing.T) {
	all := encoders()
	plain := stream(3)
	body := encode(t, all["gzip"], encode(t, all["br"], plain))
	if d := wire.Decode(encodedExchange("br, gzip", nil, body)); !d.Complete {
		t.Errorf("two encodings: %+v", d)
	}
	d := wire.Decode(encodedExchange(strings.Repeat("gzip,", 9), nil, body))
	if !d.Undecodable || !bytes.Equal(d.Response, body) {
		t.Error("nine encodings were taken")
	}
	if d := wire.Decode(encodedExchange("aes128gcm", []byte("x"), body)); !d.Undecodable || !bytes.Equal(d.Response, body) {
		t.Error("an unknown encoding was taken")
	}
}

// TestBomb: a body that grows without measure when decoded is cut at the bound.
func TestBomb(t *testing.T) {
	bomb := bytes.Repeat([]byte(": "+strings.Repeat("-", 97)+"\n"), wire.MaxDecoded/80)
	for name, e := range encoders() {
		if name == "x-gzip" { // gzip by another name
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := wire.Decode(encodedExchange(name, nil, encode(t, e, bomb)))
			if len(d.Response) != wire.MaxDecoded || !d.ResponseCut || d.Complete {
				t.Errorf("%d bytes, cut %v, complete %v", len(d.Response), d.ResponseCut, d.Complete)
			}
		})
	}
}
