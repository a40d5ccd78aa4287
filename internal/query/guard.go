package query

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

const (
	tokenCookie  = "docket_token"
	maxLoginBody = 16 << 10 // bytes of a form that anybody may send
)

// guard refuses requests that a browser was tricked into sending, and those
// without the token when one is set, and sets the headers of every answer.
func (s *server) guard(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	switch {
	case !s.hostAllowed(c.Request.Host):
		c.AbortWithStatusJSON(http.StatusMisdirectedRequest, newProblem("host_refused",
			"the Host header names neither this machine nor one of evaluator.api.allowed_hosts"))
	case crossSiteWrite(c.Request):
		c.AbortWithStatusJSON(http.StatusForbidden, newProblem("cross_site", "a write from another site is refused"))
	case !s.tokenOK(c.Request):
		if strings.HasPrefix(c.Request.URL.Path, "/api/") || c.Request.Method != http.MethodGet {
			h.Set("WWW-Authenticate", `Bearer realm="docket"`)
			c.AbortWithStatusJSON(http.StatusUnauthorized, newProblem("unauthorized", "send the token as Authorization: Bearer"))
			return
		}
		c.Abort()
		s.render(c, http.StatusUnauthorized, "login.html", nil)
	}
}

func (s *server) hostAllowed(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if isLoopback(host) {
		return true
	}
	listen, _, _ := net.SplitHostPort(s.config.Listen)
	return !isLoopback(listen) && len(s.config.AllowedHosts) == 0 ||
		slices.ContainsFunc(s.config.AllowedHosts, func(a string) bool { return strings.EqualFold(a, host) })
}

// crossSiteWrite says whether a request that may change something was sent by a
// page of another origin.
func crossSiteWrite(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		origin := r.Header.Get("Origin")
		return origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host
	}
	return true
}

func (s *server) tokenOK(r *http.Request) bool {
	if s.config.Token.IsZero() || r.URL.Path == "/login" || strings.HasPrefix(r.URL.Path, "/static/") || r.URL.Path == "/livez" {
		return true
	}
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		if cookie, err := r.Cookie(tokenCookie); err == nil {
			got, ok = cookie.Value, true
		}
	}
	return ok && s.tokenEqual(got)
}

func (s *server) tokenEqual(got string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(s.config.Token.Reveal()))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// login sets the cookie of a browser that sent the right token.
func (s *server) login(c *gin.Context) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxLoginBody)
	if !s.tokenEqual(c.PostForm("token")) {
		s.render(c, http.StatusUnauthorized, "login.html", "That is not the token.")
		return
	}
	http.SetCookie(c.Writer, &http.Cookie{
		Name: tokenCookie, Value: s.config.Token.Reveal(), Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: c.Request.TLS != nil,
	})
	c.Redirect(http.StatusSeeOther, "/")
}

// recovered turns a panic of a handler into a 500 whose text tells nothing, and
// lets an aborted response through. gin.Recovery does neither.
func (s *server) recovered(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler {
			panic(v)
		}
		s.opts.Log.Error("panic in a handler", "route", c.FullPath(), "panic", v, "stack", string(debug.Stack()))
		if !c.Writer.Written() {
			c.AbortWithStatusJSON(http.StatusInternalServerError, newProblem("internal", "something broke here; see the log of the evaluator"))
		}
	}()
	c.Next()
}
