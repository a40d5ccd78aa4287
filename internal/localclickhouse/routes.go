package localclickhouse

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// routes is every path of the HTTP interface.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/ping", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "Ok.\n") })
	mux.HandleFunc("/{$}", s.handleQuery)
	return s.guard(mux)
}

// guard refuses what no local program sends: a Host name that a web page could
// have pointed at this machine. It also counts the requests for Close, and
// takes away the time limit that the request before left on the connection.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		defer s.requests.Done()
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Time{})
		if r.Body != http.NoBody {
			_ = control.SetReadDeadline(time.Now().Add(clientLimit)) // also for bodies that nothing reads
		}
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
	if r.Method != http.MethodPost && r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	a := newAnswer(w)
	body := timedBody{http.MaxBytesReader(w, r.Body, s.opts.MaxBody), a.control}
	err := s.query(r, a, body)
	if err != nil {
		s.opts.Log.Debug("statement failed", "error", err)
		// A driver that is still sending would see a broken connection instead
		// of the error.
		_, _ = io.Copy(io.Discard, body)
	}
	a.finish(err)
}

// query checks who asks for what, and does it.
func (s *Server) query(r *http.Request, a *answer, body io.Reader) error {
	if !s.authenticated(r) {
		a.w.Header().Set("WWW-Authenticate", `Basic realm="ClickHouse"`)
		return &Exception{
			Code: codeAuth, Name: "AUTHENTICATION_FAILED",
			Message: "default: Authentication failed: password is incorrect, or there is no user with such name",
		}
	}
	req, err := parseRequest(r)
	if err != nil {
		return err
	}
	a.prepare(req)
	return s.run(r.Context(), a, req, body)
}
