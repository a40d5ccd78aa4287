package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

func newServer(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// gate stands before the engine and lets nothing through until it is opened.
type gate struct {
	dsn  string
	open atomic.Bool
}

func newGate(t *testing.T, dsn string) *gate {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{}
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: u.Scheme, Host: u.Host})
	forward.ErrorLog = log.New(io.Discard, "", 0) // clients that leave
	srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.open.Load() {
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}))
	own, err := url.Parse(srv)
	if err != nil {
		t.Fatal(err)
	}
	own.User, own.Path = u.User, u.Path
	g.dsn = own.String()
	return g
}
