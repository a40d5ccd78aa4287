package proxy

import (
	"errors"
	"net/url"
	"slices"

	"golang.org/x/net/http/httpproxy"
)

// Values of Upstream.HTTPProxy beside a URL. Empty is fromEnv.
const (
	proxyEnv = "env"
	proxyOff = "off"
)

var errProxy = errors.New("the HTTP proxy refused the connection to the upstream")

// validateHTTPProxy does not show the value, which may hold a password.
func validateHTTPProxy(v string) error {
	if slices.Contains([]string{"", proxyEnv, proxyOff}, v) {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return errors.New("http_proxy: must be env, off or a URL such as http://host:3128, with http or https and without a path")
	}
	return nil
}

// httpProxyOf is the HTTP proxy on the way to base, nil for none. The
// environment is that of the start; it never names one for this machine.
func httpProxyOf(v string, base *url.URL) (*url.URL, error) {
	switch v {
	case proxyOff:
		return nil, nil
	case "", proxyEnv:
		return fromEnvironment(httpproxy.FromEnvironment(), base)
	}
	return url.Parse(v)
}

func fromEnvironment(c *httpproxy.Config, base *url.URL) (*url.URL, error) {
	// What cannot be read at all is passed over there, and calls would go past the
	// proxy. The error does not show it: it may hold a password.
	errNoURL := errors.New("http_proxy: HTTPS_PROXY or HTTP_PROXY is no URL")
	for _, v := range []string{c.HTTPProxy, c.HTTPSProxy} {
		if _, err := url.Parse("http://" + v); err != nil {
			return nil, errNoURL
		}
	}
	u, err := c.ProxyFunc()(base)
	if err != nil {
		return nil, errors.New("http_proxy: HTTP_PROXY is refused, since REQUEST_METHOD is set as for a CGI program")
	}
	if u != nil && (u.Hostname() == "" || u.Path != "" && u.Path != "/") {
		return nil, errNoURL
	}
	return u, nil
}
