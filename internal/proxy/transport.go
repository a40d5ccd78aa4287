package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const bufferSize = 32 << 10

// newTransport makes the transport of one upstream. It adds nothing to a
// request and decodes nothing in an answer. A connection may be opened in the
// background after its call is over; that ends a little later than the limit of
// a call, whose own timer says what happened.
func newTransport(t Timeouts, maxIdle int, pool *buffers, security *tls.Config, via *url.URL) *http.Transport {
	limit := t.Connect
	if limit > 0 {
		limit += time.Second
	}
	dialer := &net.Dialer{Timeout: limit, KeepAlive: 30 * time.Second}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy: http.ProxyURL(via),
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
			if res.StatusCode != http.StatusOK {
				return errProxy
			}
			return nil
		},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return newConn(c, pool), nil
		},
		Protocols:              protocols,
		TLSClientConfig:        security,
		TLSHandshakeTimeout:    limit,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		ReadBufferSize:         bufferSize,
		WriteBufferSize:        bufferSize,
		MaxResponseHeaderBytes: 4 << 20,
	}
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
