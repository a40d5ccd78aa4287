package proxy_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"strings"
	"testing"

	"docket/internal/proxy"
)

func privateKey(t *testing.T, s *httptest.Server) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// TestUpstreamTLS: each setting against a real TLS server.
func TestUpstreamTLS(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	cert, key := certificate(t, relay.tls)
	for name, c := range map[string]struct {
		tls    proxy.UpstreamTLS
		status int
		peers  int
	}{
		"unknown authority":     {proxy.UpstreamTLS{}, 502, 0},
		"ca_file":               {proxy.UpstreamTLS{CAFile: cert}, 200, 0},
		"wrong name":            {proxy.UpstreamTLS{CAFile: cert, ServerName: "other.test"}, 502, 0},
		"server_name":           {proxy.UpstreamTLS{CAFile: cert, ServerName: "example.com"}, 200, 0}, // in httptest's certificate
		"client certificate":    {proxy.UpstreamTLS{CAFile: cert, CertFile: cert, KeyFile: key}, 200, 1},
		"min_version":           {proxy.UpstreamTLS{CAFile: cert, MinVersion: "1.3"}, 200, 0},
		"insecure_skip_verify":  {proxy.UpstreamTLS{InsecureSkipVerify: true}, 200, 0},
		"skip_verify with name": {proxy.UpstreamTLS{InsecureSkipVerify: true, ServerName: "other.test"}, 200, 0},
	} {
		p := start(t, relay.tls.URL, func(_ *proxy.Config, u *proxy.Upstream) { u.TLS = c.tls })
		relay.take()
		res := call(t, p.addr, post("{}"))
		calls, _ := relay.take()
		if res.Status() != c.status || len(calls) != c.status/200%2 || len(calls) > 0 && calls[0].peers != c.peers {
			t.Errorf("%s: got %d %s, %+v", name, res.Status(), res.Body, calls)
		}
		if c.status == 502 && !strings.Contains(string(res.Body), "certificate") {
			t.Errorf("%s: got %s", name, res.Body)
		}
		if warned := strings.Contains(p.logs.String(), "upstreams.test.tls.insecure_skip_verify"); warned != c.tls.InsecureSkipVerify {
			t.Errorf("%s: warned: %v\n%s", name, warned, p.logs)
		}
	}
}

// TestMinVersion: a server that speaks less is not spoken to.
func TestMinVersion(t *testing.T) {
	t.Parallel()
	old := httptest.NewUnstartedServer(nil)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS12, MinVersion: tls.VersionTLS12}
	old.Config.ErrorLog = quietLog()
	old.StartTLS()
	defer old.Close()
	for version, want := range map[string]int{"": 404, "1.2": 404, "1.3": 502} {
		p := start(t, old.URL, func(_ *proxy.Config, u *proxy.Upstream) {
			u.TLS = proxy.UpstreamTLS{InsecureSkipVerify: true, MinVersion: version}
		})
		if res := call(t, p.addr, post("{}")); res.Status() != want {
			t.Errorf("min_version %q: got %d %s", version, res.Status(), res.Body)
		}
	}
}

func TestUpstreamTLSErrors(t *testing.T) {
	t.Parallel()
	relay := startRelay(t)
	cert, key := certificate(t, relay.tls)
	for want, u := range map[string]proxy.UpstreamTLS{
		"tls.min_version":              {MinVersion: "1.1"},
		"tls.cert_file, key_file: mus": {CertFile: cert},
		"tls.cert_file, key_file: ope": {CertFile: cert + "x", KeyFile: key},
		"tls.cert_file, key_file: tls": {CertFile: key, KeyFile: cert},
	} {
		_, err := proxy.New(config(relay.tls.URL, func(_ *proxy.Config, up *proxy.Upstream) { up.TLS = u }), proxy.Options{})
		if err == nil || !strings.Contains(err.Error(), "upstreams.test."+want) {
			t.Errorf("%+v: got %v, want %q", u, err, want)
		}
	}
}
