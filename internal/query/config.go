package query

import (
	"fmt"
	"net"

	"docket/internal/record"
)

// Config is where the page and the read API listen, and who may read.
type Config struct {
	Listen       string        `yaml:"listen" doc:"address of the page and the read API"`
	Token        record.Secret `yaml:"token" doc:"bearer token for the page and the read API; required when listen is not a loopback address"`
	AllowedHosts []string      `yaml:"allowed_hosts" doc:"host names that requests may carry besides localhost and loopback addresses"`
}

// DefaultConfig listens on loopback without a token.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:8081"}
}

// Validate refuses an address that others can reach when there is no token.
func (c Config) Validate() error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("api.listen: %q: want HOST:PORT, such as 127.0.0.1:8081", c.Listen)
	}
	if !isLoopback(host) && c.Token.IsZero() {
		return fmt.Errorf("api.listen: %q can be reached from other machines: set evaluator.api.token (DOCKET_API_TOKEN), or listen on 127.0.0.1", c.Listen)
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
