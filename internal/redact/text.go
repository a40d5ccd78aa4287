package redact

import "strings"

// Error returns the text of an error fit to be shown and stored: the addresses
// in it lose their user part and the values of secret parameters, and secrets
// of the exchange are masked. Transport errors carry the whole URL.
func (s *Secrets) Error(err error) string {
	if err == nil {
		return ""
	}
	return s.MaskString(ScrubURLs(err.Error()))
}

// ScrubURLs cleans the addresses that a text mentions: the user part and the
// values of secret query parameters become Mask. The rest stays as it is.
func ScrubURLs(text string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, "://")
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		start := at + len("://")
		end := start + strings.IndexFunc(text[start:], endsURL)
		if end < start {
			end = len(text)
		}
		b.WriteString(text[:start])
		b.WriteString(scrubURL(text[start:end]))
		text = text[end:]
	}
}

func endsURL(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'<>`", r) }

// scrubURL cleans an address from behind its scheme.
func scrubURL(rest string) string {
	authority, tail := rest, ""
	if n := strings.IndexAny(rest, "/?#"); n >= 0 {
		authority, tail = rest[:n], rest[n:]
	}
	if n := strings.LastIndexByte(authority, '@'); n >= 0 {
		authority = Mask + authority[n:]
	}
	path, query, ok := strings.Cut(tail, "?")
	if !ok {
		return authority + tail
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	tail = path + "?" + CleanQuery(query)
	if hasFragment {
		tail += "#" + fragment
	}
	return authority + tail
}
