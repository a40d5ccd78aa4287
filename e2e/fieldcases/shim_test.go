package fieldcases

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// shim stands between one proxy and the store: it counts inserts, delays them,
// or plays a store that is down.
type shim struct {
	*httptest.Server
	dsn   string
	delay atomic.Int64 // of an insert
	down  atomic.Bool
	hold  sync.RWMutex // held by a test: inserts wait

	mu      sync.Mutex
	inserts map[string][]time.Time // guarded by mu; by table
}

func (s *suite) newShim(t *testing.T) *shim {
	t.Helper()
	dsn, err := url.Parse(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	engine := &url.URL{Scheme: dsn.Scheme, Host: dsn.Host}
	h := &shim{inserts: map[string][]time.Time{}}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	behind := &httputil.ReverseProxy{Transport: transport, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(engine) }}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.down.Load() {
			panic(http.ErrAbortHandler) // the connection is closed without an answer
		}
		if table, ok := insertInto(r.URL.Query().Get("query")); ok {
			h.note(table)
			h.hold.RLock()
			defer h.hold.RUnlock()
			<-time.After(time.Duration(h.delay.Load()))
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		h.Close()
		transport.CloseIdleConnections()
	})
	host, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	dsn.Host = host.Host
	h.dsn = dsn.String()
	return h
}

// insertInto is the table that a statement writes.
func insertInto(statement string) (string, bool) {
	words := strings.FieldsFunc(statement, func(r rune) bool { return strings.ContainsRune(" \n\t(`", r) })
	if len(words) < 3 || !strings.EqualFold(words[0], "INSERT") {
		return "", false
	}
	return words[2], true
}

func (h *shim) note(table string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inserts[table] = append(h.inserts[table], time.Now())
}

// rates are the most inserts into one table within a second, and the inserts
// into all tables per second of the time.
func (h *shim) rates(elapsed time.Duration) (most int, mean float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := 0
	for _, times := range h.inserts {
		all += len(times)
		for i := range times {
			n := 1
			for _, later := range times[i+1:] {
				if later.Sub(times[i]) < time.Second {
					n++
				}
			}
			most = max(most, n)
		}
	}
	return most, float64(all) / elapsed.Seconds()
}
