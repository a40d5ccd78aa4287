package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"docket/internal/leaktest"
	"docket/internal/upstreamtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const reply = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// find waits for a line of the output and returns what the pattern's group has.
func (o *output) find(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if m := re.FindStringSubmatch(o.String()); m != nil {
			return m[len(m)-1]
		}
	}
	t.Fatalf("no line %q in:\n%s", pattern, o)
	return ""
}

func noEnv(string) string { return "" }

// nowhere is an address that nobody listens on, and that no test can be given.
const nowhere = "127.0.0.1:1"

// startProxy runs the program; stop ends it and returns its error.
func startProxy(t *testing.T, getenv func(string) string, args ...string) (*output, func() error) {
	t.Helper()
	out := &output{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	args = append([]string{"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}, args...)
	go func() { done <- run(ctx, args, getenv, out) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	return out, stop
}

func TestServesWithoutAStore(t *testing.T) {
	up := upstreamtest.Start(t, upstreamtest.Answer(reply))
	spool := filepath.Join(t.TempDir(), "spool")
	out, stop := startProxy(t, noEnv, "--upstream", up.URL(), "--store", "http://u:fake-password@"+nowhere+"/docket", "--spool", spool, "--config", short(t))
	base := out.find(t, `proxy listening on (http://\S+)`)
	ops := out.find(t, `health and metrics on (http://\S+)`)

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || string(body) != "{}" {
		t.Errorf("got %d %q, %v", res.StatusCode, body, err)
	}
	res.Body.Close()
	if got := up.Requests()[0].Target(); got != "/v1/chat/completions" {
		t.Errorf("the upstream got %s", got)
	}
	// The call counts when it has ended, a little after the client has its answer.
	counted := func() bool {
		res, err := client.Get(ops + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return err == nil && strings.Contains(string(body), "docket_proxy_calls_total")
	}
	for deadline := time.Now().Add(time.Minute); !counted(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the call is not counted")
		}
	}
	for path, want := range map[string]string{"/livez": "ok", "/readyz": "records wait in the spool", "/metrics": "docket_proxy_calls_total"} {
		res, err := client.Get(ops + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%s: got %d %q, want %q in it", path, res.StatusCode, body, want)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("run: %v", err)
	}
	out.find(t, `stopped before everything was delivered`)
	if strings.Contains(out.String(), "fake-password") {
		t.Errorf("the log shows the store's password:\n%s", out)
	}
	segments, err := filepath.Glob(filepath.Join(spool, "*"))
	if err != nil || len(segments) == 0 {
		t.Errorf("nothing is in the spool: %v, %v", segments, err)
	}
}

// short is a settings file that keeps a stop short.
func short(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "docket.yaml")
	if err := os.WriteFile(file, []byte("capture: {shutdown_drain: 100ms}\njudge: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBadStartsNameTheSetting(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	unknown := filepath.Join(t.TempDir(), "docket.yaml")
	if err := os.WriteFile(unknown, []byte("proxy:\n  lisen: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mistyped := filepath.Join(t.TempDir(), "docket.yaml")
	if err := os.WriteFile(mistyped, []byte("capture: {redact: {rules: [{pattern: email, upstreams: [opnai]}]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spool := filepath.Join(t.TempDir(), "spool")
	for _, c := range []struct {
		name string
		args []string
		env  map[string]string
		want []string
	}{
		{"port taken", []string{"--listen", taken.Addr().String()}, nil, []string{"proxy.listen", "--listen", "in use"}},
		{"ops port taken", []string{"--listen", "127.0.0.1:0", "--ops-listen", taken.Addr().String()}, nil, []string{"proxy.ops_listen", "in use"}},
		{"all interfaces", []string{"--listen", ":0"}, nil, []string{"listen", "allow_remote"}},
		{"unknown key", []string{"--config", unknown}, nil, []string{unknown + ":2", "lisen", "allowed: "}},
		{"bad upstream", nil, map[string]string{"DOCKET_UPSTREAM": "ftp://user:fake-pw@host"}, []string{"base_url"}},
		{"redaction of no upstream", []string{"--config", mistyped}, nil, []string{"capture.redact.rules[0].upstreams", "opnai"}},
		{"unknown argument", []string{"serve"}, nil, []string{"serve"}},
		{"bad variable", nil, map[string]string{"DOCKET_PROXY_PROPAGATE": "maybe"}, []string{"propagate", "on or off"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"--spool", spool}, c.args...)
			err := run(t.Context(), args, func(name string) string { return c.env[name] }, io.Discard)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
			if strings.Contains(err.Error(), "fake-pw") {
				t.Errorf("error shows a password: %v", err)
			}
		})
	}
}

// TestServesOverTLS: the flags name the files, and a start without one of them
// is refused.
func TestServesOverTLS(t *testing.T) {
	up := upstreamtest.Start(t, upstreamtest.Answer(reply))
	front := httptest.NewTLSServer(nil) // for its certificate
	front.Close()
	key, err := x509.MarshalPKCS8PrivateKey(front.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: front.Certificate().Raw}, keyFile: {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--upstream", up.URL(), "--store", "http://" + nowhere + "/docket", "--spool", filepath.Join(dir, "spool"), "--config", short(t)}
	out, _ := startProxy(t, noEnv, append(args, "--tls-cert", cert, "--tls-key", keyFile)...)
	base := out.find(t, `proxy listening on (https://\S+)`)

	roots := x509.NewCertPool()
	roots.AddCert(front.Certificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || res.ProtoMajor != 2 || string(body) != "{}" {
		t.Errorf("got %s %q, %v", res.Proto, body, err)
	}
	for _, args := range [][]string{{"--tls-cert", cert}, {"--tls-key", keyFile}, {"--tls-cert", cert, "--tls-key", cert}} {
		err := run(t.Context(), append([]string{"--listen", "127.0.0.1:0", "--ops-listen", "none", "--spool", filepath.Join(dir, "other")}, args...), noEnv, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "tls_cert, tls_key") {
			t.Errorf("%v: got %v", args, err)
		}
	}
}

func TestSecondOwnerOfTheSpoolIsRefused(t *testing.T) {
	spool := filepath.Join(t.TempDir(), "spool")
	store := "http://" + nowhere + "/docket"
	out, _ := startProxy(t, noEnv, "--spool", spool, "--store", store, "--config", short(t))
	out.find(t, "proxy listening on")
	err := run(t.Context(), []string{"--listen", "127.0.0.1:0", "--ops-listen", "none", "--spool", spool, "--store", store}, noEnv, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "spool") {
		t.Errorf("got %v", err)
	}
}

// TestKeysOfTheSettings: the upstream's key comes from the environment, the
// gateway's from a file of its own; neither is in the log.
func TestKeysOfTheSettings(t *testing.T) {
	up := upstreamtest.Start(t, upstreamtest.Answer(reply))
	dir := t.TempDir()
	for name, text := range map[string]string{
		"team.key":    "fake-gateway-key-of-the-team\n",
		"docket.yaml": "capture: {shutdown_drain: 100ms}\nproxy: {keys: {team: {key: {file: team.key}, project: shop}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environment := map[string]string{"DOCKET_UPSTREAM": up.URL(), "DOCKET_UPSTREAM_KEY": "fake-upstream-key"}
	out, stop := startProxy(t, func(name string) string { return environment[name] },
		"--store", "http://"+nowhere+"/docket", "--spool", filepath.Join(dir, "spool"), "--config", filepath.Join(dir, "docket.yaml"))
	base := out.find(t, `proxy listening on (http://\S+)`)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for key, want := range map[string]int{"fake-gateway-key-of-the-team": 200, "fake-gateway-key-of-nobody": 401, "": 401} {
		r, err := http.NewRequest(http.MethodPost, base+"/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("key %q: got %d", key, res.StatusCode)
		}
	}
	if got := up.Requests(); len(got) != 1 || got[0].Values("Authorization")[0] != "Bearer fake-upstream-key" {
		t.Errorf("the upstream got %+v", got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"fake-gateway-key", "fake-upstream-key"} {
		if strings.Contains(out.String(), key) {
			t.Errorf("the log shows %s:\n%s", key, out)
		}
	}
}
