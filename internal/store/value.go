package store

import (
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"docket/internal/record"
)

// maxText bounds every text outside the bodies.
const maxText = 64 << 10

// cleanText makes a text valid UTF-8 and cuts it on a rune.
func cleanText(s string) string {
	if len(s) > maxText {
		s = cutRune(s, maxText)
	}
	return validText(s)
}

// validText replaces what is not UTF-8 by U+FFFD.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// cutRune cuts s to at most n bytes, before a rune that would not fit.
func cutRune(s string, n int) string {
	cut := n
	for cut > 0 && cut > n-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// cleanAll cleans each text; the result is never the caller's slice.
func cleanAll(in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = cleanText(s)
	}
	return out
}

// cleanMap cleans keys and values, and copies only when it must.
func cleanMap(in map[string]string) map[string]string {
	for k, v := range in {
		if cleanText(k) != k || cleanText(v) != v {
			out := make(map[string]string, len(in))
			for k, v := range in {
				out[cleanText(k)] = cleanText(v)
			}
			return out
		}
	}
	return in
}

// Times outside of these do not fit the partition and sorting keys.
var (
	minTime = time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(2106, 1, 1, 0, 0, 0, 0, time.UTC)
)

func storable(t time.Time) bool { return !t.Before(minTime) && t.Before(maxTime) }

// storableTime returns t, or when it cannot be stored the time in a UUIDv7, or
// the given time, or the first time that can be stored. It depends on nothing
// else, so that a resend gives the same row.
func storableTime(t time.Time, id string, otherwise time.Time) time.Time {
	if storable(t) {
		return t
	}
	if u, ok := uuidTime(id); ok && storable(u) {
		return u
	}
	if storable(otherwise) {
		return otherwise
	}
	return minTime
}

// uuidTime returns the time in a UUIDv7.
func uuidTime(id string) (time.Time, bool) {
	if len(id) != 36 || id[8] != '-' || id[14] != '7' {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.UnixMilli(ms).UTC(), true
}

// withOriginalTime notes a replaced time in a copy of the attributes.
func withOriginalTime(attrs map[string]string, t time.Time) map[string]string {
	out := maps.Clone(attrs)
	if out == nil {
		out = make(map[string]string, 1)
	}
	out[record.AttrOriginalTime] = t.UTC().Format(time.RFC3339Nano)
	return out
}
