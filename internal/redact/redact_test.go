package redact_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"docket/internal/redact"
)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestMask(t *testing.T) {
	h := header(
		"Authorization", "Bearer fake-bearer-1111",
		"X-Api-Key", `fake"key/2222+3`,
		"Api-Key", "fake-azure-3333",
		"X-Goog-Api-Key", "fake-goog-4444",
		"Cookie", "session=fake-cookie-5555; theme=dark",
		"Proxy-Authorization", "Basic ZmFrZXVzZXI6ZmFrZXBhc3M=",
		"Openai-Organization", "org-visible",
		"Idempotency-Key", "idem-visible",
	)
	s := redact.NewSecrets(h, url.Values{"key": {"fake-query-6666"}, "model": {"visible-model"}})
	tests := map[string]struct{ in, want string }{
		"nothing":          {"a quiet text", "a quiet text"},
		"bearer":           {"Incorrect API key provided: fake-bearer-1111.", "Incorrect API key provided: ***."},
		"with scheme":      {"Bearer fake-bearer-1111", "Bearer ***"},
		"json escaped":     {`{"m":"key fake\"key/2222+3"}`, `{"m":"key ***"}`},
		"slash escaped":    {`{"m":"fake\"key\/2222+3 and fake-goog-4444"}`, `{"m":"*** and ***"}`},
		"url escaped":      {"GET /?k=fake%22key%2F2222%2B3", "GET /?k=***"},
		"cookie value":     {"session was fake-cookie-5555", "session was ***"},
		"short cookie":     {"dark theme", "dark theme"},
		"basic":            {"ZmFrZXVzZXI6ZmFrZXBhc3M= is fakepass", "*** is ***"},
		"query":            {"fake-query-6666", "***"},
		"visible":          {"org-visible idem-visible visible-model", "org-visible idem-visible visible-model"},
		"twice":            {"fake-goog-4444fake-goog-4444", "******"},
		"inside long text": {strings.Repeat("x", 1000) + "fake-azure-3333", strings.Repeat("x", 1000) + "***"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := []byte(tt.in)
			got, found := s.Mask(in)
			if string(got) != tt.want || found != (tt.in != tt.want) {
				t.Errorf("Mask(%q) = %q, %v; want %q", tt.in, got, found, tt.want)
			}
			if string(in) != tt.in {
				t.Errorf("input was changed to %q", in)
			}
			if !found && len(in) > 0 && &got[0] != &in[0] {
				t.Error("a copy was returned although nothing was found")
			}
			if s := s.MaskString(tt.in); s != tt.want {
				t.Errorf("MaskString = %q", s)
			}
		})
	}
}

// TestMaskSessionIDs: only a session is let through, and only where it is listed.
func TestMaskSessionIDs(t *testing.T) {
	h := header("X-Session-Id", "fake-listed-1", "X-Session-Token", "fake-token-2", "Session", "fake-other-3", "X-Meta-Session", "fake-prefix-4")
	s := redact.NewSecrets(h, nil, "x-session-id", "x-session-token", "x-meta-*")
	got := s.MaskString("fake-listed-1 fake-token-2 fake-other-3 fake-prefix-4")
	if want := "fake-listed-1 *** *** fake-prefix-4"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMaskKeepsJSON: what stands in an escape is masked with the whole escape,
// and a backslash that is itself escaped begins none.
func TestMaskKeepsJSON(t *testing.T) {
	for secret, tests := range map[string]map[string]string{
		"fake-key-1": {
			`{"m":"C:\\u12fake-key-1"}`:  `{"m":"C:\\u12***"}`,
			`{"m":"C:\\\u12fake-key-1"}`: `{"m":"C:\\***"}`, // u and the f of fake are hex digits
			`{"m":"line\fake-key-1"}`:    `{"m":"line***"}`,
			`{"m":"line\\fake-key-1"}`:   `{"m":"line\\***"}`,
		},
		"00e9fake-key-2": {`{"m":"caf\u00e9fake-key-2"}`: `{"m":"caf***"}`},
	} {
		s := redact.NewSecretValues(secret)
		for in, want := range tests {
			if got := s.MaskString(in); got != want {
				t.Errorf("Mask(%s) = %s, want %s", in, got, want)
			}
		}
	}
}

func TestMaskLongestFirst(t *testing.T) {
	s := redact.NewSecretValues("fake-key", "fake-key-extended")
	if got, _ := s.Mask([]byte("fake-key-extended fake-key")); string(got) != "*** ***" {
		t.Errorf("got %q", got)
	}
}

func TestMaskPlaceholders(t *testing.T) {
	s := redact.NewSecrets(header("Authorization", "Bearer ollama", "X-Api-Key", "abc"), nil)
	if got, found := s.Mask([]byte("run ollama abc")); found {
		t.Errorf("got %q", got)
	}
}

func TestMaskEncoders(t *testing.T) {
	s := redact.NewSecretValues("fake<a>+b/c=='x")
	for _, in := range []string{`fake\u003ca\u003e+b/c=='x`, `fake\u003Ca\u003E\u002Bb/c==\u0027x`, `fake<a>+b\/c=='x`, `fake%3Ca%3E%2Bb%2Fc%3D%3D%27x`, `fake%3ca%3e%2bb%2fc%3d%3d%27x`} {
		if got, _ := s.Mask([]byte(in)); string(got) != redact.Mask {
			t.Errorf("%s became %s", in, got)
		}
	}
}

func TestNilSecrets(t *testing.T) {
	var s *redact.Secrets
	if got, found := s.Mask([]byte("a")); found || string(got) != "a" {
		t.Errorf("got %q, %v", got, found)
	}
	if got := s.Error(errors.New("x")); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestMaskAll(t *testing.T) {
	s := redact.NewSecretValues("fake-secret")
	in := map[string]string{"a": "1", "b": "is fake-secret"}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "is ***"}, s.MaskAll(in)); diff != "" {
		t.Error(diff)
	}
	if in["b"] != "is fake-secret" {
		t.Error("input was changed")
	}
}

