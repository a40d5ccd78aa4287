package capture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// identityHeaders are all headers that say who calls and about what.
func (c *Config) identityHeaders() []string {
	return slices.Concat(c.ConversationIDs, c.UserIDs, c.PromptNames, c.PromptVersions, c.TagHeaders, c.Environments, c.Projects, c.MetadataHeaders)
}

func (c *Config) validateHeaders() error {
	for _, name := range c.identityHeaders() {
		plain := strings.TrimSuffix(name, "*")
		if plain == "" || strings.ContainsAny(plain, " *:,\t\r\n") {
			return fmt.Errorf("conversation_headers, user_headers, ...: %q: must be a field name", name)
		}
	}
	for _, name := range slices.Concat(c.ConversationIDs, c.UserIDs, c.PromptNames, c.PromptVersions, c.TagHeaders, c.Environments, c.Projects) {
		if strings.HasSuffix(name, "*") {
			return fmt.Errorf("%q: only metadata_headers may end in *", name)
		}
	}
	return nil
}

// canonical writes the names as net/http does, so that they can be looked up.
func (c *Config) canonical() {
	for _, names := range []*[]string{&c.ConversationIDs, &c.UserIDs, &c.PromptNames, &c.PromptVersions, &c.TagHeaders, &c.Environments, &c.Projects} {
		*names = slices.Clone(*names)
		for i, name := range *names {
			(*names)[i] = http.CanonicalHeaderKey(strings.TrimSpace(name))
		}
	}
}

// metadataHeaders are headers that hold metadata.
type metadataHeaders struct {
	objects  []string // JSON objects
	prefixes []string // one header for each field; ours is the first
}

func newMetadataHeaders(names []string) metadataHeaders {
	m := metadataHeaders{prefixes: []string{HeaderMetadataPrefix}}
	for _, name := range names {
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			m.prefixes = append(m.prefixes, http.CanonicalHeaderKey(prefix))
		} else {
			m.objects = append(m.objects, http.CanonicalHeaderKey(name))
		}
	}
	return m
}

// attributes are what the client adds about the call. Of one field that is there
// twice, ours counts, then the others in the order of the settings.
func (m metadataHeaders) attributes(b Begin) []string {
	var kv []string
	add := func(name, value string, limit int) {
		for i := 0; i < len(kv); i += 2 {
			if kv[i] == name {
				return
			}
		}
		if len(kv) < 2*limit {
			kv = append(kv, name, bounded(value, maxValueBytes))
		}
	}
	for _, prefix := range m.prefixes {
		for name, values := range b.Header {
			if rest, ok := strings.CutPrefix(name, prefix); ok && len(values) > 0 && rest != "" {
				add("metadata."+bounded(strings.ToLower(rest), maxValueBytes), values[0], maxListEntries)
			}
		}
	}
	for _, name := range m.objects {
		for _, value := range b.Header[name] {
			fields := jsonFields(value)
			for _, field := range slices.Sorted(maps.Keys(fields)) {
				add("metadata."+bounded(field, maxValueBytes), fields[field], maxListEntries)
			}
		}
	}
	for name, value := range b.Baggage {
		add("baggage."+bounded(name, maxValueBytes), value, 2*maxListEntries)
	}
	if b.Key != "" {
		add("docket.key", b.Key, 2*maxListEntries+1)
	}
	sortPairs(kv)
	return kv
}

// jsonFields reads a JSON object: text as it is, other values as JSON. What is
// none has no fields.
func jsonFields(text string) map[string]string {
	var members map[string]json.RawMessage
	if len(text) > maxMetadataBytes || json.Unmarshal([]byte(text), &members) != nil {
		return nil
	}
	out := make(map[string]string, len(members))
	for name, raw := range members {
		var s string
		var compact bytes.Buffer
		switch {
		case string(raw) == "null":
		case json.Unmarshal(raw, &s) == nil:
			out[name] = s
		case json.Compact(&compact, raw) == nil:
			out[name] = compact.String()
		}
	}
	return out
}
