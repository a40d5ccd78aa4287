package proxy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const maxBaggageValue = 1024

// keptBaggage returns the members of the W3C baggage header that are named in
// keep. Malformed members are passed over: the header itself goes upstream as
// it is.
func keptBaggage(h http.Header, keep []string) map[string]string {
	if len(keep) == 0 {
		return nil
	}
	var out map[string]string
	for _, line := range h["Baggage"] {
		for member := range strings.SplitSeq(line, ",") {
			pair, _, _ := strings.Cut(member, ";")
			key, value, ok := strings.Cut(pair, "=")
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
			if !ok || !slices.Contains(keep, key) || len(value) > maxBaggageValue {
				continue
			}
			text, err := url.PathUnescape(value)
			if err != nil {
				continue
			}
			if out == nil {
				out = map[string]string{}
			}
			out[key] = text
		}
	}
	return out
}
