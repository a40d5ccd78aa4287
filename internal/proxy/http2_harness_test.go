package proxy_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

// identity is a certificate for loopback addresses, signed by itself.
type identity struct {
	certFile, keyFile string
	pair              tls.Certificate
	roots             *x509.CertPool
}

func newIdentity(t *testing.T) identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	dir := t.TempDir()
	id := identity{certFile: filepath.Join(dir, "cert.pem"), keyFile: filepath.Join(dir, "key.pem"), roots: x509.NewCertPool()}
	if id.pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	id.roots.AppendCertsFromPEM(certPEM)
	for file, data := range map[string][]byte{id.certFile: certPEM, id.keyFile: keyPEM} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// serverConfig is that of an upstream.
func (id identity) serverConfig(protocols ...string) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{id.pair}, NextProtos: protocols}
}

// secured lets the proxy speak TLS to its clients.
func (id identity) secured(c *proxy.Config) { c.TLSCert, c.TLSKey = id.certFile, id.keyFile }

// dialTLS connects with a protocol of ALPN, "" for none.
func (id identity) dialTLS(t *testing.T, addr, protocol string) *client {
	t.Helper()
	raw := dial(t, addr)
	config := &tls.Config{RootCAs: id.roots, ServerName: "127.0.0.1"}
	if protocol != "" {
		config.NextProtos = []string{protocol}
	}
	conn := tls.Client(raw.Conn, config)
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	if got := conn.ConnectionState().NegotiatedProtocol; got != protocol {
		t.Fatalf("negotiated %q, want %q", got, protocol)
	}
	return newClient(conn)
}

// transport is that of a client which trusts the proxy.
func (id identity) transport() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: id.roots, ServerName: "127.0.0.1"}}
}

// over2 begins HTTP/2 on a connection.
func over2(t *testing.T, c *client) *upstreamtest.H2 {
	t.Helper()
	h, err := upstreamtest.NewH2(c.Conn)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// dial2 connects with prior knowledge.
func dial2(t *testing.T, addr string) *upstreamtest.H2 {
	t.Helper()
	return over2(t, dial(t, addr))
}

// parsed reads a raw request.
func parsed(t *testing.T, raw string) upstreamtest.Request {
	t.Helper()
	r, err := upstreamtest.ReadRequest(bytes.NewBufferString(raw))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// send2 sends a raw request of HTTP/1.1 over HTTP/2.
func send2(t *testing.T, h *upstreamtest.H2, raw string) uint32 {
	t.Helper()
	id, err := h.Send(parsed(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func response2(t *testing.T, h *upstreamtest.H2, id uint32) upstreamtest.Response {
	t.Helper()
	res, err := h.Response(id)
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	return res
}

// head2 is the pseudo fields of a request.
func head2(method, path string) []upstreamtest.Field {
	return []upstreamtest.Field{
		{Name: ":method", Value: method}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "proxy.test"}, {Name: ":path", Value: path},
	}
}
