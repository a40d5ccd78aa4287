package capture

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"docket/internal/record"
)

const (
	maxValueBytes   = 256
	maxSourcesBytes = 8 << 10
	// maxMetadataBytes bounds a header that holds JSON.
	maxMetadataBytes = 8 << 10
	maxListEntries   = 32
	maxPathBytes     = 4 << 10
	maxErrorBytes    = 2 << 10
	maxStateBytes    = 1 << 10
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
	h.PromptName = firstOf(header, HeaderPromptName, c.PromptNames)
	h.PromptVersion = firstOf(header, HeaderPromptVersion, c.PromptVersions)
	h.Tags = list(nil, header[HeaderTags])
	for _, name := range c.TagHeaders {
		h.Tags = list(h.Tags, header[name])
	}
	h.Sources = bounded(header.Get(HeaderSources), maxSourcesBytes)
	h.Internal = truthy(header.Get(HeaderInternal))
	h.Project = firstOf(header, HeaderProject, c.Projects)
	h.Environment = firstOf(header, HeaderEnvironment, c.Environments)
}

// fillDefaults sets what nobody has said, and notes that.
func (c *Config) fillDefaults(h *beginHead) {
	if h.Project == "" {
		h.Project, h.Defaults = c.Project, h.Defaults|defaultProject
	}
	if h.Environment == "" {
		h.Environment, h.Defaults = c.Environment, h.Defaults|defaultEnvironment
	}
}

// firstOf returns the first value that is set: the header of ours, else one of
// the others in their order. All names are as net/http writes them.
func firstOf(header http.Header, ours string, others []string) string {
	if v := first(header[ours]); v != "" {
		return v
	}
	for _, name := range others {
		if v := first(header[name]); v != "" {
			return v
		}
	}
	return ""
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return bounded(values[0], maxValueBytes)
}

func truthy(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "true", "yes":
		return true
	}
	return false
}

// list adds values, which have commas between them or are JSON lists, to out,
// without empty ones and doubles.
func list(out, values []string) []string {
	for _, v := range values {
		parts := strings.Split(v, ",")
		if v = strings.TrimSpace(v); strings.HasPrefix(v, "[") && len(v) <= maxMetadataBytes {
			var items []string
			if json.Unmarshal([]byte(v), &items) == nil {
				parts = items
			}
		}
		for _, s := range parts {
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
	s = cutOnRune(strings.TrimSpace(s), maxBytes)
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
		s = cutOnRune(s, maxBytes) // U+FFFD is longer than what it stands for
	}
	return s
}

func cutOnRune(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	s = s[:maxBytes]
	for i := 0; i < utf8.UTFMax && len(s) > 0; i++ {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n > 1 {
			break
		}
		s = s[:len(s)-1]
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
