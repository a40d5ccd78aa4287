package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

const bufferSize = 32 << 10

// newTransport makes the transport of one upstream. It adds nothing to a
// request and decodes nothing in an answer. A connection may be opened in the
// background after its call is over; that ends a little later than the limit of
// a call, whose own timer says what happened.
func newTransport(t Timeouts, maxIdle int, pool *buffers, roots *x509.CertPool) *http.Transport {
	limit := t.Connect
	if limit > 0 {
		limit += time.Second
	}
	dialer := &net.Dialer{Timeout: limit, KeepAlive: 30 * time.Second}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy: tunnel,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return newConn(c, pool), nil
		},
		Protocols:              protocols,
		TLSClientConfig:        &tls.Config{RootCAs: roots},
		TLSHandshakeTimeout:    limit,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		ReadBufferSize:         bufferSize,
		WriteBufferSize:        bufferSize,
		MaxResponseHeaderBytes: 4 << 20,
	}
}

// trusted adds the certificates of a file to the system's. nil is the system's.
func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("there is no PEM certificate in the file")
	}
	return pool, nil
}

// tunnel uses HTTPS_PROXY and NO_PROXY of the environment for https upstreams.
// A forward proxy for plain http would need the target rewritten.
func tunnel(r *http.Request) (*url.URL, error) {
	if r.URL.Scheme != "https" {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

// buffers hands out copy buffers to httputil.ReverseProxy.
type buffers struct{ pool sync.Pool }

// Get returns a buffer of bufferSize.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

// Put takes a buffer back.
func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }
