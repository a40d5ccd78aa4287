package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
)

// clientTLS is what the proxy shows its clients; nil without tls_cert.
func clientTLS(c Config) (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("tls_cert, tls_key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}, nil
}

// clientListener hands out connections from clients.
type clientListener struct {
	net.Listener
	server *Server
}

// Accept takes TLS off here rather than in net/http, which then sees the same
// kind of connection either way, and tells HTTP/2 by how it begins. The
// handshake is part of the first read.
func (l clientListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if l.server.tls != nil {
		c = tls.Server(c, l.server.tls)
	}
	return &clientConn{Conn: c, server: l.server}, nil
}

type clientConnKey struct{}

// clientServer serves clients, over HTTP/1.1 and HTTP/2.
func (s *Server) clientServer() *http.Server {
	srv := s.httpServer(s.Handler())
	srv.Protocols.SetUnencryptedHTTP2(true)
	// What is larger is refused by net/http, whose answer over HTTP/2 cannot be
	// changed; see tooLarge.
	srv.MaxHeaderBytes = 2 * int(s.config.MaxHeaderBytes)
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, clientConnKey{}, c)
	}
	srv.ConnState = func(c net.Conn, state http.ConnState) {
		if cc, ok := c.(*clientConn); ok {
			cc.enter(state)
		}
	}
	return srv
}

// tooLarge refuses a request whose head is over a limit. Its size is that of
// HTTP/1.1, in either protocol.
func (s *Server) tooLarge(r *http.Request) (problem, bool) {
	if most := s.config.MaxURLBytes; len(r.RequestURI) > int(most) {
		return problem{
			http.StatusRequestURITooLong, "url_too_long",
			fmt.Sprintf("the URL of the request is longer than proxy.max_url_bytes (%s)", most),
		}, true
	}
	size := len(r.Method) + len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	return s.headTooLarge(), size > int(s.config.MaxHeaderBytes)
}

func (s *Server) headTooLarge() problem {
	return problem{
		http.StatusRequestHeaderFieldsTooLarge, "header_too_large",
		fmt.Sprintf("the head of the request is larger than proxy.max_header_bytes (%s)", s.config.MaxHeaderBytes),
	}
}
