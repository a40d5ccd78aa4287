package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"syscall"

	"golang.org/x/net/http2"
)

// problem is an answer of our own, in the shape of OpenAI's errors, which SDKs
// turn into exceptions. Its text is fixed: no URL, no key, nothing of the
// upstream.
type problem struct {
	status  int
	code    string
	message string
}

var (
	errReplay = errors.New("the connection broke after a part of the request was sent")
	errClient = errors.New("the client left")
	errStatus = errors.New("the upstream sent no valid status")
)

// body is the problem as JSON.
func (p problem) body() []byte {
	kind := "upstream_error"
	if p.status < 500 {
		kind = "invalid_request_error"
	}
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": p.message, "type": kind, "param": nil, "code": p.code,
	}})
	if err != nil {
		panic(err) // four strings
	}
	return body
}

// write answers with the problem.
func (p problem) write(w http.ResponseWriter) {
	body := p.body()
	h := w.Header()
	clear(h)
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	_, _ = w.Write(body) // the client may be gone
}

func problemOf(err error) problem {
	var late *timeoutError
	if errors.As(err, &late) {
		code := map[phase]string{phaseConnect: "upstream_connect_timeout", phaseHeader: "upstream_header_timeout"}[late.phase]
		if code == "" {
			code = "upstream_timeout"
		}
		return problem{http.StatusGatewayTimeout, code, late.Error()}
	}
	return problem{http.StatusBadGateway, "upstream_unreachable", describe(err)}
}

// describe says in fixed words what went wrong. The texts of net/http hold URLs
// (with keys in their queries) and bytes of the upstream's answer.
func describe(err error) string {
	var (
		dns      *net.DNSError
		op       *net.OpError
		late     *timeoutError
		slow     *slowClientError
		stream   http2.StreamError
		unknown  x509.UnknownAuthorityError
		host     x509.HostnameError
		invalid  x509.CertificateInvalidError
		tlsAlert tls.AlertError
		notTLS   tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &late):
		return late.Error()
	case errors.As(err, &slow):
		return slow.Error()
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return "the HTTP proxy on the way to the upstream could not be reached"
	case errors.As(err, &dns):
		return "the name of the upstream could not be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the upstream refused the connection"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the upstream reset the connection"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return "the upstream is not reachable"
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid):
		return "the certificate of the upstream is not valid"
	case errors.As(err, &tlsAlert), errors.As(err, &notTLS):
		return "no TLS connection to the upstream could be made"
	case errors.As(err, &stream):
		return "the upstream reset the stream"
	case errors.As(err, &op) && op.Op == "dial":
		return "no connection to the upstream could be made"
	case errors.Is(err, errReplay), errors.Is(err, errStatus), errors.Is(err, errClient), errors.Is(err, errProxy),
		errors.Is(err, errNotAsked), errors.Is(err, errNoHijack), errors.Is(err, errHalfStill):
		return err.Error()
	case errors.Is(err, context.Canceled):
		return errClient.Error()
	default:
		return "the upstream closed the connection or did not speak HTTP"
	}
}
