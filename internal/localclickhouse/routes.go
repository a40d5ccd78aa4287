package localclickhouse

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// routes is every path of the HTTP interface.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/ping", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "Ok.\n") })
	mux.HandleFunc("/{$}", s.handleQuery)
	return s.guard(mux)
}

// guard refuses what no local program sends: a Host name that a web page could
// have pointed at this machine. It also counts the requests for Close.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		defer s.requests.Done()
		if !loopbackHost(r.Host) {
			http.Error(w, "the embedded ClickHouse answers to localhost and loopback addresses only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackHost says whether a Host field names this machine.
func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// authenticated checks the user "default" and its password, given as basic
// authentication or in the fields of ClickHouse.
func (s *Server) authenticated(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	if key := r.Header.Get("X-ClickHouse-Key"); !ok {
		user, password = first(r.Header.Get("X-ClickHouse-User"), "default"), key
	}
	got, want := sha256.Sum256([]byte(password)), sha256.Sum256([]byte(s.opts.Password))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && user == "default"
}

// handleQuery runs one statement.
func (s *Server) handleQuery(w http.ResponseWriter, r *http.Request) {
	a := newAnswer(w)
	if r.Method != http.MethodPost && r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	if !s.authenticated(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="ClickHouse"`)
		a.finish(&Exception{Code: codeAuth, Name: "AUTHENTICATION_FAILED",
			Message: "default: Authentication failed: password is incorrect, or there is no user with such name"})
		return
	}
	req, err := parseRequest(r)
	if err != nil {
		a.finish(err)
		return
	}
	a.prepare(req)
	err = s.run(r.Context(), a, req, http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
	if err != nil {
		s.opts.Log.Debug("statement failed", "error", err)
	}
	a.finish(err)
}
