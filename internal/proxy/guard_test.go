package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"docket/internal/capture"
	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

func TestHostsAndOrigins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, host string
		fields             []string
		status             int
		code               string
	}{
		{"localhost", "POST", "localhost:8080", nil, 200, ""},
		{"loopback", "POST", "127.0.0.1:8080", nil, 200, ""},
		{"other loopback", "POST", "127.9.9.9", nil, 200, ""},
		{"IPv6", "POST", "[::1]:8080", nil, 200, ""},
		{"name under localhost", "POST", "docket.localhost", nil, 200, ""},
		{"allowed", "POST", "PROXY.test:1", nil, 200, ""},
		{"rebound name", "POST", "evil.test", nil, 421, "host_refused"},
		{"rebound name with port", "GET", "evil.test:8080", nil, 421, "host_refused"},
		{"looks like localhost", "POST", "localhost.evil.test", nil, 421, "host_refused"},
		{"private address", "POST", "192.168.0.1", nil, 421, "host_refused"},
		{"cross-site", "POST", "localhost:8080", []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.test"}, 403, "cross_site"},
		{"same site, other port", "POST", "localhost:8080", []string{"Sec-Fetch-Site: same-site", "Origin: http://localhost:9999"}, 403, "cross_site"},
		{"old browser", "POST", "localhost:8080", []string{"Origin: https://evil.test"}, 403, "cross_site"},
		{"sandboxed page", "POST", "localhost:8080", []string{"Origin: null"}, 403, "cross_site"},
		{"odd method", "QUERY", "localhost:8080", []string{"Sec-Fetch-Site: cross-site"}, 403, "cross_site"},
		{"own page", "POST", "localhost:8080", []string{"Sec-Fetch-Site: same-origin", "Origin: http://localhost:8080"}, 200, ""},
		{"allowed page", "POST", "localhost:8080", []string{"Sec-Fetch-Site: same-site", "Origin: http://localhost:3000"}, 200, ""},
		{"cross-site read", "GET", "localhost:8080", []string{"Sec-Fetch-Site: cross-site"}, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
			p := start(t, up.URL(), func(pc *proxy.Config, _ *proxy.Upstream) { pc.AllowedOrigins = []string{"http://localhost:3000"} })
			raw := c.method + " /v1/x HTTP/1.1\r\nHost: " + c.host + "\r\n" + strings.Join(append(c.fields, ""), "\r\n") + "Content-Length: 0\r\n\r\n"
			res := call(t, p.addr, raw)
			if res.Status() != c.status {
				t.Errorf("got %d, want %d", res.Status(), c.status)
			}
			if c.code != "" {
				wantProblem(t, res, c.code)
			}
			if got := len(up.Requests()); (got == 1) != (c.status == 200) {
				t.Errorf("the upstream got %d requests", got)
			}
		})
	}
}

func TestHostIsFreeOnOtherAddresses(t *testing.T) {
	t.Parallel()
	c := config("http://127.0.0.1:1", func(c *proxy.Config, _ *proxy.Upstream) {
		c.Listen, c.AllowRemote, c.AllowedHosts = "0.0.0.0:8080", true, nil
	})
	for hosts, want := range map[string]int{"": http.StatusOK, "docket.test": http.StatusMisdirectedRequest} {
		c.AllowedHosts = nil
		if hosts != "" {
			c.AllowedHosts = []string{hosts}
		}
		s := newServer(t, c, proxy.Options{})
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://docket.internal/livez", nil)
		s.Handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("allowed_hosts %q: got %d, want %d", hosts, w.Code, want)
		}
	}
}

func newServer(t *testing.T, c proxy.Config, o proxy.Options) *proxy.Server {
	t.Helper()
	o.Recorder = capture.NewRecorder(capture.DefaultConfig(), capture.Options{})
	s, err := proxy.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOwnRoutes(t *testing.T) {
	t.Parallel()
	p := start(t, "http://127.0.0.1:1", nil)
	if res := call(t, p.addr, get("/livez")); res.Status() != 200 || string(res.Body) != "ok\n" {
		t.Errorf("livez: %d %q", res.Status(), res.Body)
	}
	for _, target := range []string{"/", "/v2/x", "/v11/models", "/V1/models", "*", "/%761/models", "/metrics"} {
		method := "GET"
		if target == "*" {
			method = "OPTIONS"
		}
		res := call(t, p.addr, line(method, target))
		if target == "*" && res.Status() == 200 {
			continue // net/http answers it itself
		}
		if res.Status() != 404 {
			t.Errorf("%s: got %d", target, res.Status())
		}
		wantProblem(t, res, "unknown_path")
		if !strings.Contains(string(res.Body), "/v1") {
			t.Errorf("%s: the answer names no prefix: %s", target, res.Body)
		}
	}
}

// TestConnectWithAPath: net/http would send its path without the query.
func TestConnectWithAPath(t *testing.T) {
	t.Parallel()
	p := start(t, "http://127.0.0.1:1", nil)
	res := call(t, p.addr, line("CONNECT", "/v1/models?a=b"))
	if res.Status() != 404 {
		t.Errorf("got %d", res.Status())
	}
	wantProblem(t, res, "unknown_path")
}

// TestOpsHosts: which names are taken depends on the address of the health
// routes, not on that of the clients.
func TestOpsHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen, ops string
		status      int
	}{
		{"0.0.0.0:8080", "127.0.0.1:8082", http.StatusMisdirectedRequest},
		{"127.0.0.1:8080", "0.0.0.0:8082", http.StatusOK},
		{"0.0.0.0:8080", "0.0.0.0:8082", http.StatusOK},
	} {
		s := newServer(t, config("http://127.0.0.1:1", func(p *proxy.Config, _ *proxy.Upstream) {
			p.Listen, p.OpsListen, p.AllowRemote, p.AllowedHosts = c.listen, c.ops, true, nil
		}), proxy.Options{})
		w := httptest.NewRecorder()
		s.OpsHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://docket.internal/livez", nil))
		if w.Code != c.status {
			t.Errorf("clients at %s, health at %s: got %d, want %d", c.listen, c.ops, w.Code, c.status)
		}
	}
}

func TestOpsRoutes(t *testing.T) {
	t.Parallel()
	p := start(t, "http://"+refusedAddress(), nil)
	call(t, p.addr, post("{}"))
	ops := httptest.NewServer(p.server.OpsHandler())
	defer ops.Close()
	for path, want := range map[string]string{
		"/livez":   "ok",
		"/readyz":  `{"proxy":"ok"}`,
		"/metrics": `docket_proxy_answers_total{status="502",upstream="test"} 1`,
	} {
		res, err := ops.Client().Get(ops.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 && path != "/metrics" || path != "/metrics" && !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s, want %s", path, res.StatusCode, body, want)
		}
	}
	r, err := http.NewRequest(http.MethodGet, ops.URL+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.test"
	res, err := ops.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("foreign host: got %d", res.StatusCode)
	}
}
