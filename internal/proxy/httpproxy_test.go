package proxy_test

import (
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"

	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// TestHTTPProxy: calls to https upstreams are tunnelled, calls to http ones are
// forwarded, both with the password of the setting, which nobody else sees.
func TestHTTPProxy(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	withPassword := strings.Replace(relay.proxy.URL, "://", "://user:fake-password@", 1)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:fake-password"))
	for base, want := range map[string]string{
		"https://api.test":          "https://api.test/v1/chat/completions",
		"https://api.test:8443/a/b": "https://api.test:8443/a/b/chat/completions",
		"http://api.test":           "http://api.test/v1/chat/completions",
		"http://api.test:81/a%2Fb":  "http://api.test:81/a%2Fb/chat/completions",
	} {
		r := startRecorded(t, config(base, func(_ *proxy.Config, u *proxy.Upstream) {
			u.HTTPProxy, u.TLS.InsecureSkipVerify = record.NewSecret(withPassword), true
		}))
		relay.take()
		for range 2 { // the second over the same connection
			if res := call(t, r.addr, post("{}", "Proxy-Authorization: Basic ZmFrZTpmYWtl")); res.Status() != 200 {
				t.Fatalf("%s: got %d %s", base, res.Status(), res.Body)
			}
		}
		calls, connects := relay.take()
		if len(calls) != 2 || calls[0].url != want || calls[1].url != want || len(calls[0].fields["Proxy-Authorization"]) > 0 {
			t.Errorf("%s: the upstream saw %+v", base, calls)
		}
		if tunnelled := strings.HasPrefix(base, "https"); tunnelled && (len(connects) != 1 || connects[0].proxyAuth != basic) {
			t.Errorf("%s: the HTTP proxy saw %+v", base, connects)
		} else if !tunnelled && (len(connects) != 0 || calls[0].proxyAuth != basic) {
			t.Errorf("%s: the HTTP proxy saw %+v, then %+v", base, connects, calls)
		}
		if server := r.rows(t, 2).Spans[1].Attributes["server.address"]; server != "api.test" || strings.Contains(r.logs.String(), "fake-password") {
			t.Errorf("%s: server %q, log:\n%s", base, server, r.logs)
		}
	}
}

// TestHTTPProxyRefuses: what goes wrong on the way is said as such.
func TestHTTPProxyRefuses(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	relay.refuse = http.StatusProxyAuthRequired
	for proxyURL, want := range map[string]string{
		relay.proxy.URL:              "the HTTP proxy refused the connection to the upstream",
		"http://" + refusedAddress(): "the HTTP proxy on the way to the upstream could not be reached",
	} {
		p := start(t, "https://api.test", func(_ *proxy.Config, u *proxy.Upstream) { u.HTTPProxy = record.NewSecret(proxyURL) })
		if res := call(t, p.addr, post("{}")); res.Status() != 502 || !strings.Contains(string(res.Body), want) {
			t.Errorf("%s: got %d %s", proxyURL, res.Status(), res.Body)
		}
	}
}

func TestHTTPProxyOff(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
	for _, v := range []string{"", "env", "off"} { // this machine is never behind the environment's
		p := start(t, up.URL(), func(_ *proxy.Config, u *proxy.Upstream) { u.HTTPProxy = record.NewSecret(v) })
		if res := call(t, p.addr, post("{}")); res.Status() != 200 {
			t.Errorf("%q: got %d", v, res.Status())
		}
	}
	for _, v := range []string{"on", "host:3128", "ftp://host", "http://", "http://user:fake-password@host/path", "http://h\x7f"} {
		err := config(up.URL(), func(_ *proxy.Config, u *proxy.Upstream) { u.HTTPProxy = record.NewSecret(v) }).Validate()
		if err == nil || !strings.Contains(err.Error(), "upstreams.test.http_proxy") || strings.Contains(err.Error(), "fake-password") {
			t.Errorf("%q: got %v", v, err)
		}
	}
}

// TestHTTPProxyOfTheEnvironment: it is the default, except for what NO_PROXY
// names and for this machine.
func TestHTTPProxyOfTheEnvironment(t *testing.T) {
	relay := startRelay(t)
	t.Setenv("HTTPS_PROXY", relay.proxy.URL)
	t.Setenv("HTTP_PROXY", relay.proxy.URL)
	t.Setenv("NO_PROXY", "near.invalid")
	t.Setenv("REQUEST_METHOD", "") // set, it would mean CGI, where HTTP_PROXY is a client's header
	up := upstreamtest.Start(t, upstreamtest.Answer(plainAnswer))
	for base, want := range map[string]struct {
		ok      bool
		relayed int
	}{
		"https://far.invalid": {true, 1}, "http://far.invalid": {true, 1}, "https://near.invalid": {false, 0}, up.URL(): {true, 0},
	} {
		for _, v := range []string{"", "env", "off"} {
			p := start(t, base, func(_ *proxy.Config, u *proxy.Upstream) {
				u.TLS.InsecureSkipVerify, u.HTTPProxy = true, record.NewSecret(v)
				u.Timeouts.Connect = patience / 6 // looking for a host that is not there may take its time
			})
			relay.take()
			res := call(t, p.addr, post("{}"))
			calls, _ := relay.take()
			if v == "off" && want.relayed > 0 {
				want.ok, want.relayed = false, 0 // there is no such host
			}
			if (res.Status() == 200) != want.ok || len(calls) != want.relayed {
				t.Errorf("%s, http_proxy %q: got %d, through the HTTP proxy %+v", base, v, res.Status(), calls)
			}
		}
	}
	for _, bad := range []string{"http://user:fake-password@h:bad", "http://user:fake-password@h/path", "user:fake-password@h\x7f", "http://"} {
		t.Setenv("HTTPS_PROXY", bad)
		_, err := proxy.New(config("https://far.invalid", nil), proxy.Options{})
		if err == nil || !strings.Contains(err.Error(), "upstreams.test.http_proxy") || strings.Contains(err.Error(), "fake-password") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}
