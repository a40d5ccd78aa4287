package localclickhouse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func pack(t testing.TB, method string, pieces ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := newBlockWriter(&b, method)
	for _, p := range pieces {
		if n, err := io.WriteString(w, p); err != nil || n != len(p) {
			t.Fatal(n, err)
		}
	}
	return b.Bytes()
}

func TestBlocksComeBack(t *testing.T) {
	big := strings.Repeat("0123456789", 300_000) // more than one block
	for _, method := range []string{"lz4", "zstd"} {
		got, err := io.ReadAll(newBlockReader(bytes.NewReader(pack(t, method, "a", "", "bc", big))))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("abc"+big, string(got)); diff != "" {
			t.Errorf("%s: %.200s", method, diff)
		}
	}
}

func TestDamagedBlocksAreErrors(t *testing.T) {
	whole := pack(t, "lz4", "some text that is packed")
	for cut := 1; cut < len(whole); cut++ {
		if _, err := io.ReadAll(newBlockReader(bytes.NewReader(whole[:cut]))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	for i := range whole {
		broken := bytes.Clone(whole)
		broken[i] ^= 1
		if got, err := io.ReadAll(newBlockReader(bytes.NewReader(broken))); err == nil {
			t.Fatalf("flipped a bit of byte %d: read %q", i, got)
		}
	}
}

func FuzzBlockReader(f *testing.F) {
	f.Add(pack(f, "lz4", "abc"))
	f.Add(pack(f, "zstd", "abc", "def"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const sizes = 17 // packed and unpacked size follow the checksum and the method
		if len(data) >= sizes+8 && max(binary.LittleEndian.Uint32(data[sizes:]), binary.LittleEndian.Uint32(data[sizes+4:])) > 1<<20 {
			return // allowed up to 128 MiB, which is slow to try often
		}
		got, err := io.ReadAll(newBlockReader(bytes.NewReader(data)))
		if errors.Is(err, io.EOF) {
			t.Errorf("end of data as an error: %v", err)
		}
		if len(data) == 0 && (err != nil || len(got) != 0) {
			t.Errorf("nothing reads as %q, %v", got, err)
		}
	})
}
