package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Mask stands in place of a secret.
const Mask = "***"

// Lengths from which a value is looked for in bodies. Cookies hold more
// harmless words than other credentials do.
const (
	minSecret = 6
	minCookie = 8
)

// Secrets holds the secret values of one exchange. A nil or empty Secrets masks
// nothing. It is read-only after NewSecrets and safe for concurrent use.
type Secrets struct {
	forms [][]byte // longest first, so that no shorter one leaves a rest
}

// NewSecrets collects the secrets that a request carries: credential headers
// (the scheme of Authorization left out, user and password of Basic each),
// cookies, and secret query parameters. ids are lower-case names, and prefixes
// that end in "*", of headers whose values are to be recorded: a session in such
// a name is no secret, a key or a token still is.
func NewSecrets(h http.Header, q url.Values, ids ...string) *Secrets {
	var values []string
	for name, list := range h {
		if !secretHeader(name, ids) {
			continue
		}
		for _, v := range list {
			values = append(values, headerSecrets(name, v)...)
		}
	}
	for name, list := range q {
		if secretParam(name) {
			values = append(values, list...)
		}
	}
	return NewSecretValues(values...)
}

// NewSecretValues makes Secrets of values that are known to be secret, such as
// a key that a route's settings add. Values shorter than six bytes are left out.
func NewSecretValues(values ...string) *Secrets {
	s := &Secrets{}
	for _, v := range values {
		s.add(v)
	}
	slices.SortFunc(s.forms, func(a, b []byte) int { return len(b) - len(a) })
	return s
}

func (s *Secrets) add(v string) {
	v = strings.TrimSpace(v)
	if len(v) < minSecret || isPlaceholder(v) {
		return
	}
	for _, form := range forms(v) {
		if b := []byte(form); !slices.ContainsFunc(s.forms, func(f []byte) bool { return bytes.Equal(f, b) }) {
			s.forms = append(s.forms, b)
		}
	}
}

// unescaped says that a value looks the same in JSON, in a query and in a path:
// keys nearly always do, and this is on the call's path.
func unescaped(v string) bool {
	for i := range len(v) {
		c := v[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' || c == '~') {
			return false
		}
	}
	return true
}

// forms returns the ways in which a value may be echoed. Encoders differ in
// what they escape: Go's turns < into \u003c, PHP's puts a backslash before /,
// .NET's escapes + as well.
func forms(v string) []string {
	if unescaped(v) {
		return []string{v}
	}
	var plain strings.Builder
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	quoted := v
	if err := enc.Encode(v); err == nil {
		quoted = strings.TrimSuffix(plain.String()[1:], "\"\n")
	}
	query, path := url.QueryEscape(v), url.PathEscape(v)
	return []string{
		v, quoted,
		strings.ReplaceAll(v, "/", `\/`), strings.ReplaceAll(quoted, "/", `\/`),
		strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(quoted),
		strings.NewReplacer("<", `\u003C`, ">", `\u003E`, "&", `\u0026`, "+", `\u002B`, "'", `\u0027`).Replace(quoted),
		query, path, lowerEscapes(query), lowerEscapes(path),
	}
}

// lowerEscapes writes the hex digits of URL escapes in small letters.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// isPlaceholder says whether a key is one of those that people set for servers
// that need none. They are words that stand in ordinary text.
func isPlaceholder(v string) bool {
	switch strings.ToLower(v) {
	case "ollama", "lm-studio", "lmstudio", "not-needed", "notneeded", "no-key-required", "sk-no-key-required", "no-key", "nokey",
		"placeholder", "anything", "unused", "your-api-key", "api-key", "apikey", "default":
		return true
	}
	return false
}

// Mask returns p with every secret replaced by Mask, and whether there was one.
// p itself comes back when there was none; it is never changed. JSON stays valid,
// since a secret is masked inside its string.
func (s *Secrets) Mask(p []byte) ([]byte, bool) {
	if s == nil {
		return p, false
	}
	found := false
	for _, form := range s.forms {
		if bytes.Contains(p, form) {
			p = replace(p, form)
			found = true
		}
	}
	return p, found
}

// Within says whether a secret is in what r brings. Its memory does not grow with
// that. An error of r ends the search.
func (s *Secrets) Within(r io.Reader) bool {
	if s == nil || len(s.forms) == 0 {
		return false
	}
	overlap := len(s.forms[0]) - 1 // what may be the start of the longest one
	window := make([]byte, 0, overlap+32<<10)
	for {
		n, err := io.ReadFull(r, window[len(window):cap(window)])
		window = window[:len(window)+n]
		for _, form := range s.forms {
			if bytes.Contains(window, form) {
				return true
			}
		}
		if err != nil {
			return false
		}
		window = window[:copy(window, window[len(window)-overlap:])]
	}
}

// replace returns a copy of p with Mask for every form. A match that starts
// inside an escape takes the whole escape with it, or JSON would break.
func replace(p, form []byte) []byte {
	out := make([]byte, 0, len(p))
	for {
		at := bytes.Index(p, form)
		if at < 0 {
			return append(out, p...)
		}
		out = append(append(out, p[:escapeAround(p, at)]...), Mask...)
		p = p[at+len(form):]
	}
}

// escapeAround returns where the JSON escape begins that at is inside of, or at.
func escapeAround(p []byte, at int) int {
	for back := 1; back <= 5 && back <= at; back++ {
		start := at - back
		if p[start] != '\\' || back > 1 && p[start+1] != 'u' {
			continue
		}
		before := start - len(bytes.TrimRight(p[:start], `\`))
		if before%2 == 0 { // else that backslash is escaped itself
			return start
		}
	}
	return at
}

// MaskString is Mask for text.
func (s *Secrets) MaskString(text string) string {
	masked, found := s.Mask([]byte(text))
	if !found {
		return text
	}
	return string(masked)
}

// MaskAll is Mask for the values of a map. The map itself comes back when it
// holds no secret.
func (s *Secrets) MaskAll(m map[string]string) map[string]string {
	var out map[string]string
	for k, v := range m {
		masked := s.MaskString(v)
		if masked == v {
			continue
		}
		if out == nil {
			out = make(map[string]string, len(m))
			for k, v := range m {
				out[k] = v
			}
		}
		out[k] = masked
	}
	if out == nil {
		return m
	}
	return out
}

// headerSecrets returns the secret parts of a header's value.
func headerSecrets(name, v string) []string {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization":
		scheme, rest, ok := strings.Cut(strings.TrimSpace(v), " ")
		if !ok {
			return []string{scheme}
		}
		values := []string{rest}
		if strings.EqualFold(scheme, "basic") {
			values = append(values, basicSecrets(rest)...)
		}
		return values
	case "cookie", "set-cookie":
		return cookieSecrets(v)
	}
	return []string{v}
}

// basicSecrets returns the password of Basic credentials. The user name is not
// secret by itself.
func basicSecrets(v string) []string {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(v))
	if err != nil {
		return nil
	}
	_, password, _ := strings.Cut(string(b), ":")
	return []string{string(b), password}
}

// cookieSecrets returns a cookie line and each value in it.
func cookieSecrets(v string) []string {
	values := []string{v}
	for pair := range strings.SplitSeq(v, ";") {
		_, value, ok := strings.Cut(pair, "=")
		if value = strings.Trim(strings.TrimSpace(value), `"`); ok && len(value) >= minCookie {
			values = append(values, value)
		}
	}
	return values
}
