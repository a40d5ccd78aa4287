package localclickhouse

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRequest(t *testing.T) {
	for _, c := range []struct {
		name, method, query string
		headers             http.Header
		want                request
	}{
		{"nothing", "POST", "", nil, request{database: "default", format: "TabSeparated"}},
		{"get is readonly", "GET", "query=SELECT+1", nil, request{query: "SELECT 1", database: "default", format: "TabSeparated", readonly: true}},
		{
			"driver", "POST", "database=d&default_format=Native&client_protocol_version=54460&max_execution_time=60&param_b=2&param_a=1&query_id=q&quota_key=k", nil,
			request{
				database: "d", format: "Native", protocol: 54460, queryID: "q",
				settings: []setting{{"max_execution_time", "60"}}, params: []param{{"a", "1"}, {"b", "2"}},
			},
		},
		{
			"compression", "POST", "compress=1&decompress=1&network_compression_method=ZSTD&network_zstd_compression_level=3",
			http.Header{"Content-Encoding": {"GZIP"}},
			request{database: "default", format: "TabSeparated", compress: "zstd", decompress: true, contentCode: "gzip"},
		},
		{
			"header fields", "POST", "",
			http.Header{"X-Clickhouse-Database": {"d"}, "X-Clickhouse-Format": {"CSV"}},
			request{database: "d", format: "CSV"},
		},
		{"readonly", "POST", "readonly=1&wait_end_of_query=1", nil, request{database: "default", format: "TabSeparated", readonly: true, waitForEnd: true}},
		{"not readonly", "POST", "readonly=0", nil, request{database: "default", format: "TabSeparated"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/?"+c.query, nil)
			if c.headers != nil {
				r.Header = c.headers
			}
			got, err := parseRequest(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(request{}, setting{}, param{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, q := range []string{"query=SELECT+1", "a%3D1%2C+readonly=0", "param_x=%27", "readonly=2&%00=1", "default_format=CSV;", "max_threads=1'--"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		req, err := parseRequest(&http.Request{Method: http.MethodPost, URL: &url.URL{RawQuery: query}})
		if err != nil {
			var e *Exception
			if !errors.As(err, &e) {
				t.Errorf("error %T", err)
			}
			return
		}
		for _, s := range req.settings {
			if strings.ContainsFunc(s.name, func(r rune) bool { return r >= 0x80 || !wordPart(byte(r)) }) || s.name == "" || s.name == "readonly" {
				t.Errorf("setting %q", s.name)
			}
		}
		if !formatName(req.format) || req.database == "" {
			t.Errorf("format %q, database %q", req.format, req.database)
		}
	})
}
