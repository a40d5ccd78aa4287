package store_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"docket/internal/record"
	"docket/internal/store"
	"docket/internal/store/storetest"
)

func TestRowTheServerRefuses(t *testing.T) {
	s, dsn := open(t)
	storetest.Exec(t, dsn, "ALTER TABLE inferences ADD CONSTRAINT no_poison CHECK project != 'poison'")
	b := batch("x", 0, 3, now())
	b.Inferences[1].Project = "poison"
	err := s.Write(t.Context(), b)
	var refused *store.RefusedError
	if !errors.As(err, &refused) || !refused.Refused() {
		t.Fatalf("got %v, want a refused row", err)
	}
	if refused.Table != "inferences" || refused.Rows != 3 {
		t.Errorf("got table %s and %d rows", refused.Table, refused.Rows)
	}
	// What a caller does with it: halves under tokens of their own.
	for i := range b.Inferences {
		one := record.Batch{Token: "x/" + id(i), Inferences: b.Inferences[i : i+1], Bodies: b.Bodies[i : i+1]}
		err := s.Write(t.Context(), one)
		if isPoison := i == 1; isPoison != errors.As(err, &refused) {
			t.Errorf("row %d: %v", i, err)
		}
	}
	if got := count(t, dsn, "SELECT count() FROM inferences"); got != 2 {
		t.Errorf("got %d rows, want 2", got)
	}
}

func TestErrorsThatMayPass(t *testing.T) {
	var refused *store.RefusedError
	t.Run("no server", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		s := openConfig(t, config("http://someone:hunter2@"+addr+"/x"))
		err = s.Write(t.Context(), batch("x", 0, 1, now()))
		if err == nil || errors.As(err, &refused) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
		if err := s.Ping(t.Context()); err == nil {
			t.Error("ping: want an error")
		}
	})
	t.Run("table is gone", func(t *testing.T) {
		s, dsn := open(t)
		storetest.Exec(t, dsn, "DROP TABLE inference_bodies SYNC")
		if err := s.Write(t.Context(), batch("x", 0, 1, now())); err == nil || errors.As(err, &refused) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("column is gone", func(t *testing.T) {
		s, dsn := open(t)
		storetest.Exec(t, dsn, "ALTER TABLE inference_bodies DROP COLUMN tools")
		if err := s.Write(t.Context(), batch("x", 0, 1, now())); err == nil || errors.As(err, &refused) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("wrong password", func(t *testing.T) {
		cfg := config(strings.Replace(storetest.DSN(t), "default:", "default:x", 1))
		if err := openConfig(t, cfg).Write(t.Context(), batch("x", 0, 1, now())); err == nil || errors.As(err, &refused) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no token", func(t *testing.T) {
		s, _ := open(t)
		if err := s.Write(t.Context(), record.Batch{}); err == nil || errors.As(err, &refused) {
			t.Errorf("got %v", err)
		}
	})
}

func TestConfigErrorsNameKeyAndValue(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*store.Config)
		want   string
	}{
		"no scheme":   {func(c *store.Config) { c.DSN = "localhost:8123" }, "store.dsn: no scheme"},
		"bad url":     {func(c *store.Config) { c.DSN = "http://u:pa%zzss@h:1/x" }, "store.dsn: http://"},
		"scheme":      {func(c *store.Config) { c.DSN = "mysql://u:pass-word@h:1/x" }, "store.dsn: mysql://"},
		"database":    {func(c *store.Config) { c.DSN = "http://h:1/a'b" }, `database "a'b"`},
		"cluster":     {func(c *store.Config) { c.Cluster = "a b" }, `store.cluster: "a b"`},
		"spans":       {func(c *store.Config) { c.SpansTable = "a.b.c" }, `store.spans_table: "a.b.c"`},
		"ttl":         {func(c *store.Config) { c.TTL = 90 }, "store.ttl: 90ns: want 1h0m0s or a multiple"},
		"memory":      {func(c *store.Config) { c.QueryMemory = 1 }, "store.query_memory: 1: want"},
		"connections": {func(c *store.Config) { c.MaxConns = 1 }, "store.max_conns: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := store.DefaultConfig()
			tc.change(&cfg)
			_, err := store.Open(t.Context(), cfg, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			for _, secret := range []string{"pass-word", "pa%zzss", "zzss"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error has the password: %v", err)
				}
			}
		})
	}
	if err := store.DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
}

// What is looked for does not get into errors, and with them into logs.
func TestErrorsDoNotRepeatWhatWasAskedFor(t *testing.T) {
	_, dsn := open(t)
	server, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	on := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: server.Scheme, Host: server.Host})
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("param_user_id") {
			panic(http.ErrAbortHandler) // the connection breaks off
		}
		on.ServeHTTP(w, r)
	}))
	defer broken.Close()
	server.Host = strings.TrimPrefix(broken.URL, "http://")
	s := openConfig(t, config(server.String()))
	_, err = s.Inferences(t.Context(), record.InferenceFilter{UserID: "somebody", Text: "something", Limit: 1})
	if err == nil || strings.Contains(err.Error(), "somebody") || strings.Contains(err.Error(), "something") {
		t.Errorf("got error %v", err)
	}
}
