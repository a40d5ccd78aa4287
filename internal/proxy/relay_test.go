package proxy_test

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// relay is an HTTP proxy, and every upstream behind it at once: CONNECT leads to
// a TLS server of the test whatever the name, and absolute targets are answered.
type relay struct {
	proxy, tls *httptest.Server
	tunnels    sync.WaitGroup
	refuse     int    // status of CONNECT, if not 200
	answer     string // body of every answer

	mu    sync.Mutex
	calls []relayed
}

// relayed is one request as the upstream saw it.
type relayed struct {
	url       string // scheme, host and target
	fields    http.Header
	proxyAuth string // what the HTTP proxy was shown
	peers     int    // client certificates
	version   uint16
}

func startRelay(t *testing.T) *relay {
	t.Helper()
	r := &relay{answer: "{}"}
	quiet := log.New(io.Discard, "", 0)
	r.tls = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.note(relayed{
			url: "https://" + req.Host + req.RequestURI, fields: req.Header,
			peers: len(req.TLS.PeerCertificates), version: req.TLS.Version,
		})
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, r.answer) // the client compares
	}))
	r.tls.Config.ErrorLog = quiet
	r.tls.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	r.tls.StartTLS()
	r.proxy = httptest.NewUnstartedServer(http.HandlerFunc(r.serveProxy))
	r.proxy.Config.ErrorLog = quiet
	r.proxy.Start()
	t.Cleanup(func() {
		r.proxy.Close()
		r.tls.CloseClientConnections()
		r.tls.Close()
		r.tunnels.Wait()
	})
	return r
}

func (r *relay) serveProxy(w http.ResponseWriter, req *http.Request) {
	r.tunnels.Add(1) // before the connection is taken over, up to where Close waits
	defer r.tunnels.Done()
	auth := req.Header.Get("Proxy-Authorization")
	if req.Method != http.MethodConnect {
		req.Header.Del("Proxy-Authorization")
		r.note(relayed{url: req.RequestURI, fields: req.Header, proxyAuth: auth})
		_, _ = io.WriteString(w, r.answer)
		return
	}
	r.note(relayed{url: "CONNECT " + req.RequestURI, fields: req.Header, proxyAuth: auth})
	if r.refuse != 0 {
		w.WriteHeader(r.refuse)
		return
	}
	up, err := net.Dial("tcp", r.tls.Listener.Addr().String())
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	down, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		up.Close()
		return
	}
	_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
	for _, pair := range [][2]net.Conn{{up, down}, {down, up}} {
		r.tunnels.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			pair[0].Close()
			pair[1].Close()
		})
	}
}

func (r *relay) note(c relayed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

// take returns what came since the last time, CONNECT apart.
func (r *relay) take() (calls, connects []relayed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if strings.HasPrefix(c.url, "CONNECT ") {
			connects = append(connects, c)
		} else {
			calls = append(calls, c)
		}
	}
	r.calls = nil
	return calls, connects
}

// certificate writes the certificate of a TLS server, and its key, into files.
func certificate(t *testing.T, s *httptest.Server) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePEM(t, cert, "CERTIFICATE", s.Certificate().Raw)
	writePEM(t, key, "PRIVATE KEY", privateKey(t, s))
	return cert, key
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
