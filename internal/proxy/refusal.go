package proxy

import (
	"io"
	"net/http"
	"time"
)

// Limits of what is read of a request that is refused.
const (
	maxSkipped = 64 << 20
	skipTime   = 10 * time.Second
)

// skipBody reads the body of a request that is refused, so that a client which
// sends all of it before it reads gets the answer: net/http reads little of what
// a handler leaves, and then cuts the connection. Who asks before sending, and
// HTTP/2, need none of it.
func skipBody(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor > 1 || r.Body == http.NoBody || r.Header.Get("Expect") != "" {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(skipTime)) // only a foreign ResponseWriter has none
	_, _ = io.CopyN(io.Discard, r.Body, maxSkipped)                             // what is left cuts the connection
}
