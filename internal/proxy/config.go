package proxy

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"docket/internal/record"
)

// Values of Config.Propagate and Config.OnClientAbort.
const (
	PropagateOn  = "on"
	PropagateOff = "off"

	AbortCancel = "cancel"
	AbortDrain  = "drain"
)

// DefaultPrefix is the prefix of the upstream that DOCKET_UPSTREAM names.
const DefaultPrefix = "/v1"

// Config is the proxy section of the settings.
type Config struct {
	Listen         string   `yaml:"listen" doc:"address that clients call"`
	OpsListen      string   `yaml:"ops_listen" doc:"address of /livez, /readyz and /metrics; empty for none"`
	AllowRemote    bool     `yaml:"allow_remote" doc:"allow addresses that other machines can reach; the proxy asks for no key of its own"`
	AllowedHosts   []string `yaml:"allowed_hosts" doc:"host names that requests may carry besides localhost and loopback addresses"`
	AllowedOrigins []string `yaml:"allowed_origins" doc:"origins whose pages may call the proxy from a browser, such as http://localhost:3000"`

	Upstreams map[string]Upstream `yaml:"upstreams" doc:"where calls go, by name"`

	Propagate         string   `yaml:"propagate" doc:"on sends our traceparent upstream; off leaves the client's headers as they are"`
	KeepBaggage       []string `yaml:"keep_baggage" doc:"members of the W3C baggage header that are recorded"`
	InferenceIDHeader bool     `yaml:"inference_id_header" doc:"add Docket-Inference-Id to answers"`

	OnClientAbort   string          `yaml:"on_client_abort" doc:"when the client leaves: cancel the call, or drain it for the record"`
	AbortDrainTime  time.Duration   `yaml:"abort_drain_time" doc:"how long a drained call may go on"`
	AbortDrainBytes record.ByteSize `yaml:"abort_drain_bytes" doc:"how much a drained call may still receive"`

	MaxHeaderBytes    record.ByteSize `yaml:"max_header_bytes" doc:"limit of a request's head"`
	ReadHeaderTimeout time.Duration   `yaml:"read_header_timeout" doc:"how long a client may take to send a request's head"`
	IdleTimeout       time.Duration   `yaml:"idle_timeout" doc:"how long a client's connection may be idle between calls"`
	ShutdownTimeout   time.Duration   `yaml:"shutdown_timeout" doc:"how long running calls may go on after a stop is asked for"`
	MaxIdlePerHost    int             `yaml:"max_idle_per_host" doc:"idle connections kept to each upstream"`
}

// Upstream is one place to send calls to.
type Upstream struct {
	Prefix   string `yaml:"prefix" doc:"path prefix of its calls; it is replaced by the path of base_url"`
	BaseURL  string `yaml:"base_url" doc:"http or https URL; without a path, a version at the end of the prefix (v1) is kept"`
	API      string `yaml:"api" doc:"wire format hint: openai, anthropic, ollama; empty to tell from the path"`
	Provider string `yaml:"provider" doc:"gen_ai.provider.name; empty to tell from the API"`
	Capture  string `yaml:"capture" doc:"full, metadata or off; empty for capture.level"`

	SetHeaders    map[string]record.Secret `yaml:"set_headers" doc:"fields that are set on each call, such as a key"`
	RemoveHeaders []string                 `yaml:"remove_headers" doc:"fields that are removed from each call"`
	CAFile        string                   `yaml:"ca_file" doc:"PEM file of certificates to trust besides the system's"`

	Timeouts Timeouts `yaml:"timeouts"`
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
	u.Timeouts = Timeouts{Connect: 10 * time.Second, Header: 30 * time.Minute, FirstByte: 10 * time.Minute, Idle: 10 * time.Minute}
}

// DefaultConfig forwards /v1 to OpenAI.
func DefaultConfig() Config {
	openai := Upstream{Prefix: DefaultPrefix, BaseURL: "https://api.openai.com/v1", API: "openai"}
	openai.SetDefaults()
	return Config{
		Listen:            "127.0.0.1:8080",
		OpsListen:         "127.0.0.1:8082",
		Upstreams:         map[string]Upstream{"openai": openai},
		Propagate:         PropagateOn,
		OnClientAbort:     AbortCancel,
		AbortDrainTime:    time.Minute,
		AbortDrainBytes:   16 * record.MiB,
		MaxHeaderBytes:    record.MiB,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       10 * time.Minute,
		ShutdownTimeout:   15 * time.Second,
		MaxIdlePerHost:    1024,
	}
}

