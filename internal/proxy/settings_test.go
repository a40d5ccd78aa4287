package proxy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

// TestTargets: what becomes of a path for each form of prefix and base URL.
func TestTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, base, target, want string }{
		{"/v1", "", "/v1/chat/completions", "/v1/chat/completions"},
		{"/v1", "/", "/v1/models", "/v1/models"},
		{"/v1", "/v1", "/v1/models?a=b", "/v1/models?a=b"},
		{"/v1", "/v1/", "/v1/models", "/v1/models"},
		{"/v1", "/api/v1", "/v1", "/api/v1"},
		{"/v1", "/a%2Fb", "/v1/x", "/a%2Fb/x"},
		{"/v1beta", "", "/v1beta/m:generate?key=k", "/v1beta/m:generate?key=k"},
		{"/anthropic", "", "/anthropic/v1/messages", "/v1/messages"},
		{"/anthropic", "", "/anthropic", "/"},
		{"/anthropic", "", "/anthropic?x", "/?x"},
		{"/anthropic", "", "/anthropic//x/y", "//x/y"},
		{"/anthropic", "", "/anthropic//x%2Fy?a;b", "//x%2Fy?a;b"},
		{"/openrouter/v1", "/api/v1", "/openrouter/v1/models", "/api/v1/models"},
		{"/local/v1", "", "/local/v1/models", "/v1/models"},
		{"/azure", "/openai?api-version=1", "/azure/x?b=%zz", "/openai/x?api-version=1&b=%zz"},
		{"/azure", "/openai?api-version=1", "/azure/x", "/openai/x?api-version=1"},
	} {
		t.Run(c.target, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
			p := start(t, up.URL()+c.base, func(_ *proxy.Config, u *proxy.Upstream) { u.Prefix = c.prefix })
			if res := call(t, p.addr, get(c.target)); res.Status() != 200 {
				t.Fatalf("got %d %s", res.Status(), res.Body)
			}
			if got := up.Requests()[0].Target(); got != c.want {
				t.Errorf("target %s, want %s", got, c.want)
			}
		})
	}
}

// TestDoubleSlashWithoutBasePath: a target that Go would take for an authority
// goes upstream in absolute form if nothing else keeps its bytes.
func TestDoubleSlashWithoutBasePath(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
	p := start(t, up.URL(), func(_ *proxy.Config, u *proxy.Upstream) { u.Prefix = "/model" })
	call(t, p.addr, get("/model//caf\u00e9|"))
	if got, want := up.Requests()[0].Target(), up.URL()+"//caf\u00e9|"; got != want {
		t.Errorf("target %s, want %s", got, want)
	}
}

func TestAbsoluteFormAndLongestPrefix(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.Answer(plainAnswer))
	c := config(up.URL()+"/short", nil)
	long := c.Upstreams["test"]
	long.Prefix, long.BaseURL = "/v1/special", up.URL()+"/long"
	c.Upstreams["long"] = long
	p := startWith(t, c, nil)
	for target, want := range map[string]string{
		"http://proxy.test/v1/a?b":     "/short/a?b",
		"/v1/special/a":                "/long/a",
		"/v1/specials":                 "/short/specials",
		"http://proxy.test/v1/special": "/long",
	} {
		before := len(up.Requests())
		call(t, p.addr, get(target))
		if got := up.Requests()[before].Target(); got != want {
			t.Errorf("%s: target %s, want %s", target, got, want)
		}
	}
}

