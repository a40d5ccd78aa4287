package query

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

func (s *server) routes() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.UseRawPath = true // a conversation id may hold an escaped slash
	e.HandleMethodNotAllowed = true
	e.ContextWithFallback = true
	e.Use(s.recovered, s.guard)

	api := e.Group("/api/v1")
	api.GET("/inferences", s.listInferences)
	api.GET("/inferences/:id", s.showInference)
	api.GET("/verdicts", s.listVerdicts)

	if s.opts.Labels != nil {
		api.POST("/labels", s.postLabel)
		e.POST("/inferences/:id/labels", s.postLabelForm)
	}
	if s.opts.Feedback != nil {
		api.GET("/feedback", s.listFeedback)
		api.POST("/feedback", s.postFeedback)
	}

	e.GET("/", s.callsPage)
	e.GET("/calls", s.callsFragment)
	e.GET("/inferences/:id", s.inferencePage)
	e.GET("/conversations/:id", s.conversationPage)
	e.GET("/review", s.reviewPage)
	e.POST("/login", s.login)
	e.GET("/static/*file", gin.WrapH(http.StripPrefix("/static/", s.static)))
	e.GET("/livez", func(c *gin.Context) { c.String(http.StatusOK, "ok\n") })
	e.GET("/readyz", s.ready)
	if s.opts.Metrics != nil {
		e.GET("/metrics", gin.WrapH(s.opts.Metrics))
	}
	e.NoRoute(func(c *gin.Context) {
		c.JSON(http.StatusNotFound, newProblem("not_found", "there is nothing at this path"))
	})
	e.NoMethod(func(c *gin.Context) {
		c.JSON(http.StatusMethodNotAllowed, newProblem("method_not_allowed", "this path does not take this method"))
	})
	return e
}

func (s *server) ready(c *gin.Context) {
	if err := s.opts.Store.Ping(c); err != nil {
		c.String(http.StatusServiceUnavailable, "the store does not answer\n")
		return
	}
	c.String(http.StatusOK, "ok\n")
}
