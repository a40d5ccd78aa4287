package proxy

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"docket/internal/record"
)

// Upstream is one place to send calls to.
type Upstream struct {
	Preset   string `yaml:"preset" doc:"a known API, which fills what is not set: see the table of presets"`
	Prefix   string `yaml:"prefix" doc:"path prefix of its calls; it is replaced by the path of base_url"`
	BaseURL  string `yaml:"base_url" doc:"http or https URL; without a path, a version at the end of the prefix (v1) is kept"`
	API      string `yaml:"api" doc:"family of its API: openai, azure, anthropic, gemini, ollama; it tells how the key is sent, and what the path of a call leaves open"`
	Provider string `yaml:"provider" doc:"gen_ai.provider.name; empty to tell from the API"`
	Capture  string `yaml:"capture" doc:"full, metadata or off; empty for capture.level"`

	Key       record.Secret `yaml:"key" doc:"its key, in place of any credential that clients send; without it theirs go through"`
	KeyHeader string        `yaml:"key_header" doc:"field of the key; empty for that of the API: authorization (as Bearer), api-key, x-api-key or x-goog-api-key"`

	SetHeaders    map[string]record.Secret `yaml:"set_headers" doc:"fields that are set on each call"`
	RemoveHeaders []string                 `yaml:"remove_headers" doc:"fields that are removed from each call"`
	Query         map[string]string        `yaml:"query" doc:"query parameters for calls that have none of that name, such as api-version"`

	InjectUsage bool `yaml:"inject_usage" doc:"ask for the usage of streamed chat completions that were asked for without it; the event that answers this is recorded, and kept from the client"`

	HTTPVersion string `yaml:"http_version" doc:"auto (HTTP/2 where an https upstream offers it, else 1.1), 1.1, or 2: always HTTP/2, over http with prior knowledge (h2c)"`

	TLS       UpstreamTLS   `yaml:"tls"`
	HTTPProxy record.Secret `yaml:"http_proxy" doc:"HTTP proxy on the way there: a URL, off, or env (the default): HTTPS_PROXY, HTTP_PROXY and NO_PROXY"`

	Timeouts Timeouts `yaml:"timeouts"`
}

// UpstreamTLS is how an https upstream is spoken to.
type UpstreamTLS struct {
	CAFile             string `yaml:"ca_file" doc:"PEM file of certificates to trust besides the system's"`
	CertFile           string `yaml:"cert_file" doc:"PEM file of the certificate to show to the upstream (mutual TLS)"`
	KeyFile            string `yaml:"key_file" doc:"PEM file of that certificate's private key"`
	ServerName         string `yaml:"server_name" doc:"name to ask for and to verify, when it is not the host of base_url"`
	MinVersion         string `yaml:"min_version" doc:"lowest version of TLS: 1.2 (the default) or 1.3"`
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify" doc:"do not verify its certificate; whoever is on the way can read calls and keys"`
}

// Timeouts are the limits of one call's phases. 0 is no limit. There is no
// limit on the whole.
type Timeouts struct {
	Connect   time.Duration `yaml:"connect" doc:"name lookup, connection and TLS"`
	Header    time.Duration `yaml:"header" doc:"from the request being sent to the head of the answer"`
	FirstByte time.Duration `yaml:"first_byte" doc:"from the head to the first byte of the body"`
	Idle      time.Duration `yaml:"idle" doc:"between two reads of the body, and without progress while sending"`
}

// SetDefaults fills a new upstream before its settings are read.
func (u *Upstream) SetDefaults() {
	u.HTTPVersion = versionAuto
	u.Timeouts = Timeouts{Connect: 10 * time.Second, Header: 30 * time.Minute, FirstByte: 10 * time.Minute, Idle: 10 * time.Minute}
}

func (c Config) validateUpstreams() error {
	prefixes := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u := c.Upstreams[name]
		if err := u.validate(); err != nil {
			return fmt.Errorf("upstreams.%s.%w", name, err)
		}
		u = u.resolved()
		if isOwn(c.Listen, u.BaseURL) {
			return fmt.Errorf("upstreams.%s.base_url: is the address of the proxy itself: calls would never leave it; change it, or proxy.listen", name)
		}
		prefix := u.Prefix
		if other, ok := prefixes[prefix]; ok {
			return fmt.Errorf("upstreams.%s.prefix: %q: is the prefix of upstreams.%s already", name, prefix, other)
		}
		prefixes[prefix] = name
	}
	return nil
}

// isOwn says whether a base URL leads to the address that the proxy listens on.
func isOwn(listen, baseURL string) bool {
	base, err := url.Parse(baseURL)
	host, port, err2 := net.SplitHostPort(listen)
	if err != nil || err2 != nil || base.Port() != port || port == "0" {
		return false
	}
	ip := net.ParseIP(host)
	return host == base.Hostname() || isLoopback(base.Hostname()) && (isLoopback(host) || host == "" || ip != nil && ip.IsUnspecified())
}

