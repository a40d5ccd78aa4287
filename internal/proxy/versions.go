package proxy

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http2"
)

// Values of Upstream.HTTPVersion.
const (
	versionAuto = "auto"
	versionOne  = "1.1"
	versionTwo  = "2"
)

const (
	// A connection of HTTP/2 that says nothing for pingAfter is asked whether it
	// lives: many calls depend on it.
	pingAfter = 30 * time.Second
	pingWait  = 15 * time.Second

	// streamWindow is how much of an answer waits here for a slow client.
	streamWindow = 512 << 10
)

func validVersion(v string) error {
	switch v {
	case "", versionAuto, versionOne, versionTwo:
		return nil
	}
	return fmt.Errorf("http_version: %q: must be auto, 1.1 or 2", v)
}

// http2Of says whether an upstream may be spoken to in HTTP/2.
func http2Of(version string, base *url.URL) bool {
	return version == versionTwo || version != versionOne && base.Scheme == "https"
}

// offer2 lets a transport speak HTTP/2: where the upstream agrees during the TLS
// handshake, or always. It is that of golang.org/x/net, which net/http has a copy
// of: only there can be heard which error a stream was reset with.
func (rt *route) offer2(t *http.Transport) error {
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(rt.config.HTTPVersion != versionTwo)
	t.Protocols.SetHTTP2(rt.base.Scheme == "https")
	t.Protocols.SetUnencryptedHTTP2(rt.base.Scheme == "http")
	t.HTTP2 = &http.HTTP2Config{
		SendPingTimeout: pingAfter, PingTimeout: pingWait, WriteByteTimeout: pingAfter,
		MaxReceiveBufferPerStream: streamWindow,
		CountError: func(kind string) {
			if kind == "recv_rststream_protocol_error" {
				rt.resets.Add(1)
			}
		},
	}
	//lint:ignore SA1019 a client of Go 1.26 does not call HTTP2Config.CountError
	t2, err := http2.ConfigureTransports(t)
	if err != nil {
		return fmt.Errorf("http_version: %w", err)
	}
	if rt.config.HTTPVersion == versionTwo {
		t.TLSClientConfig.NextProtos = []string{http2.NextProtoTLS}
	}
	//lint:ignore SA1019 as above
	t2.CountError = t.HTTP2.CountError
	return nil
}

// speaks2 says whether HTTP/2 was agreed on for the connection, which is under
// via.
func (c *conn) speaks2(via any) bool {
	if known := c.http2.Load(); known != nil {
		return *known
	}
	yes := true // without TLS, HTTP/2 is all there is
	if t, ok := via.(*tls.Conn); ok {
		yes = t.ConnectionState().NegotiatedProtocol == http2.NextProtoTLS
	}
	c.http2.Store(&yes)
	return yes
}
