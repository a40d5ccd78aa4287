package record

import (
	"fmt"
	"strconv"
	"strings"
)

// ByteSize is a number of bytes that settings write as "64KiB", "16MiB", "2GB"
// or a plain number.
type ByteSize int64

// Units of ByteSize.
const (
	KiB ByteSize = 1 << 10
	MiB ByteSize = 1 << 20
	GiB ByteSize = 1 << 30
)

var byteUnits = []struct {
	suffix string
	size   ByteSize
}{
	{"KiB", KiB},
	{"MiB", MiB},
	{"GiB", GiB},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// String prints the size in the largest unit that divides it.
func (b ByteSize) String() string {
	for _, u := range []int{3, 2, 1, 0} {
		if s := byteUnits[u].size; b != 0 && b%s == 0 {
			return strconv.FormatInt(int64(b/s), 10) + byteUnits[u].suffix
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalText prints the size as settings write it.
func (b ByteSize) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a size.
func (b *ByteSize) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	size := ByteSize(1)
	for _, u := range byteUnits {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			s, size = strings.TrimSpace(n), u.size
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > int64(1<<62)/int64(size) {
		return fmt.Errorf("%q is not a size: use a whole number of bytes, or one with KiB, MiB, GiB, kB, MB or GB", text)
	}
	*b = ByteSize(n) * size
	return nil
}
