package proxy

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// credentialFields are the request fields by which clients show a key, beside
// those that only hops see. A key of the settings takes the place of all.
func credentialFields() []string {
	return []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "Cookie"}
}

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

func dropRealtimeKey(h http.Header) {
	const name = "Sec-Websocket-Protocol"
	if !slices.ContainsFunc(h[name], func(line string) bool { return strings.Contains(line, realtimeKey) }) {
		return
	}
	protocols := slices.DeleteFunc(strings.Split(strings.Join(h[name], ","), ","), func(p string) bool {
		return strings.HasPrefix(strings.TrimSpace(p), realtimeKey)
	})
	h[name] = []string{strings.TrimSpace(strings.Join(protocols, ","))}
	if len(protocols) == 0 {
		delete(h, name)
	}
}

// onward is the target without the credentials that stay here.
func (rt *route) onward(t target, c caller) target {
	if !t.hasQuery || !c.inQuery && rt.config.Key.IsZero() {
		return t
	}
	query, dropped := dropParams(t.query, func(name string) bool {
		return c.inQuery && name == keyParam || !rt.config.Key.IsZero() && isCredentialParam(name)
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

func paramName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		return plain
	}
	return name
}

// withSecrets is a client's header together with the values that the settings
// send upstream. Recording masks what stands in Authorization, wherever an
// answer repeats it.
func (rt *route) withSecrets(h http.Header) http.Header {
	if len(rt.set) == 0 && rt.config.Key.IsZero() {
		return h
	}
	out := maps.Clone(h)
	all := slices.Clip(out["Authorization"])
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
