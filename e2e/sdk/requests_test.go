package sdk

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hopByHop are the fields of one connection, and not of the request.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Upgrade"}

// checkRequests: through the proxy the upstream saw the same requests, but for
// the closed list of README.md.
func checkRequests(t *testing.T, direct, through []request, traceID string) {
	t.Helper()
	if len(direct) == 0 || len(direct) != len(through) {
		t.Fatalf("%d requests straight to the upstream, %d through the proxy", len(direct), len(through))
	}
	for i := range through {
		checkTrace(t, through[i].Header, traceID)
		if diff := cmp.Diff(plain(direct[i]), plain(through[i])); diff != "" {
			t.Errorf("request %d (-direct +through the proxy)\n%s", i, diff)
		}
	}
}

// plain is a request without what is on the closed list.
func plain(r request) map[string]any {
	header := maps.Clone(r.Header)
	for _, name := range append(hopByHop, "Traceparent") {
		delete(header, name)
	}
	return map[string]any{"method": r.Method, "target": r.Target, "header": header, "body": r.Body}
}

// checkTrace: the upstream was given a child span of the same trace.
func checkTrace(t *testing.T, header http.Header, traceID string) {
	t.Helper()
	parent := header.Get("Traceparent")
	if !strings.Contains(parent, traceID) || strings.Contains(parent, callerSpan) {
		t.Errorf("the upstream was sent traceparent %q in trace %s", parent, traceID)
	}
	for name := range header {
		if strings.HasPrefix(name, "Docket-") {
			t.Errorf("the upstream was sent %s", name)
		}
	}
}
