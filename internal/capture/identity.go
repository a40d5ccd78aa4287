package capture

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"docket/internal/record"
)

const (
	maxValueBytes   = 256
	maxSourcesBytes = 8 << 10
	maxListEntries  = 32
	maxPathBytes    = 4 << 10
	maxErrorBytes   = 2 << 10
	maxStateBytes   = 1 << 10
)

// levelOf is the capture level of a call: what the route allows, lowered by the
// client's header. A header that is none of the levels changes nothing.
func levelOf(route, def, header string) string {
	level := route
	if !isLevel(level) {
		level = def
	}
	asked := strings.ToLower(strings.TrimSpace(header))
	if isLevel(asked) && rank(asked) < rank(level) {
		return asked
	}
	return level
}

func rank(level string) int {
	switch level {
	case record.CaptureOff:
		return 0
	case record.CaptureMetadata:
		return 1
	default:
		return 2
	}
}

// identify fills in what the client says about the call in its headers.
func (c *Config) identify(h *beginHead, header http.Header) {
	h.ConversationID = firstOf(header, HeaderConversationID, c.ConversationIDs)
	h.UserID = firstOf(header, HeaderUser, c.UserIDs)
	h.PromptName = bounded(header.Get(HeaderPromptName), maxValueBytes)
	h.PromptVersion = bounded(header.Get(HeaderPromptVersion), maxValueBytes)
	h.Tags = list(header[HeaderTags])
	h.Sources = bounded(header.Get(HeaderSources), maxSourcesBytes)
	h.Internal = truthy(header.Get(HeaderInternal))
	h.Project, h.Environment = c.Project, c.Environment
	if v := bounded(header.Get(HeaderProject), maxValueBytes); v != "" {
		h.Project = v
	}
	if v := bounded(header.Get(HeaderEnvironment), maxValueBytes); v != "" {
		h.Environment = v
	}
}

// firstOf returns the first value that is set: the header of ours, else one of
// the others in their order.
func firstOf(header http.Header, ours string, others []string) string {
	if v := bounded(header.Get(ours), maxValueBytes); v != "" {
		return v
	}
	for _, name := range others {
		if v := bounded(header.Get(name), maxValueBytes); v != "" {
			return v
		}
	}
	return ""
}

func truthy(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "true", "yes":
		return true
	}
	return false
}

// list splits comma-separated values, without empty ones and doubles.
func list(values []string) []string {
	var out []string
	for _, v := range values {
		for s := range strings.SplitSeq(v, ",") {
			if s = bounded(s, maxValueBytes); s != "" && len(out) < maxListEntries && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// bounded trims a value and cuts it on a rune. What it returns is valid UTF-8
// without NUL.
func bounded(s string, maxBytes int) string {
	s = strings.TrimSpace(s)
	if len(s) > maxBytes {
		s = s[:maxBytes]
		for i := 0; i < utf8.UTFMax && len(s) > 0; i++ {
			if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n > 1 {
				break
			}
			s = s[:len(s)-1]
		}
	}
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	}
	return s
}

func lowered(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ToLower(strings.TrimSpace(n))
	}
	return out
}
