package sampling_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"docket/internal/sampling"
)

// The table "1-in-N" of OpenTelemetry's specification of probability sampling:
// thresholds with 3, 4 and 5 digits of precision, and the probability of the
// last one.
func TestThresholdMatchesSpecification(t *testing.T) {
	for _, c := range []struct {
		n      float64
		th     [3]string
		actual float64
	}{
		{1, [3]string{"0", "0", "0"}, 1},
		{2, [3]string{"8", "8", "8"}, 0.5},
		{3, [3]string{"aab", "aaab", "aaaab"}, 0.33333301544189453},
		{4, [3]string{"c", "c", "c"}, 0.25},
		{5, [3]string{"ccd", "cccd", "ccccd"}, 0.19999980926513672},
		{8, [3]string{"e", "e", "e"}, 0.125},
		{10, [3]string{"e66", "e666", "e6666"}, 0.10000038146972656},
		{16, [3]string{"f", "f", "f"}, 0.0625},
		{100, [3]string{"fd71", "fd70a", "fd70a4"}, 0.009999990463256836},
		{1000, [3]string{"ffbe7", "ffbe77", "ffbe76d"}, 0.000999998301267624},
		{10000, [3]string{"fff972", "fff9724", "fff97247"}, 0.00010000006295740604},
		{100000, [3]string{"ffff584", "ffff583a", "ffff583a5"}, 0.000010000003385357559},
		{1000000, [3]string{"ffffef4", "ffffef39", "ffffef391"}, 9.999930625781417e-07},
	} {
		full := sampling.Threshold(1 / c.n)
		for i, want := range c.th {
			if got := rounded(full, len(want)); got != want {
				t.Errorf("1 in %v: threshold %014x rounded to %d digits is %s, the specification has %s (precision %d)", c.n, full, len(want), got, want, i+3)
			}
		}
		digits := c.th[2] + strings.Repeat("0", 14-len(c.th[2]))
		var short uint64
		if _, err := fmt.Sscanf(digits, "%x", &short); err != nil {
			t.Fatal(err)
		}
		if got := sampling.Probability(short); got != c.actual {
			t.Errorf("probability of %s is %v, the specification has %v", digits, got, c.actual)
		}
		if got := sampling.Probability(full); math.Abs(got-1/c.n) > math.Ldexp(1, -53) {
			t.Errorf("probability of the threshold of %v is %v", 1/c.n, got)
		}
	}
}

// rounded prints a threshold with some digits, trailing zeros removed.
func rounded(t uint64, digits int) string {
	shift := uint(56 - 4*digits)
	if shift > 0 {
		t = (t + 1<<(shift-1)) >> shift
	}
	s := strings.TrimRight(fmt.Sprintf("%0*x", digits, t), "0")
	if s == "" {
		return "0"
	}
	return s
}

func TestThresholdBounds(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want uint64
	}{
		{1, 0},
		{2, 0},
		{0, 1 << 56},
		{-1, 1 << 56},
		{math.NaN(), 1 << 56},
		{math.Inf(1), 0},
		{math.Ldexp(1, -56), 1<<56 - 1},
		{0.25, 0xc0000000000000},
	} {
		if got := sampling.Threshold(c.rate); got != c.want {
			t.Errorf("Threshold(%v) = %x, want %x", c.rate, got, c.want)
		}
	}
	if got := sampling.Probability(1 << 56); got != 0 {
		t.Errorf("Probability(2^56) = %v, want 0", got)
	}
}

func TestValueSources(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	hashed := sampling.Value(id, "", 0)
	for name, c := range map[string]struct {
		state string
		flags byte
		want  uint64
	}{
		"random flag: low 56 bits":          {"", 0x03, 0x48eb211c80319c},
		"explicit value":                    {"ot=rv:6e6d1a75832a2f", 0, 0x6e6d1a75832a2f},
		"explicit value before random flag": {"ot=rv:6e6d1a75832a2f", 0x03, 0x6e6d1a75832a2f},
		"explicit value among others":       {"vendor=rv:ffffffffffffff, ot=th:c;rv:00000000000001 ,x=y", 1, 1},
		"value too short":                   {"ot=rv:6e6d1a75832a2", 0, hashed},
		"value too long":                    {"ot=rv:6e6d1a75832a2f0", 0, hashed},
		"value not hex":                     {"ot=rv:+e6d1a75832a2f", 0, hashed},
		"other vendor":                      {"not=rv:6e6d1a75832a2f", 0, hashed},
		"not random: hash":                  {"", 0x01, hashed},
	} {
		if got := sampling.Value(id, c.state, c.flags); got != c.want {
			t.Errorf("%s: %x, want %x", name, got, c.want)
		}
	}
	if hashed == 0x48eb211c80319c || hashed >= 1<<56 {
		t.Errorf("hash of the trace id is %x", hashed)
	}
	if got := sampling.Value(strings.ToUpper(id), "", 0); got != hashed {
		t.Errorf("letter case of the id changes the value: %x and %x", got, hashed)
	}
	if sampling.ConversationValue("a", "bc") == sampling.ConversationValue("ab", "c") {
		t.Error("project and conversation run into each other")
	}
}

// Trace ids of some makes begin with the time and count on: the share that is
// sampled must still be the rate.
func TestValueOfCountingIDs(t *testing.T) {
	const n = 20000
	threshold, kept := sampling.Threshold(0.1), 0
	for i := range n {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], 0x692c8c0000000000)
		binary.BigEndian.PutUint64(b[8:], uint64(i))
		if sampling.Value(fmt.Sprintf("%x", b), "", 1) >= threshold {
			kept++
		}
	}
	if share := float64(kept) / n; math.Abs(share-0.1) > 0.01 {
		t.Errorf("share %v, want about 0.1", share)
	}
}

func FuzzValue(f *testing.F) {
	f.Add("0af7651916cd43dd8448eb211c80319c", "ot=rv:6e6d1a75832a2f", byte(3))
	f.Add("", ",;:ot=;rv:", byte(2))
	f.Fuzz(func(t *testing.T, id, state string, flags byte) {
		if v := sampling.Value(id, state, flags); v >= 1<<56 {
			t.Errorf("%x does not fit 56 bits", v)
		}
	})
}
