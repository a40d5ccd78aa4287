package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// route is an upstream, ready for use.
type route struct {
	name      string
	config    Upstream
	base      *url.URL
	basePath  string // encoded, without a slash at its end
	host      string
	port      int
	idleName  string // of the setting timeouts.idle
	plain     string // path below which nothing is added to the query
	forward   bool   // through an HTTP proxy that gets absolute targets
	set       http.Header
	transport *http.Transport
	upgrades  *http.Transport // for connections that leave HTTP, which only HTTP/1.1 has
	http2     bool            // transport may speak it
	usage     usageInjection
	resets    atomic.Int64 // streams that the upstream reset with PROTOCOL_ERROR
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
		rt, err := newRoute(name, c.Upstreams[name].resolved(), c.MaxIdlePerHost, pool)
		if err != nil {
			return nil, fmt.Errorf("upstreams.%s.%w", name, err)
		}
		routes = append(routes, rt)
	}
	slices.SortStableFunc(routes, func(a, b *route) int { return cmp.Compare(len(b.config.Prefix), len(a.config.Prefix)) })
	return routes, nil
}

func newRoute(name string, u Upstream, maxIdle int, pool *buffers) (*route, error) {
	base, err := url.Parse(u.BaseURL)
	if err != nil {
		return nil, u.validate()
	}
	preset, _ := presetNamed(u.Preset)
	rt := &route{
		name: name, config: u, base: base, basePath: basePath(base, u.Prefix), host: base.Hostname(),
		idleName: "proxy.upstreams." + name + ".timeouts.idle",
		plain:    preset.Plain, set: http.Header{},
	}
	rt.port, _ = strconv.Atoi(cmp.Or(base.Port(), map[string]string{"http": "80", "https": "443"}[base.Scheme]))
	rt.usage.on = u.InjectUsage
	for k, v := range u.SetHeaders {
		rt.set.Set(k, v.Reveal())
	}
	security, err := u.TLS.client()
	if err != nil {
		return nil, fmt.Errorf("tls.%w", err)
	}
	via, err := httpProxyOf(u.HTTPProxy.Reveal(), base)
	if err != nil {
		return nil, err
	}
	rt.forward = via != nil && base.Scheme == "http" && via.Scheme != "socks5"
	if rt.forward && u.HTTPVersion == versionTwo {
		return nil, errors.New("http_version: HTTP/2 without TLS cannot go through an HTTP proxy: set http_proxy: off, or http_version: auto")
	}
	rt.upgrades = newTransport(u.Timeouts, maxIdle, pool, security.Clone(), via)
	rt.transport = rt.upgrades
	if rt.http2 = http2Of(u.HTTPVersion, base); rt.http2 {
		rt.transport = newTransport(u.Timeouts, maxIdle, pool, security, via)
		if err := rt.offer2(rt.transport); err != nil {
			return nil, err
		}
	}
	return rt, nil
}

// basePath is what replaces the prefix. A base URL without a path keeps the
// version at the end of the prefix, since clients put it into their base URL:
// /v1 with http://host goes to http://host/v1.
func basePath(base *url.URL, prefix string) string {
	p := strings.TrimSuffix(base.EscapedPath(), "/")
	last := lastSegment(prefix)
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

// withQuery is a client's query together with that of the base URL, and with
// what the settings add to calls that lack it.
func (rt *route) withQuery(t target, path string) string {
	if rt.base.RawQuery == "" && len(rt.config.Query) == 0 {
		return t.query
	}
	parts := make([]string, 0, 2+len(rt.config.Query))
	if rt.base.RawQuery != "" {
		parts = append(parts, rt.base.RawQuery)
	}
	if t.query != "" {
		parts = append(parts, t.query)
	}
	if rt.plain == "" || !strings.HasPrefix(path, rt.plain) {
		for _, name := range slices.Sorted(maps.Keys(rt.config.Query)) {
			if !hasParam(t.query, name) {
				parts = append(parts, url.QueryEscape(name)+"="+url.QueryEscape(rt.config.Query[name]))
			}
		}
	}
	return strings.Join(parts, "&")
}

func hasParam(query, name string) bool {
	_, found := dropParams(query, func(n string) bool { return n == name })
	return found
}

// upstreamURL is a URL that net/http writes as exactly path and query.
func (rt *route) upstreamURL(rest string, t target) *url.URL {
	u := &url.URL{Scheme: rt.base.Scheme, Host: rt.base.Host}
	path := rt.basePath + rest
	switch {
	case rt.forward:
		u.Opaque = "//" + rt.base.Host + cmp.Or(path, "/") // in absolute form
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
	u.RawQuery = rt.withQuery(t, path)
	u.ForceQuery = t.hasQuery && u.RawQuery == ""
	return u
}
