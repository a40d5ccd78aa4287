package proxy

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
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
	TLSCert        string   `yaml:"tls_cert" doc:"PEM file with the certificate chain that clients are shown; with tls_key the proxy speaks TLS, else plain HTTP"`
	TLSKey         string   `yaml:"tls_key" doc:"PEM file with its private key"`
	OpsListen      string   `yaml:"ops_listen" doc:"address of /livez, /readyz and /metrics; empty for none"`
	AllowRemote    bool     `yaml:"allow_remote" doc:"allow addresses that other machines can reach without keys, and for ops_listen"`
	AllowedHosts   []string `yaml:"allowed_hosts" doc:"host names that requests may carry besides localhost and loopback addresses"`
	AllowedOrigins []string `yaml:"allowed_origins" doc:"origins whose pages may call the proxy from a browser, such as http://localhost:3000"`

	Keys      map[string]GatewayKey `yaml:"keys" doc:"gateway keys, by name: with them clients must show one"`
	Upstreams map[string]Upstream   `yaml:"upstreams" doc:"where calls go, by name"`

	Propagate         string   `yaml:"propagate" doc:"on sends our traceparent upstream; off leaves the client's headers as they are"`
	KeepBaggage       []string `yaml:"keep_baggage" doc:"members of the W3C baggage header that are recorded"`
	InferenceIDHeader bool     `yaml:"inference_id_header" doc:"add Docket-Inference-Id to answers"`

	OnClientAbort   string          `yaml:"on_client_abort" doc:"when the client leaves: cancel the call, or drain it for the record"`
	AbortDrainTime  time.Duration   `yaml:"abort_drain_time" doc:"how long a drained call may go on"`
	AbortDrainBytes record.ByteSize `yaml:"abort_drain_bytes" doc:"how much a drained call may still receive"`

	MaxHeaderBytes    record.ByteSize `yaml:"max_header_bytes" doc:"limit of a request's head"`
	MaxURLBytes       record.ByteSize `yaml:"max_url_bytes" doc:"limit of a request's path and query together"`
	ReadHeaderTimeout time.Duration   `yaml:"read_header_timeout" doc:"how long a client may take to send a request's head"`
	IdleTimeout       time.Duration   `yaml:"idle_timeout" doc:"how long a client's connection may be idle between calls"`
	ShutdownTimeout   time.Duration   `yaml:"shutdown_timeout" doc:"how long running calls may go on after a stop is asked for"`
	MaxIdlePerHost    int             `yaml:"max_idle_per_host" doc:"idle connections kept to each upstream"`
}

// DefaultConfig forwards /v1 to OpenAI.
func DefaultConfig() Config {
	openai := Upstream{Preset: "openai", Prefix: DefaultPrefix}
	openai.SetDefaults()
	return Config{
		Listen:    "127.0.0.1:8080",
		OpsListen: "127.0.0.1:8082",
		Upstreams: map[string]Upstream{"openai": openai},
		Propagate: PropagateOn,
		KeepBaggage: []string{
			"session.id", "user.id", "enduser.id", "gen_ai.conversation.id", "langfuse_session_id", "langfuse_user_id",
			"deployment.environment.name",
		},
		OnClientAbort:     AbortCancel,
		AbortDrainTime:    time.Minute,
		AbortDrainBytes:   16 * record.MiB,
		MaxHeaderBytes:    record.MiB,
		MaxURLBytes:       64 * record.KiB,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       10 * time.Minute,
		ShutdownTimeout:   15 * time.Second,
		MaxIdlePerHost:    1024,
	}
}

// WithUpstream sends DefaultPrefix to base, with key if there is one. Empty
// values, and what else is set for that prefix, stay.
func (c Config) WithUpstream(base, key string) Config {
	if base == "" && key == "" {
		return c
	}
	name, u := "default", Upstream{Prefix: DefaultPrefix, API: apiOpenAI}
	u.SetDefaults()
	for other, have := range c.Upstreams {
		if have.resolved().Prefix == DefaultPrefix {
			name, u = other, have
		}
	}
	u.BaseURL = cmp.Or(base, u.BaseURL)
	if key != "" {
		u.Key = record.NewSecret(key)
	}
	c.Upstreams = maps.Clone(c.Upstreams)
	if c.Upstreams == nil {
		c.Upstreams = map[string]Upstream{}
	}
	c.Upstreams[name] = u
	return c
}

// Validate says which setting is wrong and what is allowed.
func (c Config) Validate() error {
	if err := listenable("listen", c.Listen, c.AllowRemote || len(c.Keys) > 0, "set proxy.keys, or proxy.allow_remote: true"); err != nil {
		return err
	}
	if c.OpsListen != "" {
		if err := listenable("ops_listen", c.OpsListen, c.AllowRemote, "set proxy.allow_remote: true"); err != nil {
			return err
		}
	}
	if err := c.validateKeys(); err != nil {
		return err
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
	if c.MaxURLBytes < record.KiB || c.MaxURLBytes > 64*record.MiB {
		return fmt.Errorf("max_url_bytes: %s: must be 1KiB to 64MiB", c.MaxURLBytes)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return fmt.Errorf("tls_cert, tls_key: must both be set, or none of them")
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

// listenable refuses an address that other machines can reach unless that is
// allowed.
func listenable(key, addr string, remote bool, how string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s: %q: must be HOST:PORT, such as 127.0.0.1:8080", key, addr)
	}
	if !remote && !isLoopback(host) {
		return fmt.Errorf("%s: %q can be reached from other machines: listen on 127.0.0.1, or %s", key, addr, how)
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

// HasUpstream says whether there is an upstream of this name.
func (c Config) HasUpstream(name string) bool {
	_, ok := c.Upstreams[name]
	return ok
}
