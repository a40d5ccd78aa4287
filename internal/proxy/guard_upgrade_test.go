package proxy_test

import (
	"testing"

	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

// TestUpgradeFromAnotherSite: a page may open a WebSocket to any address and
// read what comes, so that the key of the settings would be at its service.
func TestUpgradeFromAnotherSite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields []string
		status int
	}{
		"a program":     {nil, 101},
		"own page":      {[]string{"Origin: http://proxy.test"}, 101},
		"allowed page":  {[]string{"Origin: http://localhost:3000", "Sec-Fetch-Site: cross-site"}, 101},
		"another site":  {[]string{"Origin: https://evil.test"}, 403},
		"another port":  {[]string{"Origin: http://proxy.test:3000"}, 403},
		"by the header": {[]string{"Origin: http://proxy.test", "Sec-Fetch-Site: same-site"}, 403},
		"sandboxed":     {[]string{"Origin: null"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, func(u *upstreamtest.Conn) {
				if _, err := u.ReadRequest(); err == nil {
					_ = u.Send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
				}
			})
			p := start(t, up.URL(), func(cfg *proxy.Config, u *proxy.Upstream) {
				cfg.AllowedOrigins = []string{"http://localhost:3000"}
				u.Key = record.NewSecret("fake-upstream-key")
			})
			fields := append([]string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}, c.fields...)
			res := call(t, p.addr, get("/v1/realtime?model=m", fields...))
			if res.Status() != c.status || (len(up.Requests()) > 0) != (c.status == 101) {
				t.Errorf("got %d, the upstream got %+v", res.Status(), up.Requests())
			}
		})
	}
}
