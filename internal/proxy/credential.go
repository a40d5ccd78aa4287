package proxy

import (
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// keyFields are the request fields in which clients send a key.
func keyFields() []string {
	return []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key"}
}

// credentialFields are the request fields by which clients show who they are,
// beside those that only hops see. A key of the settings takes the place of all.
func credentialFields() []string { return append(keyFields(), "Cookie") }

// isCredentialParam says the same of a query parameter.
func isCredentialParam(name string) bool {
	switch strings.ToLower(name) {
	case "key", "api_key", "api-key", "apikey", "access_token", "subscription-key":
		return true
	}
	return false
}

// realtimeKey begins the WebSocket subprotocol in which browsers send their key.
const realtimeKey = "openai-insecure-api-key."

// keyField is the field in which an upstream takes its key, by the path of the
// call: those APIs that also speak OpenAI's take it as OpenAI does there.
func (rt *route) keyField(path string) string {
	switch api := rt.config.API; {
	case rt.config.KeyHeader != "":
		return http.CanonicalHeaderKey(rt.config.KeyHeader)
	case api == apiAzure:
		return "Api-Key"
	case api == apiAnthropic && !strings.HasSuffix(path, "/chat/completions"):
		return "X-Api-Key"
	case api == apiGemini && !strings.Contains(path, "/openai/"):
		return "X-Goog-Api-Key"
	}
	return "Authorization"
}

// authorize leaves in h the credentials that may go upstream: the route's key
// instead of the client's, if it has one, and never a key of this proxy's own.
func (rt *route) authorize(h http.Header, path string, c caller) {
	for _, name := range c.fields {
		delete(h, name)
	}
	if c.inOffer {
		dropRealtimeKey(h)
	}
	if rt.config.Key.IsZero() {
		return
	}
	for _, name := range credentialFields() {
		delete(h, name)
	}
	dropRealtimeKey(h)
	name, value := rt.keyField(path), rt.config.Key.Reveal()
	if name == "Authorization" {
		value = "Bearer " + value
	}
	h[name] = []string{value}
}

const protocolField = "Sec-Websocket-Protocol"

// realtimeKeys are the keys among the subprotocols that a client offers.
func realtimeKeys(h http.Header) []string {
	var keys []string
	for _, line := range h[protocolField] {
		for p := range strings.SplitSeq(line, ",") {
			if key, ok := strings.CutPrefix(strings.TrimSpace(p), realtimeKey); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func dropRealtimeKey(h http.Header) {
	if len(realtimeKeys(h)) == 0 {
		return
	}
	protocols := slices.DeleteFunc(strings.Split(strings.Join(h[protocolField], ","), ","), func(p string) bool {
		return strings.HasPrefix(strings.TrimSpace(p), realtimeKey)
	})
	h[protocolField] = []string{strings.TrimSpace(strings.Join(protocols, ","))}
	if len(protocols) == 0 {
		delete(h, protocolField)
	}
}

// onward is the target without the credentials that stay here.
func (rt *route) onward(t target, c caller) target {
	if !t.hasQuery || len(c.params) == 0 && rt.config.Key.IsZero() {
		return t
	}
	query, dropped := dropParams(t.query, func(name string) bool {
		return slices.Contains(c.params, name) || !rt.config.Key.IsZero() && isCredentialParam(name)
	})
	if dropped {
		t.query, t.hasQuery = query, query != ""
	}
	return t
}

// dropParams takes parameters out of a raw query. The others stay as they are
// written. Some servers take ; for &.
func dropParams(query string, drop func(name string) bool) (string, bool) {
	var kept strings.Builder
	dropped := false
	for rest := query; rest != ""; {
		pair, sep := rest, ""
		if i := strings.IndexAny(rest, "&;"); i >= 0 {
			pair, sep = rest[:i], rest[i:i+1]
		}
		rest = rest[len(pair)+len(sep):]
		if drop(paramName(pair)) {
			dropped = true
			continue
		}
		kept.WriteString(pair + sep)
	}
	if !dropped {
		return query, false
	}
	return strings.TrimRight(kept.String(), "&;"), true
}

// credentialParams yields the parameters of a query that show a key, as they are
// meant.
func credentialParams(query string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
			name := paramName(pair)
			if !isCredentialParam(name) {
				continue
			}
			_, value, _ := strings.Cut(pair, "=")
			if plain, err := url.QueryUnescape(value); err == nil {
				value = plain
			}
			if !yield(name, value) {
				return
			}
		}
	}
}

func paramName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		return plain
	}
	return name
}

// withSecrets is a client's header together with the values that the settings
// send upstream, and keys that stand in no field of their own. Recording masks what stands in Authorization, wherever an
// answer repeats it.
func (rt *route) withSecrets(h http.Header) http.Header {
	offered := realtimeKeys(h)
	if len(rt.set) == 0 && rt.config.Key.IsZero() && len(offered) == 0 {
		return h
	}
	out := maps.Clone(h)
	all := append(slices.Clip(out["Authorization"]), offered...)
	if key := rt.config.Key.Reveal(); key != "" {
		all = append(all, key)
	}
	for name, v := range rt.set {
		if !isPlain(name) {
			all = append(all, v...)
		}
	}
	out["Authorization"] = all
	return out
}

// isPlain lists fields that are often set and never hold a credential. Their
// values are words that stand in conversations, too.
func isPlain(name string) bool {
	switch name {
	case "Accept", "Anthropic-Beta", "Anthropic-Version", "Content-Type", "Http-Referer", "Openai-Beta", "Openai-Organization",
		"Openai-Project", "Referer", "User-Agent", "X-Title":
		return true
	}
	return false
}
