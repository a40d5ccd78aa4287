package proxy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

// TestUpstreamKey: the key of the settings goes upstream in the place of every
// credential of the client, and is masked where the upstream repeats it.
func TestUpstreamKey(t *testing.T) {
	t.Parallel()
	const key = "fake-upstream-key"
	echo := "you sent fake-upstream-key, he sent fake-client-key and fake-query-key"
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		if _, err := u.ReadRequest(); err == nil {
			_ = u.Send(answer("200 OK\r\nX-Request-Id: fake-upstream-key\r\nContent-Length: "+itoa(len(echo)), echo))
		}
	})
	r := startRecorded(t, config(up.URL(), func(_ *proxy.Config, u *proxy.Upstream) { u.Key = record.NewSecret(key) }))
	raw := line("POST", "/v1/chat/completions?a=%zz&key=fake-query-key;b=1&API_KEY=fake-query-key&c=", "authorization: Bearer fake-client-key", "X-API-Key: fake-client-key",
		"Cookie: s=fake-client-key", "Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.fake-client-key, openai-beta.realtime-v1", "Content-Length: 0")
	if res := call(t, r.addr, raw); string(res.Body) != echo {
		t.Errorf("the client got %q", res.Body)
	}
	got := up.Requests()[0]
	if want := "/v1/chat/completions?a=%zz&b=1&c="; got.Target() != want {
		t.Errorf("target %s, want %s", got.Target(), want)
	}
	if auth := got.Values("Authorization"); len(auth) != 1 || auth[0] != "Bearer "+key {
		t.Errorf("authorization %q", auth)
	}
	if p := got.Values("Sec-WebSocket-Protocol"); len(p) != 1 || p[0] != "realtime, openai-beta.realtime-v1" {
		t.Errorf("protocols %q", p)
	}
	for _, f := range got.Fields {
		if strings.Contains(f.Value, "fake-client-key") {
			t.Errorf("the client's key went upstream in %s", f.Name)
		}
	}
	rows := r.rows(t, 1)
	if got := string(rows.Bodies[0].Response); got != "you sent ***, he sent *** and ***" {
		t.Errorf("recorded %q", got)
	}
	noSecrets(t, r, "fake-upstream-key", "fake-client-key", "fake-query-key")
}

// noSecrets looks for values in the log and in all rows.
func noSecrets(t *testing.T, r *recorded, secrets ...string) {
	t.Helper()
	rows, err := json.Marshal(r.stored)
	if err != nil {
		t.Fatal(err)
	}
	text := r.logs.String() + string(rows)
	for _, b := range r.stored.Bodies {
		text += string(b.Request) + string(b.Response)
	}
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s is in:\n%s", s, text)
		}
	}
}

// TestOnlyCredential: a query that held nothing but a key is gone as a whole.
func TestOnlyCredential(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.Answer(plainAnswer))
	p := start(t, up.URL(), func(_ *proxy.Config, u *proxy.Upstream) {
		u.Key, u.KeyHeader, u.Prefix = record.NewSecret("fake-upstream-key"), "x-custom-key", "/g"
	})
	for _, target := range []string{"/g/x?key=a", "/g/x?%6bey=a", "/g/x?key", "/g/x?key=a&access_token=b;subscription-key=c"} {
		before := len(up.Requests())
		if res := call(t, p.addr, get(target, "X-Custom-Key: fake-client")); res.Status() != 200 {
			t.Fatalf("%s: got %d %s\n%s", target, res.Status(), res.Body, p.logs)
		}
		got := up.Requests()[before]
		if got.Target() != "/x" {
			t.Errorf("%s became %s", target, got.Target())
		}
		if v := got.Values("X-Custom-Key"); len(v) != 1 || v[0] != "fake-upstream-key" || len(got.Values("Authorization")) > 0 {
			t.Errorf("%s: fields %v", target, got.Fields)
		}
	}
}

