package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newRouter serves what no upstream has the prefix of, on the clients' address.
func (s *Server) newRouter() *gin.Engine {
	e := newEngine()
	e.GET(livePath, s.live)
	var prefixes []string
	for _, rt := range s.routes {
		prefixes = append(prefixes, rt.config.Prefix)
	}
	message := "no upstream is set for this path; there are: " + strings.Join(prefixes, ", ")
	e.NoRoute(func(c *gin.Context) {
		s.metrics.refused.WithLabelValues("unknown_path").Inc()
		skipBody(c.Writer, c.Request)
		problem{http.StatusNotFound, "unknown_path", message}.write(c.Writer)
		c.Abort()
	})
	return e
}

// OpsHandler serves health and metrics, for an address of its own.
func (s *Server) OpsHandler() http.Handler {
	e := newEngine()
	e.GET(livePath, s.live)
	e.GET("/readyz", s.ready)
	if s.options.Gatherer != nil {
		e.GET("/metrics", gin.WrapH(promhttp.HandlerFor(s.options.Gatherer, promhttp.HandlerOpts{})))
	}
	names := guard{anyHost: s.config.anyHostAt(s.config.OpsListen), hosts: s.config.AllowedHosts}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recovered(w)
		if !names.hostAllowed(r.Host) {
			problem{http.StatusMisdirectedRequest, "host_refused", "the Host header names neither this machine nor one of proxy.allowed_hosts"}.write(w)
			return
		}
		e.ServeHTTP(w, r)
	})
}

// newEngine is gin without gin.Recovery and gin.Logger: the one hides cuts, and
// both print keys.
func newEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	return e
}

func (s *Server) live(c *gin.Context) { c.String(http.StatusOK, "ok\n") }

// ready is about calls: the proxy serves them without its store.
func (s *Server) ready(c *gin.Context) {
	status, parts := http.StatusOK, map[string]string{"proxy": "ok"}
	if s.options.Status != nil {
		for name, fault := range s.options.Status() {
			parts[name] = fault
			if fault == "" {
				parts[name] = "ok"
			}
		}
	}
	if s.stopping.Load() {
		status, parts["proxy"] = http.StatusServiceUnavailable, "stopping"
	}
	c.JSON(status, parts)
}

// ServeOps serves OpsHandler on ln until ctx ends.
func (s *Server) ServeOps(ctx context.Context, ln net.Listener) error {
	srv := s.httpServer(s.OpsHandler())
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			_ = srv.Close() // a scraper that does not read
		}
	})
	defer stop()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
