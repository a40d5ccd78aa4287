package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"docket/internal/capture"
	"docket/internal/config"
	"docket/internal/proxy"
	"docket/internal/spool"
	"docket/internal/store"
)

// settings are the sections that the proxy reads.
type settings struct {
	proxy   proxy.Config
	capture captureSection
	store   store.Config
}

// captureSection is the capture section, with the spool's settings inside.
type captureSection struct {
	capture.Config `yaml:",inline"`
	Spool          spool.Config `yaml:"spool"`
}

// Validate checks both, and that they fit together.
func (c captureSection) Validate() error {
	err := c.Spool.Validate()
	if err != nil {
		err = fmt.Errorf("spool.%w", err)
	}
	return errors.Join(c.Config.Validate(), err, c.ValidateSpool(c.Spool.SegmentBytes, c.Spool.MaxBytes))
}

// loadSettings lays file, environment and flags over the defaults.
func loadSettings(args []string, getenv func(string) string, stdout io.Writer) (settings, error) {
	s := settings{
		proxy:   proxy.DefaultConfig(),
		capture: captureSection{Config: capture.DefaultConfig(), Spool: spool.DefaultConfig()},
		store:   store.DefaultConfig(),
	}
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	flags.SetOutput(stdout)
	file := flags.String("config", "", "settings file (default $DOCKET_CONFIG, else docket.yaml if it exists)")
	listen := flags.String("listen", "", "proxy.listen: address that clients call; port 0 takes a free one")
	cert := flags.String("tls-cert", "", "proxy.tls_cert: certificate chain for clients, PEM; with --tls-key the proxy speaks TLS")
	key := flags.String("tls-key", "", "proxy.tls_key: its private key, PEM")
	ops := flags.String("ops-listen", "", "proxy.ops_listen: address of /livez, /readyz and /metrics; none for no such address")
	upstream := flags.String("upstream", "", "base URL that /v1 goes to ($DOCKET_UPSTREAM)")
	dsn := flags.String("store", "", "store.dsn: where ClickHouse is ($DOCKET_STORE)")
	dir := flags.String("spool", "", "capture.spool.dir: folder of the spool")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	sections := map[string]any{"proxy": &s.proxy, "capture": &s.capture, "store": &s.store}
	known := []string{"judge", "rubrics", "rules", "evaluator"}
	if err := config.Load(config.File(*file, getenv), getenv, environ(getenv), sections, known); err != nil {
		return s, err
	}
	s.proxy.Listen = cmp.Or(*listen, s.proxy.Listen)
	s.proxy.TLSCert, s.proxy.TLSKey = cmp.Or(*cert, s.proxy.TLSCert), cmp.Or(*key, s.proxy.TLSKey)
	s.proxy.OpsListen = strings.TrimPrefix(cmp.Or(*ops, s.proxy.OpsListen), "none")
	s.store.DSN = cmp.Or(*dsn, s.store.DSN)
	s.capture.Spool.Dir = cmp.Or(*dir, s.capture.Spool.Dir)
	s.capture.Environment = cmp.Or(s.capture.Environment, getenv("DOCKET_ENVIRONMENT"))
	s.proxy = s.proxy.WithUpstream(cmp.Or(*upstream, getenv("DOCKET_UPSTREAM")), getenv("DOCKET_UPSTREAM_KEY"))
	return s, errors.Join(config.Validate(sections), s.capture.ValidateUpstreams(s.proxy.HasUpstream))
}

// environ lists the variables that getenv knows.
func environ(getenv func(string) string) []string {
	var out []string
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); getenv(name) != "" {
			out = append(out, entry)
		}
	}
	return out
}