func TestCleanQuery(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"empty":          {"", ""},
		"no secret":      {"a=1&b=%20&c", "a=1&b=%20&c"},
		"google key":     {"key=fake-1&alt=sse", "key=***&alt=sse"},
		"escaped name":   {"%6Bey=fake-1", "%6Bey=***"},
		"many names":     {"api_key=f&apiKey=f&access_token=f&X-Amz-Signature=f&sig=f&api-version=2", "api_key=***&apiKey=***&access_token=***&X-Amz-Signature=***&sig=***&api-version=2"},
		"not a token":    {"max_tokens=5&keyword=cat&design=2", "max_tokens=5&keyword=cat&design=2"},
		"repeated":       {"key=a&key=b", "key=***&key=***"},
		"semicolons":     {"a=1;key=fake-1", "a=1&key=***"},
		"broken escapes": {"key=%zz&%zz=1", "key=***&%zz=1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := redact.CleanQuery(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAllowedHeaders(t *testing.T) {
	h := header("Content-Type", "application/json", "Authorization", "Bearer fake-1", "X-Api-Key", "fake-2", "X-Ratelimit-Remaining-Requests", "0",
		"X-Request-Id", "req_1", "X-Custom", "a", "X-Custom", "b", "X-Team-Auth-Token", "fake-3", "X-Team-Name", "blue", "X-Forwarded-For", "10.0.0.1", "Set-Cookie", "a=fake-4")
	want := map[string]string{"content-type": "application/json", "x-ratelimit-remaining-requests": "0", "x-request-id": "req_1", "x-custom": "a, b", "x-team-name": "blue"}
	if diff := cmp.Diff(want, redact.AllowedHeaders(h, []string{"x-custom", "x-team-*"})); diff != "" {
		t.Error(diff)
	}
}

func TestErrorText(t *testing.T) {
	s := redact.NewSecrets(header("Authorization", "Bearer fake-bearer-1"), url.Values{"key": {"fake-query-1"}})
	err := &url.Error{Op: "Post", URL: "https://user:fakepass@api.example:443/v1beta/models/g:generateContent?key=fake-query-1&alt=sse", Err: errors.New("dial tcp: connection refused (token fake-bearer-1)")}
	want := `Post "https://***@api.example:443/v1beta/models/g:generateContent?key=***&alt=sse": dial tcp: connection refused (token ***)`
	if got := s.Error(err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestScrubURLs(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"none":        {"no address: here", "no address: here"},
		"plain":       {"see https://a.example/b?c=1#d.", "see https://a.example/b?c=1#d."},
		"two":         {"http://u@a/ and wss://b/?token=x end", "http://***@a/ and wss://b/?token=*** end"},
		"at in path":  {"https://a/@b", "https://a/@b"},
		"fragment":    {"https://a/?key=1#k", "https://a/?key=***#k"},
		"ends in it":  {"https://", "https://"},
		"clickhouse":  {"clickhouse://default:fake@h:9000/db: refused", "clickhouse://***@h:9000/db: refused"},
		"query first": {"https://a?key=1", "https://a?key=***"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := redact.ScrubURLs(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzMask: whatever the secret, none of it is left, and JSON stays JSON.
func FuzzMask(f *testing.F) {
	f.Add("fake-secret", "before ", " after")
	f.Add("fä\"ke/\\secret", "", "x")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		secret = strings.TrimSpace(secret)
		if len(secret) < 6 || strings.Contains(redact.Mask, secret) || strings.ToValidUTF8(secret, "") != secret {
			return
		}
		s := redact.NewSecretValues(secret)
		plain, _ := s.Mask([]byte(before + secret + after))
		if strings.Contains(strings.ReplaceAll(string(plain), redact.Mask, ""), secret) && !strings.Contains(before+after, secret[:1]) {
			t.Errorf("%q left in %q", secret, plain)
		}
		doc, err := json.Marshal(map[string]string{"m": before + secret + after})
		if err != nil {
			t.Fatal(err)
		}
		masked, found := s.Mask(doc)
		if !found || !json.Valid(masked) && !strings.ContainsAny(secret, `"\`) {
			t.Errorf("%s became %s", doc, masked)
		}
	})
}

// TestWithin puts a secret at every place around the ends of the window.
func TestWithin(t *testing.T) {
	const key = "fake-key-0123456789"
	s := redact.NewSecretValues(key, "another-secret-that-is-longer-than-the-key")
	for _, size := range []int{0, 1, 32<<10 - 64, 32 << 10, 64 << 10} {
		for shift := range 128 {
			body := strings.Repeat("x", size+shift) + key + strings.Repeat("y", shift)
			if !s.Within(iotest.HalfReader(strings.NewReader(body))) {
				t.Fatalf("not found at %d", size+shift)
			}
			if s.Within(strings.NewReader(strings.Replace(body, "6", "5", 1))) {
				t.Fatalf("found at %d what is not there", size+shift)
			}
		}
	}
	var none *redact.Secrets
	if none.Within(strings.NewReader(key)) || redact.NewSecretValues().Within(strings.NewReader("")) {
		t.Error("found without secrets")
	}
	if s.Within(iotest.ErrReader(io.ErrUnexpectedEOF)) {
		t.Error("found in nothing")
	}
}
