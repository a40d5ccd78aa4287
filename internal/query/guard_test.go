package query_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"docket/internal/query"
	"docket/internal/record"
)

func TestRefusesToServeOthersWithoutAToken(t *testing.T) {
	for listen, ok := range map[string]bool{
		"127.0.0.1:8081": true, "[::1]:0": true, "localhost:8081": true, "0.0.0.0:8081": false, ":8081": false, "10.0.0.1:80": false,
	} {
		c := query.Config{Listen: listen}
		if err := c.Validate(); (err == nil) != ok {
			t.Errorf("listen %q without a token: %v", listen, err)
		}
		c.Token = record.NewSecret("t")
		if err := c.Validate(); err != nil {
			t.Errorf("listen %q with a token: %v", listen, err)
		}
	}
}

func TestHostIsChecked(t *testing.T) {
	config := query.DefaultConfig()
	config.AllowedHosts = []string{"docket.example"}
	srv := serve(t, config, conversation())
	for host, want := range map[string]int{
		"127.0.0.1:8081": 200, "localhost": 200, "[::1]:99": 200, "docket.example": 200, "DOCKET.example:80": 200,
		"attacker.example": 421, "127.0.0.1.attacker.example": 421, "localhost.attacker.example:8081": 421,
	} {
		if status, _ := get(t, srv, "/api/v1/inferences", "Host", host); status != want {
			t.Errorf("Host %s: status %d, want %d", host, status, want)
		}
	}
}

func TestTokenIsRequired(t *testing.T) {
	config := query.DefaultConfig()
	config.Token = record.NewSecret("right")
	srv := serve(t, config, conversation())
	for header, want := range map[string]int{"": 401, "Bearer wrong": 401, "right": 401, "Bearer right": 200} {
		if status, _ := get(t, srv, "/api/v1/inferences", "Authorization", header); status != want {
			t.Errorf("Authorization %q: status %d, want %d", header, status, want)
		}
	}
	if status, body := get(t, srv, "/"); status != 401 || !strings.Contains(body, `action="/login"`) {
		t.Errorf("page without a token: status %d: %s", status, body)
	}

	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := srv.Client()
	client.Jar = jar
	for token, want := range map[string]int{"wrong": 401, "right": 200} {
		res, err := client.PostForm(srv.URL+"/login", url.Values{"token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("login with %q: status %d, want %d", token, res.StatusCode, want)
		}
	}
}

func TestLoginReadsOnlyALittle(t *testing.T) {
	config := query.DefaultConfig()
	config.Token = record.NewSecret("right")
	srv := serve(t, config, conversation())
	res, err := srv.Client().PostForm(srv.URL+"/login", url.Values{"token": {"right"}, "z": {strings.Repeat("z", 1<<20)}})
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a form of 1 MiB: status %d, want 401", res.StatusCode)
	}
}

func TestCrossSiteWritesAreRefused(t *testing.T) {
	config := query.DefaultConfig()
	config.Token = record.NewSecret("right")
	srv := serve(t, config, conversation())
	tests := []struct {
		name, header, value string
		want                int
	}{
		{"another site", "Sec-Fetch-Site", "cross-site", 403},
		{"another origin", "Origin", "https://attacker.example", 403},
		{"an opaque origin", "Origin", "null", 403},
		{"our own page", "Sec-Fetch-Site", "same-origin", 401},
		{"a program", "User-Agent", "curl", 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/login", strings.NewReader("token=no"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set(tt.header, tt.value)
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != tt.want {
				t.Errorf("status %d, want %d", res.StatusCode, tt.want)
			}
		})
	}
}

func TestEveryAnswerCarriesThePolicy(t *testing.T) {
	srv := serve(t, query.DefaultConfig(), conversation())
	for _, path := range []string{"/", "/api/v1/inferences", "/static/docket.css", "/nowhere"} {
		res, err := srv.Client().Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if !strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "default-src 'none'") || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("GET %s: headers %v", path, res.Header)
		}
	}
}