// TestQuerySettings: parameters are added where the client gave none.
func TestQuerySettings(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.Answer(plainAnswer))
	p := start(t, up.URL()+"/o?base=1", func(_ *proxy.Config, u *proxy.Upstream) {
		u.Query = map[string]string{"api-version": "2024-10-21", "b c": "d&e"}
	})
	for target, want := range map[string]string{
		"/v1/x":                           "/o/x?base=1&api-version=2024-10-21&b+c=d%26e",
		"/v1/x?":                          "/o/x?base=1&api-version=2024-10-21&b+c=d%26e",
		"/v1/x?q=1":                       "/o/x?base=1&q=1&api-version=2024-10-21&b+c=d%26e",
		"/v1/x?api%2Dversion=mine":        "/o/x?base=1&api%2Dversion=mine&b+c=d%26e",
		"/v1/x?q=1;api-version=mine&b+c=": "/o/x?base=1&q=1;api-version=mine&b+c=",
	} {
		before := len(up.Requests())
		call(t, p.addr, get(target))
		if got := up.Requests()[before].Target(); got != want {
			t.Errorf("%s became %s, want %s", target, got, want)
		}
	}
}

func TestCredentialErrors(t *testing.T) {
	t.Parallel()
	secret := func(name, value string) map[string]record.Secret {
		return map[string]record.Secret{name: record.NewSecret(value)}
	}
	for name, c := range map[string]struct {
		change func(u *proxy.Upstream)
		want   string
	}{
		"also set":       {func(u *proxy.Upstream) { u.SetHeaders = secret("authorization", "Bearer fake-other") }, "key: set_headers and remove_headers name Authorization too"},
		"also set, own":  {func(u *proxy.Upstream) { u.KeyHeader, u.SetHeaders = "x-own", secret("X-Own", "fake-other") }, "name X-Own too"},
		"also removed":   {func(u *proxy.Upstream) { u.RemoveHeaders = []string{"api-key"} }, "name Api-Key too"},
		"two lines":      {func(u *proxy.Upstream) { u.Key = record.NewSecret("fake-key\nfake-other") }, "upstreams.test.key: must be one word"},
		"with scheme":    {func(u *proxy.Upstream) { u.Key = record.NewSecret("Bearer fake-key") }, "upstreams.test.key: must be one word"},
		"header":         {func(u *proxy.Upstream) { u.KeyHeader = "x: y" }, "upstreams.test.key_header"},
		"set twice":      {func(u *proxy.Upstream) { u.SetHeaders = map[string]record.Secret{"x-a": {}, "X-A": {}} }, "is there twice"},
		"set two lines":  {func(u *proxy.Upstream) { u.SetHeaders = secret("x-a", "fake-key\r\nx: y") }, "upstreams.test.set_headers.x-a"},
		"set not a name": {func(u *proxy.Upstream) { u.SetHeaders = secret("x/a", "b") }, "upstreams.test.set_headers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := config("http://127.0.0.1:1", func(_ *proxy.Config, u *proxy.Upstream) {
				u.Key = record.NewSecret("fake-upstream-key")
				c.change(u)
			}).Validate()
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "fake-") {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestWithUpstream: the address and the key of the environment.
func TestWithUpstream(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
	c := proxy.DefaultConfig().WithUpstream(up.URL(), "fake-upstream-key")
	c.AllowedHosts = []string{"proxy.test"}
	p := startWith(t, c, nil)
	call(t, p.addr, post("{}"))
	if got := up.Requests()[0]; got.Target() != "/v1/chat/completions" || got.Values("Authorization")[0] != "Bearer fake-upstream-key" {
		t.Errorf("got %+v", got)
	}
	var none proxy.Config
	if err := proxy.Check(proxy.DefaultConfig().WithUpstream("", "fake-upstream-key")); err != nil {
		t.Error(err)
	}
	if u := none.WithUpstream("http://h", "").Upstreams["default"]; u.Prefix != "/v1" || !u.Key.IsZero() {
		t.Errorf("without any: %+v", u)
	}
}
