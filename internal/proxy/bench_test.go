package proxy_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"

	"docket/internal/capture"
	"docket/internal/proxy"
)

// BenchmarkOverhead is one JSON call (2 KB there, 1 KB back) over kept
// connections: directly, through a bare httputil.ReverseProxy, and through ours
// with nothing recorded, so that the difference is the price of transparency.
func BenchmarkOverhead(b *testing.B) {
	reply := bytes.Repeat([]byte("x"), 1024)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the answer says what is missing
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(reply)))
		_, _ = w.Write(reply) // checked at the other end
	}))
	defer up.Close()
	base, err := url.Parse(up.URL)
	if err != nil {
		b.Fatal(err)
	}
	plain := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(base) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true},
	})
	defer plain.Close()
	server, err := proxy.New(config(up.URL, nil), proxy.Options{Recorder: capture.NewRecorder(capture.DefaultConfig(), capture.Options{})})
	if err != nil {
		b.Fatal(err)
	}
	ours := httptest.NewServer(server.Handler())
	defer ours.Close()
	for _, c := range []struct{ name, url string }{{"direct", up.URL}, {"plain", plain.URL}, {"docket", ours.URL}} {
		b.Run(c.name, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			defer client.CloseIdleConnections()
			body := bytes.Repeat([]byte("y"), 2048)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					res, err := client.Post(c.url+"/v1/chat/completions", "application/json", bytes.NewReader(body))
					if err != nil {
						b.Error(err)
						return
					}
					n, err := io.Copy(io.Discard, res.Body)
					res.Body.Close()
					if err != nil || int(n) != len(reply) {
						b.Errorf("%d bytes, %v", n, err)
						return
					}
				}
			})
		})
	}
}