// WithUpstream sends DefaultPrefix to base. What else is set for that prefix
// stays.
func (c Config) WithUpstream(base string) Config {
	c.Upstreams = maps.Clone(c.Upstreams)
	if c.Upstreams == nil {
		c.Upstreams = map[string]Upstream{}
	}
	for name, u := range c.Upstreams {
		if u.Prefix == DefaultPrefix {
			u.BaseURL = base
			c.Upstreams[name] = u
			return c
		}
	}
	u := Upstream{Prefix: DefaultPrefix, BaseURL: base, API: "openai"}
	u.SetDefaults()
	c.Upstreams["default"] = u
	return c
}

// Validate says which setting is wrong and what is allowed.
func (c Config) Validate() error {
	if err := listenable("listen", c.Listen, c.AllowRemote); err != nil {
		return err
	}
	if c.OpsListen != "" {
		if err := listenable("ops_listen", c.OpsListen, c.AllowRemote); err != nil {
			return err
		}
	}
	for _, o := range c.AllowedOrigins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" {
			return fmt.Errorf("allowed_origins: %q: must be SCHEME://HOST[:PORT]", o)
		}
	}
	if c.Propagate != PropagateOn && c.Propagate != PropagateOff {
		return fmt.Errorf("propagate: %q: must be on or off", c.Propagate)
	}
	if c.OnClientAbort != AbortCancel && c.OnClientAbort != AbortDrain {
		return fmt.Errorf("on_client_abort: %q: must be cancel or drain", c.OnClientAbort)
	}
	if c.MaxHeaderBytes < 4*record.KiB || c.MaxHeaderBytes > 64*record.MiB {
		return fmt.Errorf("max_header_bytes: %s: must be 4KiB to 64MiB", c.MaxHeaderBytes)
	}
	if c.MaxIdlePerHost < 1 || c.MaxIdlePerHost > 1_000_000 {
		return fmt.Errorf("max_idle_per_host: %d: must be 1 to 1000000", c.MaxIdlePerHost)
	}
	for key, d := range map[string]time.Duration{
		"abort_drain_time": c.AbortDrainTime, "read_header_timeout": c.ReadHeaderTimeout,
		"idle_timeout": c.IdleTimeout, "shutdown_timeout": c.ShutdownTimeout,
	} {
		if d < 0 {
			return fmt.Errorf("%s: %s: must be 0s or more", key, d)
		}
	}
	return c.validateUpstreams()
}

func (c Config) validateUpstreams() error {
	prefixes := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u := c.Upstreams[name]
		if err := u.validate(); err != nil {
			return fmt.Errorf("upstreams.%s.%w", name, err)
		}
		if other, ok := prefixes[u.Prefix]; ok {
			return fmt.Errorf("upstreams.%s.prefix: %q: is the prefix of upstreams.%s already", name, u.Prefix, other)
		}
		prefixes[u.Prefix] = name
	}
	return nil
}

func (u Upstream) validate() error {
	if !strings.HasPrefix(u.Prefix, "/") || len(u.Prefix) < 2 || strings.HasSuffix(u.Prefix, "/") || strings.ContainsAny(u.Prefix, "?#% \t") {
		return fmt.Errorf("prefix: %q: must be a path such as /v1, without a slash at its end", u.Prefix)
	}
	// The error must not show the URL: it may hold a password or a key.
	base, err := url.Parse(u.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" || base.Fragment != "" || base.User != nil {
		return fmt.Errorf("base_url: must be a URL such as https://api.openai.com/v1, with http or https and a host, without user, password and fragment")
	}
	if !slices.Contains([]string{"", record.CaptureFull, record.CaptureMetadata, record.CaptureOff}, u.Capture) {
		return fmt.Errorf("capture: %q: must be full, metadata, off or empty", u.Capture)
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(u.SetHeaders)), u.RemoveHeaders) {
		if name == "" || strings.ContainsAny(name, " :\t\r\n") {
			return fmt.Errorf("set_headers, remove_headers: %q: must be a field name", name)
		}
	}
	t := u.Timeouts
	if min(t.Connect, t.Header, t.FirstByte, t.Idle) < 0 {
		return fmt.Errorf("timeouts: must be 0s (no limit) or more")
	}
	return nil
}

// listenable refuses an address that other machines can reach unless that is
// allowed.
func listenable(key, addr string, remote bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s: %q: must be HOST:PORT, such as 127.0.0.1:8080", key, addr)
	}
	if !remote && !isLoopback(host) {
		return fmt.Errorf("%s: %q can be reached from other machines: listen on 127.0.0.1, or set proxy.allow_remote: true", key, addr)
	}
	return nil
}

func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
