package capture

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzMetadata: whatever headers hold, what is kept of them is bounded text.
func FuzzMetadata(f *testing.F) {
	f.Add(`{"user":"a","n":1,"o":{"a":[1, 2]},"z":null}`, "v", `["a","b"]`)
	f.Add(`{"a":"\ud800","a":"b"}`, "\xff", "a,,b,a")
	f.Add(`{"a":{"b":`, "", "[")
	f.Add("", strings.Repeat("\xff0", 300), strings.Repeat("\xff0", 300)) // each byte becomes three
	m := newMetadataHeaders([]string{"X-Portkey-Metadata", "Helicone-Property-*"})
	f.Fuzz(func(t *testing.T, object, value, tags string) {
		kv := m.attributes(Begin{Header: http.Header{"X-Portkey-Metadata": {object, object}, "Helicone-Property-" + value: {value}}})
		if len(kv) > 2*maxListEntries {
			t.Errorf("%d attributes", len(kv)/2)
		}
		seen := map[string]bool{}
		for i := 0; i < len(kv); i += 2 {
			if seen[kv[i]] || len(kv[i]) > maxValueBytes+len(metadataPrefix) || len(kv[i+1]) > maxValueBytes || !utf8.ValidString(kv[i]+kv[i+1]) {
				t.Errorf("attribute %q: %q", kv[i], kv[i+1])
			}
			seen[kv[i]] = true
		}
		for _, tag := range list(nil, []string{tags, tags}) {
			if tag == "" || len(tag) > maxValueBytes || !utf8.ValidString(tag) {
				t.Errorf("tag %q", tag)
			}
		}
	})
}
