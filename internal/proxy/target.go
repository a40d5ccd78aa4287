package proxy

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// route is an upstream, ready for use.
type route struct {
	name      string
	config    Upstream
	base      *url.URL
	basePath  string // encoded, without a slash at its end
	host      string
	port      int
	set       http.Header
	transport *http.Transport
}

// target is a request target as the client sent it, cut at the first "?".
type target struct {
	path     string
	query    string
	hasQuery bool
}

var version = regexp.MustCompile(`^v[0-9]+[a-z0-9]*$`)

// newRoutes prepares the upstreams, longest prefix first.
func newRoutes(c Config, pool *buffers) ([]*route, error) {
	var routes []*route
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u := c.Upstreams[name]
		base, err := url.Parse(u.BaseURL)
		if err != nil {
			return nil, u.validate()
		}
		rt := &route{name: name, config: u, base: base, basePath: basePath(base, u.Prefix), host: base.Hostname(), set: http.Header{}}
		rt.port, _ = strconv.Atoi(cmp.Or(base.Port(), map[string]string{"http": "80", "https": "443"}[base.Scheme]))
		for k, v := range u.SetHeaders {
			rt.set.Set(k, v.Reveal())
		}
		roots, err := trusted(u.CAFile)
		if err != nil {
			return nil, fmt.Errorf("upstreams.%s.ca_file: %w", name, err)
		}
		rt.transport = newTransport(u.Timeouts, c.MaxIdlePerHost, pool, roots)
		routes = append(routes, rt)
	}
	slices.SortStableFunc(routes, func(a, b *route) int { return cmp.Compare(len(b.config.Prefix), len(a.config.Prefix)) })
	return routes, nil
}

// basePath is what replaces the prefix. A base URL without a path keeps the
// version at the end of the prefix, since clients put it into their base URL:
// /v1 with http://host goes to http://host/v1.
func basePath(base *url.URL, prefix string) string {
	p := strings.TrimSuffix(base.EscapedPath(), "/")
	last := prefix[strings.LastIndexByte(prefix, '/')+1:]
	if p == "" && version.MatchString(last) {
		return "/" + last
	}
	return p
}

// targetOf returns the request target as it came, without the scheme and
// authority of an absolute one. There is none in OPTIONS * and CONNECT.
func targetOf(r *http.Request) (target, bool) {
	raw := r.RequestURI
	if r.Method == http.MethodConnect { // also one with a path, of which net/http would send only a part
		return target{}, false
	}
	if !strings.HasPrefix(raw, "/") {
		_, rest, ok := strings.Cut(raw, "://")
		if !ok {
			return target{}, false
		}
		raw = "/"
		if i := strings.IndexAny(rest, "/?"); i >= 0 && rest[i] == '/' {
			raw = rest[i:]
		} else if i >= 0 {
			raw = "/" + rest[i:]
		}
	}
	var t target
	t.path, t.query, t.hasQuery = strings.Cut(raw, "?")
	return t, true
}

// route finds the upstream of a target, and the rest of its path.
func (s *Server) route(t target) (*route, string) {
	for _, rt := range s.routes {
		if rest, ok := strings.CutPrefix(t.path, rt.config.Prefix); ok && (rest == "" || rest[0] == '/') {
			return rt, rest
		}
	}
	return nil, ""
}

// withSecrets is a client's header together with the values that the settings
// send upstream. Recording masks what stands in Authorization, wherever an
// answer repeats it.
func (rt *route) withSecrets(h http.Header) http.Header {
	if len(rt.set) == 0 {
		return h
	}
	out := maps.Clone(h)
	all := slices.Clip(out["Authorization"])
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

// withQuery is a client's query together with that of the base URL.
func (rt *route) withQuery(t target) string {
	if rt.base.RawQuery == "" {
		return t.query
	}
	return strings.TrimSuffix(rt.base.RawQuery+"&"+t.query, "&")
}

// upstreamURL is a URL that net/http writes as exactly path and query.
func (rt *route) upstreamURL(rest string, t target) *url.URL {
	u := &url.URL{Scheme: rt.base.Scheme, Host: rt.base.Host}
	path := rt.basePath + rest
	switch {
	case path == "":
		u.Opaque = "/"
	case strings.HasPrefix(path, "//"):
		// URL.RequestURI would take it for an authority. Either the path says
		// itself what it is, or it goes in absolute form (RFC 9112, 3.2.2).
		plain, err := url.PathUnescape(path)
		u.Path, u.RawPath = plain, path
		if err != nil || u.EscapedPath() != path {
			u.Path, u.RawPath, u.Opaque = "", "", "//"+rt.base.Host+path
		}
	default:
		u.Opaque = path
	}
	u.RawQuery = rt.withQuery(t)
	u.ForceQuery = t.hasQuery && u.RawQuery == ""
	return u
}
