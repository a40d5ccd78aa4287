package store_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"docket/internal/record"
	"docket/internal/store"
	"docket/internal/store/storetest"
)

// Reads before the tables are made say so in a line, without the statement.
func TestReadsBeforeTheTablesAreThere(t *testing.T) {
	for name, dsn := range map[string]string{"no tables": storetest.DSN(t), "no database": storetest.DSN(t) + "_missing"} {
		s := openConfig(t, config(dsn))
		_, err := s.Inferences(t.Context(), record.InferenceFilter{Model: "m"})
		if !errors.Is(err, store.ErrNoTables) || len(err.Error()) > 200 || strings.Contains(err.Error(), "SELECT") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A migration that hangs holds up nobody longer than he wants to wait.
func TestWritersDoNotWaitForAMigrationThatHangs(t *testing.T) {
	entered, release := make(chan struct{}, 8), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(release)
	s := openConfig(t, config(srv.URL+"/x"))
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- s.Write(ctx, batch("x", 0, 1, now())) }()
	<-entered // it migrates, and hangs
	gone, leave := context.WithCancel(t.Context())
	leave()
	second := make(chan error, 1)
	go func() { second <- s.Write(gone, batch("y", 1, 1, now())) }()
	select {
	case err := <-second:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the second writer got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the second writer waits for the migration of the first")
	}
	cancel()
	if err := <-first; err == nil {
		t.Error("the first writer got no error")
	}
}
