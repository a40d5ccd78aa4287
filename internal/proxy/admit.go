package proxy

import (
	"log/slog"
	"net/http"
)

// livePath is served to everybody.
const livePath = "/livez"

// admit says who calls. It answers those who show no gateway key themselves, and
// says false: their call is counted, and leaves no row, so that nobody fills the
// store without a key.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, rt *route, t target) (caller, bool) {
	if rt == nil && t.path == livePath {
		return caller{}, true
	}
	c, shown, ok := s.keys.authenticate(r.Header, t.query)
	if ok {
		return c, true
	}
	code, message := "missing_key", "this proxy asks for one of its own keys: send it in Docket-Key, or where you send the key of the API"
	if shown {
		code, message = "wrong_key", "this proxy does not know the key: it asks for one of its own, in Docket-Key or where you send the key of the API"
	}
	s.metrics.refused.WithLabelValues(code).Inc()
	skipBody(w, r)
	shape := ""
	if rt != nil {
		shape = shapeOf(rt.config.API, t.path)
	}
	unauthorized(w, shape, code, message)
	return caller{}, false
}

// warn tells of settings that are allowed and dangerous.
func warn(log *slog.Logger, routes []*route) {
	for _, rt := range routes {
		if rt.config.TLS.InsecureSkipVerify {
			log.Warn("the certificate of an upstream is not verified: whoever is on the way can read calls and keys",
				"setting", "proxy.upstreams."+rt.name+".tls.insecure_skip_verify")
		}
	}
}

// Check finds out what a start with these settings would refuse: it also reads
// the files that they name.
func Check(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if _, err := newRoutes(c, &buffers{}); err != nil {
		return err
	}
	if _, err := clientTLS(c); err != nil {
		return err
	}
	_, err := newGuard(c)
	return err
}
