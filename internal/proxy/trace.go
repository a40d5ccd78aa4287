package proxy

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
)

const (
	flagSampled = 0x01
	flagRandom  = 0x02 // W3C trace context level 2: the trace id is random

	maxTraceState   = 4096 // bytes; W3C asks for at least 512
	maxStateMembers = 32
)

// spanContext is where a call stands in its trace.
type spanContext struct {
	traceID  string
	parentID string // the caller's span, "" in a new trace
	serverID string // our span for the call
	clientID string // our span for the call upstream
	flags    byte
	state    string
}

// newSpanContext joins the caller's trace, or starts one when the caller's
// headers are missing or not exactly as W3C trace context has them.
func newSpanContext(h http.Header) spanContext {
	var ids [32]byte
	_, _ = rand.Read(ids[:]) // never fails
	// A zero id is not allowed, and 2^-64 is not never.
	ids[15], ids[23], ids[31] = max(ids[15], 1), max(ids[23], 1), max(ids[31], 1)
	sc := spanContext{
		serverID: hex.EncodeToString(ids[16:24]),
		clientID: hex.EncodeToString(ids[24:32]),
		flags:    flagSampled | flagRandom,
	}
	parents := h["Traceparent"]
	if len(parents) == 1 {
		if traceID, parentID, flags, ok := parseTraceParent(parents[0]); ok {
			sc.traceID, sc.parentID = traceID, parentID
			sc.flags = flags & (flagSampled | flagRandom)
			sc.state = parseTraceState(h["Tracestate"])
			return sc
		}
	}
	sc.traceID = hex.EncodeToString(ids[:16])
	return sc
}

// traceParent is the header that goes upstream.
func (sc spanContext) traceParent() string {
	return "00-" + sc.traceID + "-" + sc.clientID + "-" + hex.EncodeToString([]byte{sc.flags})
}

// parseTraceParent reads version-traceid-parentid-flags (W3C trace context,
// 3.2). A later version may have more fields, version 00 may not.
func parseTraceParent(s string) (traceID, parentID string, flags byte, ok bool) {
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return "", "", 0, false
	}
	version, traceID, parentID, flagDigits := s[:2], s[3:35], s[36:52], s[53:55]
	if !isLowerHex(version) || !isLowerHex(traceID) || !isLowerHex(parentID) || !isLowerHex(flagDigits) {
		return "", "", 0, false
	}
	if version == "ff" || version == "00" && len(s) != 55 || len(s) > 55 && s[55] != '-' {
		return "", "", 0, false
	}
	if strings.Trim(traceID, "0") == "" || strings.Trim(parentID, "0") == "" {
		return "", "", 0, false
	}
	f, err := hex.DecodeString(flagDigits)
	if err != nil {
		return "", "", 0, false
	}
	return traceID, parentID, f[0], true
}

func isLowerHex(s string) bool {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return true
}

// parseTraceState joins the lines of a tracestate. It returns "" when they are
// not as W3C trace context 3.3 has them, and drops members from the end when
// they are too long together.
func parseTraceState(lines []string) string {
	var members []string
	for _, line := range lines {
		for m := range strings.SplitSeq(line, ",") {
			m = strings.Trim(m, " \t")
			if m == "" {
				continue // empty members are allowed
			}
			key, value, ok := strings.Cut(m, "=")
			if !ok || !validStateKey(key) || !validStateValue(value) {
				return ""
			}
			members = append(members, m)
		}
	}
	if len(members) > maxStateMembers {
		return ""
	}
	for {
		s := strings.Join(members, ",")
		if len(s) <= maxTraceState {
			return s
		}
		members = members[:len(members)-1]
	}
}

// validStateKey takes the keys of level 1 and 2: tenant@system, or a plain one.
func validStateKey(k string) bool {
	if k == "" || len(k) > 256 {
		return false
	}
	for i := range len(k) {
		c := k[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("_-*/@", rune(c))) {
			return false
		}
	}
	return true
}

func validStateValue(v string) bool {
	if v == "" || len(v) > 256 || v[len(v)-1] == ' ' {
		return false
	}
	for i := range len(v) {
		if v[i] < 0x20 || v[i] > 0x7e || v[i] == '=' {
			return false
		}
	}
	return true
}
