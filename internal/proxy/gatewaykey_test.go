package proxy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

const (
	redKey  = "fake-gateway-key-red"
	blueKey = "fake-gateway-key-blue"
)

// gated has two keys: red has a project and is given as it is, blue as its hash.
func gated(base string, change func(*proxy.Config, *proxy.Upstream)) proxy.Config {
	return config(base, func(c *proxy.Config, u *proxy.Upstream) {
		hash := sha256.Sum256([]byte(blueKey))
		c.Keys = map[string]proxy.GatewayKey{
			"red":  {Key: record.NewSecret(redKey), Project: "team-red"},
			"blue": {SHA256: hex.EncodeToString(hash[:])},
		}
		if change != nil {
			change(c, u)
		}
	})
}

// TestGatewayKeys: where a key is found, what it makes of the call, and that it
// never goes upstream.
func TestGatewayKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query  string
		fields []string
		keyed  bool // the upstream has a key
		want   string
		left   string // of the client's own credentials
	}{
		"bearer":                   {"", []string{"Authorization: Bearer " + redKey}, false, "red", ""},
		"bearer in small letters":  {"", []string{"Authorization: bearer " + redKey}, false, "red", ""},
		"no scheme":                {"", []string{"Authorization: " + blueKey}, false, "blue", ""},
		"x-api-key":                {"", []string{"x-api-key: " + blueKey}, false, "blue", ""},
		"api-key":                  {"", []string{"api-key: " + blueKey}, false, "blue", ""},
		"x-goog-api-key":           {"", []string{"X-Goog-Api-Key: " + blueKey}, false, "blue", ""},
		"parameter":                {"?alt=sse&key=" + blueKey, nil, false, "blue", ""},
		"escaped parameter":        {"?alt=sse&%6Bey=" + strings.ReplaceAll(blueKey, "-", "%2D"), nil, false, "blue", ""},
		"azure's parameter":        {"?alt=sse&api-key=" + blueKey, nil, false, "blue", ""},
		"azure's gateway":          {"", []string{"Ocp-Apim-Subscription-Key: " + blueKey}, false, "blue", ""},
		"subprotocol":              {"", []string{"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key." + redKey}, false, "red", ""},
		"subprotocol, as two":      {"", []string{"Docket-Key: " + redKey, "Sec-WebSocket-Protocol: openai-insecure-api-key." + blueKey}, false, "red", ""},
		"parameter, as two":        {"?alt=sse&access_token=" + blueKey, []string{"Docket-Key: " + redKey}, false, "red", ""},
		"another parameter stays":  {"?alt=sse&api_key=" + blueKey, []string{"X-Api-Key: fake-own"}, false, "blue", "fake-own"},
		"docket-key":               {"", []string{"docket-key: " + redKey}, false, "red", ""},
		"beside the client's own":  {"", []string{"Docket-Key: " + redKey, "Authorization: Bearer fake-own"}, false, "red", "Bearer fake-own"},
		"as two":                   {"", []string{"Docket-Key: " + redKey, "Authorization: Bearer " + blueKey}, false, "red", ""},
		"upstream's key":           {"", []string{"Authorization: Bearer " + redKey}, true, "red", "Bearer fake-upstream-key"},
		"upstream's key, all ways": {"?alt=sse&key=" + blueKey, []string{"Docket-Key: " + redKey, "X-Api-Key: fake-own"}, true, "red", "Bearer fake-upstream-key"},
		"wrong":                    {"", []string{"Authorization: Bearer " + redKey + "x"}, true, "", ""},
		"prefix":                   {"", []string{"Authorization: Bearer " + redKey[:10]}, true, "", ""},
		"empty":                    {"", []string{"Authorization: Bearer "}, true, "", ""},
		"none":                     {"", nil, true, "", ""},
		"hash for a key":           {"", []string{"X-Api-Key: " + hexOf(blueKey)}, true, "", ""},
		"wrong beside a right one": {"", []string{"Docket-Key: fake-wrong", "Authorization: Bearer " + redKey}, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
			r := startRecorded(t, gated(up.URL(), func(_ *proxy.Config, u *proxy.Upstream) {
				if c.keyed {
					u.Key = record.NewSecret("fake-upstream-key")
				}
			}))
			fields := append([]string{"Docket-Project: mine", "Content-Length: 0"}, c.fields...)
			res := call(t, r.addr, line("POST", "/v1/chat/completions"+c.query, fields...))
			if c.want == "" {
				if res.Status() != 401 || len(up.Requests()) > 0 || r.ends() > 0 {
					t.Errorf("got %d, %d calls went upstream, %d are recorded", res.Status(), len(up.Requests()), r.ends())
				}
				return
			}
			if res.Status() != 200 {
				t.Fatalf("got %d %s", res.Status(), res.Body)
			}
			got := up.Requests()[0]
			if strings.Contains(got.First, "fake-gateway") || c.query != "" && got.Target() != "/v1/chat/completions?alt=sse" {
				t.Errorf("target %s", got.Target())
			}
			left := ""
			for _, f := range got.Fields {
				if strings.Contains(f.Value, "fake-") {
					left += f.Value
				}
			}
			if left != c.left {
				t.Errorf("upstream got credentials %q, want %q", left, c.left)
			}
			row := r.rows(t, 1).Inferences[0]
			if want := map[string]string{"red": "team-red", "blue": "mine"}[c.want]; row.Project != want || row.Attributes["docket.key"] != c.want {
				t.Errorf("project %q, attributes %v", row.Project, row.Attributes)
			}
			noSecrets(t, r, redKey, blueKey, "fake-own", "fake-upstream-key")
		})
	}
}

