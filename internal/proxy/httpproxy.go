package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
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
		u, err := http.ProxyFromEnvironment(&http.Request{URL: base})
		if err != nil { // its text would show a password
			return nil, errors.New("http_proxy: HTTPS_PROXY or HTTP_PROXY is no URL")
		}
		return u, nil
	}
	return url.Parse(v)
}
