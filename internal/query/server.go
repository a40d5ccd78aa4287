package query

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"docket/internal/record"
)

// Store is what the page and the API read from. Methods are safe for concurrent
// use; the caller owns what they return.
type Store interface {
	// Inferences returns rows newest first, at most filter.Limit.
	Inferences(ctx context.Context, filter record.InferenceFilter) ([]record.Inference, error)
	// Inference returns everything about one; the error wraps record.ErrNotFound
	// when there is none.
	Inference(ctx context.Context, id string) (record.InferenceDetail, error)
	// InferenceMessages returns what was said in those whose bodies are still
	// kept, by inference id, without the raw bytes.
	InferenceMessages(ctx context.Context, ids []string) (map[string]record.Body, error)
	// Verdicts returns each verdict once, newest first, at most filter.Limit.
	Verdicts(ctx context.Context, filter record.VerdictFilter) ([]record.Verdict, error)
	// Ping says whether the store answers.
	Ping(ctx context.Context) error
}

// Options is what code gives the server.
type Options struct {
	Store Store
	Log   *slog.Logger
	// JudgingOff is shown on the page when nothing is judged: why, and how to
	// turn it on. Empty when judging is on.
	JudgingOff string
	// Labels keeps what people say about criteria; nil when nobody can.
	Labels LabelStore
	// Feedback keeps what users of the application say; nil when nobody can.
	Feedback FeedbackStore
	// Criteria names the criteria of the rubrics, which can be labelled also
	// where they have not been judged.
	Criteria []string
	// Metrics serves /metrics; nil leaves it out.
	Metrics http.Handler
}

//go:embed templates/*.html static/*
var assets embed.FS

type server struct {
	config Config
	opts   Options
	pages  *template.Template
	static http.Handler
}

// New builds the handler of the page and the read API.
func New(config Config, opts Options) (http.Handler, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	pages, err := template.New("").Funcs(templateFuncs()).ParseFS(assets, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse page templates: %w", err)
	}
	static, err := fs.Sub(assets, "static")
	if err != nil {
		return nil, fmt.Errorf("open static files: %w", err)
	}
	s := &server{config: config, opts: opts, pages: pages, static: http.FileServerFS(static)}
	return s.routes(), nil
}

// problem is the error body of the API.
type problem struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func newProblem(code, message string) problem {
	var p problem
	p.Error.Code, p.Error.Message = code, message
	return p
}

// badRequest is an error in what the caller sent; its text is shown to them.
type badRequest struct{ error }

// status maps an error to the status and the body that the caller sees. What
// went wrong inside is logged, not shown.
func (s *server) status(c *gin.Context, err error) (int, problem) {
	var bad badRequest
	switch {
	case errors.As(err, &bad):
		return http.StatusBadRequest, newProblem("bad_request", bad.Error())
	case errors.Is(err, record.ErrNotFound):
		return http.StatusNotFound, newProblem("not_found", "no inference with this id is stored")
	case errors.Is(err, context.Canceled):
		return 499, newProblem("cancelled", "the client left")
	}
	s.opts.Log.Error("read from the store", "route", c.FullPath(), "error", err)
	return http.StatusServiceUnavailable, newProblem("store_unavailable", "the store did not answer; see the log of the evaluator")
}
