package redact

import (
	"net/http"
	"net/url"
	"strings"
)

// secretWords are the words that make a header or a parameter secret. A name is
// taken apart at -, _, . and at capitals, so that "max_tokens" is not a token.
func secretWord(word string) bool {
	switch word {
	case "key", "apikey", "token", "secret", "password", "passwd", "pwd", "auth", "authorization",
		"credential", "credentials", "signature", "sig", "cookie", "session", "jwt", "bearer", "accesskey":
		return true
	}
	return false
}

// secretHeader says whether a request or response header carries a credential.
// In one that is listed as an id, a session is the thing that the id names.
func secretHeader(name string, ids []string) bool {
	name = strings.ToLower(name)
	switch name {
	case "idempotency-key", "sec-websocket-key":
		return false
	}
	for word := range strings.FieldsFuncSeq(name, isSeparator) {
		if secretWord(word) && (word != "session" || !listed(name, ids)) {
			return true
		}
	}
	return false
}

// secretParam says whether a query parameter carries a credential.
func secretParam(name string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(splitCapitals(name)), isSeparator) {
		if secretWord(word) {
			return true
		}
	}
	return false
}

func isSeparator(r rune) bool {
	return r == '-' || r == '_' || r == '.' || r == ' ' || r == '[' || r == ']'
}

// splitCapitals puts a hyphen before each capital that follows a small letter.
func splitCapitals(s string) string {
	var b strings.Builder
	small := false
	for _, r := range s {
		capital := r >= 'A' && r <= 'Z'
		if capital && small {
			b.WriteByte('-')
		}
		small = r >= 'a' && r <= 'z'
		b.WriteRune(r)
	}
	return b.String()
}

// CleanQuery returns a raw query with the values of secret parameters masked,
// everything else as it is written.
func CleanQuery(raw string) string {
	if raw == "" {
		return ""
	}
	pairs := strings.FieldsFunc(raw, func(r rune) bool { return r == '&' || r == ';' })
	clean := false
	for i, pair := range pairs {
		name, _, ok := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil && ok && secretParam(plain) {
			pairs[i] = name + "=" + Mask
			clean = true
		}
	}
	if !clean {
		return raw
	}
	return strings.Join(pairs, "&")
}

// AllowedHeaders returns the headers that may be recorded, with lower-case
// names and the values of one name joined: those of the built-in list and of
// extra, which holds lower-case names and prefixes that end in "*". Headers that
// carry credentials are left out whatever the list says.
func AllowedHeaders(h http.Header, extra []string) map[string]string {
	m := make(map[string]string)
	for name, values := range h {
		lower := strings.ToLower(name)
		if !secretHeader(lower, nil) && (allowedHeader(lower) || listed(lower, extra)) {
			m[lower] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
		}
	}
	return m
}

// allowedHeader is the built-in list: what explains a call and holds neither
// credentials nor addresses of people.
func allowedHeader(name string) bool {
	switch name {
	case "accept", "accept-encoding", "content-encoding", "content-length", "content-type", "date", "retry-after", "retry-after-ms",
		"server", "transfer-encoding", "user-agent", "via",
		"anthropic-beta", "anthropic-version", "anthropic-organization-id", "cf-ray", "idempotency-key", "openai-beta", "openai-model",
		"openai-organization", "openai-processing-ms", "openai-project", "openai-version", "request-id", "x-goog-api-client",
		"x-ms-region", "x-ms-client-request-id", "x-request-id", "x-client-request-id", "x-generation-id", "apim-request-id", "x-envoy-upstream-service-time", "traceparent":
		return true
	}
	for _, prefix := range []string{"x-ratelimit-", "anthropic-ratelimit-", "ratelimit", "x-stainless-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// listed says whether a name is in a list of names and prefixes.
func listed(name string, list []string) bool {
	for _, l := range list {
		if prefix, ok := strings.CutSuffix(l, "*"); ok && strings.HasPrefix(name, prefix) || l == name {
			return true
		}
	}
	return false
}
