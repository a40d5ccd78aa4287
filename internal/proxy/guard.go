package proxy

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// guard refuses what a browser was tricked into sending.
type guard struct {
	anyHost bool // on addresses that other machines reach the names are not known
	hosts   []string
	origins *http.CrossOriginProtection
}

func newGuard(c Config) (*guard, error) {
	g := &guard{anyHost: c.anyHostAt(c.Listen), hosts: c.AllowedHosts, origins: http.NewCrossOriginProtection()}
	for _, o := range c.AllowedOrigins {
		if err := g.origins.AddTrustedOrigin(o); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// anyHostAt says whether requests to an address may carry any host name.
func (c Config) anyHostAt(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && !isLoopback(host) && len(c.AllowedHosts) == 0
}

// refuses says what is wrong with a request, if anything.
func (g *guard) refuses(r *http.Request) (problem, bool) {
	if !g.hostAllowed(r.Host) {
		return problem{http.StatusMisdirectedRequest, "host_refused", "the Host header names neither this machine nor one of proxy.allowed_hosts"}, true
	}
	// GET, HEAD and OPTIONS pass: a page of another site cannot read the answers.
	// A WebSocket it can read, though: what opens one is checked like a write.
	if r.Header["Upgrade"] != nil {
		write := *r
		write.Method = http.MethodPost
		r = &write
	}
	if err := g.origins.Check(r); err != nil {
		return problem{http.StatusForbidden, "cross_site", "a write or an upgrade from a page of another site is refused; see proxy.allowed_origins"}, true
	}
	return problem{}, false
}

// hostAllowed stops DNS rebinding: a page of a foreign name that resolves to
// this machine.
func (g *guard) hostAllowed(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	host = strings.Trim(host, "[]")
	return g.anyHost || isLoopback(host) ||
		slices.ContainsFunc(g.hosts, func(a string) bool { return strings.EqualFold(a, host) })
}