// TestOfferedKeyIsMasked: a key among the subprotocols is one wherever an answer
// repeats it.
func TestOfferedKeyIsMasked(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose("HTTP/1.1 401 Unauthorized\r\nContent-Length: 23\r\n\r\nwrong key: fake-own-key"))
	r := startRecorded(t, config(up.URL(), nil))
	res := call(t, r.addr, get("/v1/realtime", "Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.fake-own-key"))
	if res.Status() != 401 || string(res.Body) != "wrong key: fake-own-key" {
		t.Errorf("got %d %s", res.Status(), res.Body)
	}
	r.rows(t, 1)
	noSecrets(t, r, "fake-own-key")
}

func hexOf(key string) string {
	hash := sha256.Sum256([]byte(key))
	return hex.EncodeToString(hash[:])
}

// TestRefusedShapes: who has no key gets an error that his SDK understands.
func TestRefusedShapes(t *testing.T) {
	t.Parallel()
	c := gated("http://127.0.0.1:1", nil)
	for _, preset := range []string{"anthropic", "gemini", "ollama"} {
		u := proxy.Upstream{Preset: preset}
		u.SetDefaults()
		c.Upstreams[preset] = u
	}
	p := startWith(t, c, nil)
	const message = "this proxy asks for one of its own keys: send it in Docket-Key, or where you send the key of the API"
	openai := `{"error":{"code":"missing_key","message":"` + message + `","param":null,"type":"invalid_request_error"}}`
	anthropic := `{"error":{"message":"` + message + `","type":"authentication_error"},"type":"error"}`
	gemini := `{"error":{"code":401,"message":"` + message + `","status":"UNAUTHENTICATED"}}`
	ollama := `{"error":"` + message + `"}`
	for target, want := range map[string]string{
		"/v1/chat/completions": openai, "/v1/models": openai, "/v1/messages": anthropic, "/nowhere": openai,
		"/anthropic/v1/messages": anthropic, "/anthropic/v1/models": anthropic, "/anthropic/v1/chat/completions": openai,
		"/gemini/v1beta/models/g:generateContent": gemini, "/gemini/v1beta/openai/models": openai, "/gemini/v1beta/models": gemini,
		"/ollama/api/chat": ollama, "/ollama/api/tags": ollama, "/ollama/v1/chat/completions": openai,
	} {
		res := call(t, p.addr, line("POST", target, "Content-Length: 0"))
		if res.Status() != 401 || string(res.Body) != want || !json.Valid(res.Body) || res.Values("WWW-Authenticate")[0] != "Bearer" {
			t.Errorf("%s: got %d %s\nwant %s", target, res.Status(), res.Body, want)
		}
	}
	if n := refusals(t, p, "missing_key"); n != 13 {
		t.Errorf("counted %v", n)
	}
	if res := call(t, p.addr, get("/v1/models", "Docket-Key: "+strings.Repeat("x", 20))); res.Status() != 401 || !strings.Contains(string(res.Body), `"wrong_key"`) {
		t.Errorf("wrong key: got %d %s", res.Status(), res.Body)
	}
	if n := refusals(t, p, "wrong_key"); n != 1 {
		t.Errorf("counted %v", n)
	}
	for target, want := range map[string]int{"/livez": 200, "/livez/x": 401, "*": 401} {
		method := "GET"
		if target == "*" {
			continue // net/http answers it itself
		}
		if res := call(t, p.addr, line(method, target)); res.Status() != want {
			t.Errorf("%s: got %d", target, res.Status())
		}
	}
	preflight := line("OPTIONS", "/v1/models", "Origin: http://localhost:3000", "Access-Control-Request-Method: POST")
	if res := call(t, p.addr, preflight); res.Status() != 401 {
		t.Errorf("a browser that asks beforehand: got %d", res.Status())
	}
	if res := call(t, p.addr, get("/nowhere", "Docket-Key: "+redKey)); res.Status() != 404 {
		t.Errorf("with a key: got %d", res.Status())
	}
}

func refusals(t *testing.T, p *proxied, reason string) float64 {
	t.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "docket_proxy_refused_total" && m.GetLabel()[0].GetValue() == reason {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// TestKeysAllowOtherMachines: with keys the proxy may listen beyond loopback,
// and takes any Host there; what has no keys may not.
func TestKeysAllowOtherMachines(t *testing.T) {
	t.Parallel()
	c := gated("http://127.0.0.1:1", func(c *proxy.Config, _ *proxy.Upstream) { c.Listen, c.AllowedHosts = "0.0.0.0:8080", nil })
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	w := httptest.NewRecorder()
	newServer(t, c, proxy.Options{}).Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://docket.internal/nowhere", nil))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("got %d", w.Code)
	}
	c.OpsListen = "0.0.0.0:8082"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "ops_listen") || !strings.Contains(err.Error(), "allow_remote") {
		t.Errorf("ops: %v", err)
	}
	c.OpsListen, c.Keys = "", nil
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "proxy.keys, or proxy.allow_remote") {
		t.Errorf("without keys: %v", err)
	}
}

func TestGatewayKeyErrors(t *testing.T) {
	t.Parallel()
	for want, k := range map[string]proxy.GatewayKey{
		"keys.bad.key, sha256":              {},
		"keys.bad.key, sha256: one of them": {Key: record.NewSecret("fake-key-of-the-proxy"), SHA256: hexOf("a")},
		"keys.bad.key: must be":             {Key: record.NewSecret("fake-short")},
		"keys.bad.key: must be one word":    {Key: record.NewSecret("fake-key with a space")},
		"keys.bad.sha256":                   {SHA256: "abc"},
		"keys.red: is the key of keys.bad":  {SHA256: hexOf(redKey)},
	} {
		c := gated("http://127.0.0.1:1", nil)
		c.Keys["bad"] = k
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "fake-") {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