func (u Upstream) validate() error {
	if _, ok := presetNamed(u.Preset); !ok && u.Preset != "" {
		return fmt.Errorf("preset: %q: must be one of %s", u.Preset, strings.Join(presetNames(), ", "))
	}
	u = u.resolved()
	if !strings.HasPrefix(u.Prefix, "/") || len(u.Prefix) < 2 || strings.HasSuffix(u.Prefix, "/") || strings.ContainsAny(u.Prefix, "?#% \t") {
		return fmt.Errorf("prefix: %q: must be a path such as /v1, without a slash at its end", u.Prefix)
	}
	if u.Prefix == livePath {
		return fmt.Errorf("prefix: %q: is a path of Docket's own", u.Prefix)
	}
	// The error must not show the URL: it may hold a password or a key.
	base, err := url.Parse(u.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" || base.Fragment != "" || base.User != nil {
		return fmt.Errorf("base_url: must be a URL such as https://api.openai.com/v1, with http or https and a host, without user, password and fragment")
	}
	if !slices.Contains([]string{"", apiOpenAI, apiAzure, apiAnthropic, apiGemini, apiOllama}, u.API) {
		return fmt.Errorf("api: %q: must be openai, azure, anthropic, gemini, ollama or empty", u.API)
	}
	if u.InjectUsage && !slices.Contains([]string{"", apiOpenAI, apiAzure}, u.API) {
		return fmt.Errorf("inject_usage: true: must be false for api %s, which has no such option", u.API)
	}
	if !slices.Contains([]string{"", record.CaptureFull, record.CaptureMetadata, record.CaptureOff}, u.Capture) {
		return fmt.Errorf("capture: %q: must be full, metadata, off or empty", u.Capture)
	}
	if err := validVersion(u.HTTPVersion); err != nil {
		return err
	}
	t := u.Timeouts
	for i, d := range []time.Duration{t.Connect, t.Header, t.FirstByte, t.Idle} {
		if d < 0 {
			return fmt.Errorf("timeouts.%s: %s: must be 0s (no limit) or more", []string{"connect", "header", "first_byte", "idle"}[i], d)
		}
	}
	if err := u.TLS.validate(); err != nil {
		return fmt.Errorf("tls.%w", err)
	}
	if err := validateHTTPProxy(u.HTTPProxy.Reveal()); err != nil {
		return err
	}
	return u.validateHeaders()
}

// validateHeaders checks the fields that are set and removed, and that the key
// is the only credential among them.
func (u Upstream) validateHeaders() error {
	set := map[string]bool{}
	for name, value := range u.SetHeaders {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !isFieldName(name) || isFraming(name):
			return fmt.Errorf("set_headers: %q: %s", name, wantFieldName)
		case set[canonical]:
			return fmt.Errorf("set_headers: %q: is there twice", name)
		case !isFieldValue(value.Reveal()):
			return fmt.Errorf("set_headers.%s: must be one line without spaces around it", name)
		}
		set[canonical] = true
	}
	removed := map[string]bool{}
	for _, name := range u.RemoveHeaders {
		if !isFieldName(name) || isFraming(name) {
			return fmt.Errorf("remove_headers: %q: %s", name, wantFieldName)
		}
		removed[http.CanonicalHeaderKey(name)] = true
	}
	if u.KeyHeader != "" && (!isFieldName(u.KeyHeader) || isFraming(u.KeyHeader)) {
		return fmt.Errorf("key_header: %q: %s", u.KeyHeader, wantFieldName)
	}
	if u.Key.IsZero() {
		if u.KeyHeader != "" {
			return fmt.Errorf("key_header: %q: there is no key", u.KeyHeader)
		}
		return nil
	}
	if key := u.Key.Reveal(); !isFieldValue(key) || strings.Contains(key, " ") {
		return fmt.Errorf("key: must be one word, as it follows Bearer")
	}
	for _, name := range append(credentialFields(), http.CanonicalHeaderKey(u.KeyHeader)) {
		if set[name] || removed[name] {
			return fmt.Errorf("key: set_headers and remove_headers name %s too, which the key replaces", name)
		}
	}
	return nil
}

const wantFieldName = "must be a field name, and not one by which HTTP tells where a request goes and ends, such as Host or Content-Length"

// isFraming says whether a field belongs to the connection, so that setting or
// removing it would do nothing, or break the request.
func isFraming(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Upgrade":
		return true
	}
	return false
}

// isFieldName says whether a name is a token of RFC 9110.
func isFieldName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// isFieldValue says whether net/http sends a value, and as it is.
func isFieldValue(v string) bool {
	return strings.TrimSpace(v) == v && !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
