package sampling

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

const (
	maxAdjusted = 1 << 56 // number of values of R, and the threshold that rejects all of them
	valueDigits = 14      // hex digits of 56 bits

	flagRandom = 0x02 // W3C trace context level 2: the trace id's low 56 bits are random
)

// Value returns the randomness R of a trace, below 2^56. traceID is 32 hex
// digits; traceState and flags are those of the caller.
func Value(traceID, traceState string, flags byte) uint64 {
	if r, ok := explicitValue(traceState); ok {
		return r
	}
	if flags&flagRandom != 0 && len(traceID) == 32 {
		if r, err := strconv.ParseUint(traceID[32-valueDigits:], 16, 64); err == nil {
			return r
		}
	}
	return hash("docket.trace", strings.ToLower(traceID))
}

// ConversationValue returns the randomness R of a conversation.
func ConversationValue(project, id string) uint64 {
	return hash("docket.conversation", project, id)
}

// hash maps strings to 56 bits. Lengths keep ("ab","c") and ("a","bc") apart.
func hash(parts ...string) uint64 {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return binary.BigEndian.Uint64(h.Sum(nil)[:8]) >> 8
}

// explicitValue finds ot=...rv:<14 hex digits> in a tracestate header.
func explicitValue(traceState string) (uint64, bool) {
	for member := range strings.SplitSeq(traceState, ",") {
		list, ok := strings.CutPrefix(strings.Trim(member, " \t"), "ot=")
		if !ok {
			continue
		}
		for item := range strings.SplitSeq(list, ";") {
			if digits, ok := strings.CutPrefix(item, "rv:"); ok && isHex(digits) {
				r, err := strconv.ParseUint(digits, 16, 64)
				return r, err == nil
			}
		}
		return 0, false
	}
	return 0, false
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return len(s) == valueDigits
}

// Threshold returns the rejection threshold T of a rate: floor((1-rate)*2^56).
// A rate of 1 or more keeps everything (T is 0), one of 0 or less, or NaN,
// nothing (T is 2^56).
func Threshold(rate float64) uint64 {
	switch {
	case rate >= 1:
		return 0
	case !(rate > 0):
		return maxAdjusted
	}
	// rate*2^56 only moves the exponent, so it is exact; 1-rate would round.
	return maxAdjusted - uint64(math.Ceil(math.Ldexp(rate, 56)))
}

// Probability returns the inclusion probability of a threshold.
func Probability(threshold uint64) float64 {
	if threshold >= maxAdjusted {
		return 0
	}
	return math.Ldexp(float64(maxAdjusted-threshold), -56)
}
