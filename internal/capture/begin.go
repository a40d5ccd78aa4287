package capture

import (
	"net/http"
	"time"
)

// Begin is what the proxy knows about a call before it goes upstream.
type Begin struct {
	Upstream      string // name of the route
	API           string // wire format hint of the route: "openai", "anthropic", "ollama", ...
	Provider      string // gen_ai.provider.name of the route, "" to derive it from the API
	Level         string // the route's capture level, "" for the default of the settings
	ServerAddress string // host of the upstream
	ServerPort    int
	Project       string // of the caller's key, which wins over the header; "" for none
	Key           string // name of that key

	Method       string
	Path         string // as the client sent it, without the query
	UpstreamPath string // as it goes upstream, which decides the API; "" if it is Path
	RawQuery     string // as the client sent it; secrets in it are masked

	Header        http.Header // of the client's request; read during Begin, not kept
	ContentLength int64       // of the request body, -1 if unknown

	TraceID        string
	SpanID         string // our SERVER span
	ParentSpanID   string // the caller's span, "" if none
	UpstreamSpanID string // our CLIENT span
	TraceFlags     uint8
	TraceState     string
	Baggage        map[string]string // members that the settings of the proxy allow to be kept

	Start time.Time // when the request head was read; now if zero
}