func TestHeaderSettings(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
	p := start(t, up.URL(), func(c *proxy.Config, u *proxy.Upstream) {
		u.SetHeaders = map[string]record.Secret{"authorization": record.NewSecret("Bearer fake-route-key"), "X-New": record.NewSecret("n")}
		u.RemoveHeaders = []string{"x-drop"}
	})
	res := call(t, p.addr, post("{}", "Authorization: Bearer fake-client", "X-Drop: 1", "X-Keep: 2", "Docket-Tags: a", "docket-metadata-x: y", "Docket-Anything: z"))
	if res.Status() != 200 {
		t.Fatalf("got %d", res.Status())
	}
	r := up.Requests()[0]
	got := map[string][]string{}
	for _, f := range r.Fields {
		name := strings.ToLower(f.Name)
		if strings.HasPrefix(name, "docket") || strings.HasPrefix(name, "x-") || name == "authorization" || name == "host" {
			got[name] = append(got[name], f.Value)
		}
	}
	want := map[string][]string{"authorization": {"Bearer fake-route-key"}, "x-new": {"n"}, "x-keep": {"2"}, "host": {up.Addr()}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestHopByHopFields(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(answer("200 OK\r\nConnection: X-Hop-Answer\r\nX-Hop-Answer: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nContent-Length: 0", "")))
	p := start(t, up.URL(), nil)
	res := call(t, p.addr, get("/v1/x", "Connection: keep-alive, X-Hop, X-Forwarded-For", "X-Hop: 1", "X-Forwarded-For: 1.2.3.4", "Keep-Alive: timeout=5",
		"Proxy-Authorization: Basic ZmFrZTpmYWtl", "Proxy-Connection: close", "TE: gzip, trailers"))
	r := up.Requests()[0]
	for _, name := range []string{"X-Hop", "X-Forwarded-For", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Connection"} {
		if v := r.Values(name); len(v) > 0 {
			t.Errorf("%s went upstream: %q", name, v)
		}
	}
	if te := r.Values("TE"); len(te) != 1 || te[0] != "trailers" {
		t.Errorf("TE %q", te)
	}
	for _, name := range []string{"X-Hop-Answer", "Keep-Alive", "Proxy-Authenticate"} {
		if v := res.Values(name); len(v) > 0 {
			t.Errorf("%s reached the client: %q", name, v)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	if err := proxy.DefaultConfig().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*proxy.Config, *proxy.Upstream)
		want   string
	}{
		"no port":            {func(c *proxy.Config, _ *proxy.Upstream) { c.Listen = "localhost" }, "listen"},
		"all interfaces":     {func(c *proxy.Config, _ *proxy.Upstream) { c.Listen = ":8080" }, "allow_remote"},
		"other machines":     {func(c *proxy.Config, _ *proxy.Upstream) { c.Listen = "10.0.0.1:8080" }, "allow_remote"},
		"ops":                {func(c *proxy.Config, _ *proxy.Upstream) { c.OpsListen = "0.0.0.0:1" }, "ops_listen"},
		"origin":             {func(c *proxy.Config, _ *proxy.Upstream) { c.AllowedOrigins = []string{"localhost:3000"} }, "allowed_origins"},
		"propagate":          {func(c *proxy.Config, _ *proxy.Upstream) { c.Propagate = "yes" }, "on or off"},
		"abort":              {func(c *proxy.Config, _ *proxy.Upstream) { c.OnClientAbort = "stop" }, "cancel or drain"},
		"head":               {func(c *proxy.Config, _ *proxy.Upstream) { c.MaxHeaderBytes = 1 }, "max_header_bytes"},
		"HTTP version":       {func(_ *proxy.Config, u *proxy.Upstream) { u.HTTPVersion = "3" }, "upstreams.test.http_version"},
		"url":                {func(c *proxy.Config, _ *proxy.Upstream) { c.MaxURLBytes = 1 }, "max_url_bytes"},
		"key without cert":   {func(c *proxy.Config, _ *proxy.Upstream) { c.TLSKey = "key.pem" }, "tls_cert, tls_key"},
		"cert without key":   {func(c *proxy.Config, _ *proxy.Upstream) { c.TLSCert = "cert.pem" }, "tls_cert, tls_key"},
		"idle connections":   {func(c *proxy.Config, _ *proxy.Upstream) { c.MaxIdlePerHost = 0 }, "max_idle_per_host"},
		"negative":           {func(c *proxy.Config, _ *proxy.Upstream) { c.IdleTimeout = -time.Second }, "idle_timeout"},
		"prefix":             {func(_ *proxy.Config, u *proxy.Upstream) { u.Prefix = "v1" }, "upstreams.test.prefix"},
		"prefix of all":      {func(_ *proxy.Config, u *proxy.Upstream) { u.Prefix = "/" }, "upstreams.test.prefix"},
		"base":               {func(_ *proxy.Config, u *proxy.Upstream) { u.BaseURL = "localhost:1" }, "upstreams.test.base_url"},
		"password in base":   {func(_ *proxy.Config, u *proxy.Upstream) { u.BaseURL = "http://u:fake-pw@host" }, "upstreams.test.base_url"},
		"capture":            {func(_ *proxy.Config, u *proxy.Upstream) { u.Capture = "some" }, "upstreams.test.capture"},
		"field name":         {func(_ *proxy.Config, u *proxy.Upstream) { u.RemoveHeaders = []string{"a b"} }, "remove_headers"},
		"negative time-outs": {func(_ *proxy.Config, u *proxy.Upstream) { u.Timeouts.Idle = -1 }, "upstreams.test.timeouts.idle: -1ns"},
		"length of a body": {func(_ *proxy.Config, u *proxy.Upstream) {
			u.SetHeaders = map[string]record.Secret{"content-length": record.NewSecret("1")}
		}, "upstreams.test.set_headers: \"content-length\""},
		"host removed": {func(_ *proxy.Config, u *proxy.Upstream) { u.RemoveHeaders = []string{"HOST"} }, "upstreams.test.remove_headers: \"HOST\""},
		"key in the host": {func(_ *proxy.Config, u *proxy.Upstream) {
			u.Key, u.KeyHeader = record.NewSecret("fake-key"), "host"
		}, "upstreams.test.key_header: \"host\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := config("http://127.0.0.1:1", c.change).Validate()
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "fake-pw") {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
	remote := config("http://127.0.0.1:1", func(c *proxy.Config, _ *proxy.Upstream) { c.Listen, c.AllowRemote = ":8080", true })
	if err := remote.Validate(); err != nil {
		t.Errorf("allow_remote: %v", err)
	}
	twice := config("http://127.0.0.1:1", nil)
	twice.Upstreams["other"] = twice.Upstreams["test"]
	if err := twice.Validate(); err == nil {
		t.Error("one prefix for two upstreams is accepted")
	}
}

// TestSetFieldsInRecords: what the settings send upstream is masked where it is
// repeated, unless the field is one that never holds a credential.
func TestSetFieldsInRecords(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
		if _, err := u.ReadRequest(); err == nil {
			_ = u.Send(answer("200 OK\r\nContent-Length: 28", "Support, fake-key-1 and more"))
		}
	})
	r := startRecorded(t, config(up.URL(), func(_ *proxy.Config, u *proxy.Upstream) {
		u.SetHeaders = map[string]record.Secret{"X-Title": record.NewSecret("Support"), "X-Odd": record.NewSecret("fake-key-1")}
	}))
	if res := call(t, r.addr, post("{}")); string(res.Body) != "Support, fake-key-1 and more" {
		t.Errorf("got %q", res.Body)
	}
	if got := string(r.rows(t, 1).Bodies[0].Response); got != "Support, *** and more" {
		t.Errorf("recorded %q", got)
	}
}
