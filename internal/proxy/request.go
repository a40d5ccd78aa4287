package proxy

import (
	"net/http"
	"net/http/httputil"
	"reflect"
	"strings"

	"docket/internal/capture"
)

const docketPrefix = capture.HeaderPrefix

// rewrite makes the request that goes upstream. ReverseProxy has copied it and
// removed hop-by-hop fields; what it changed beyond that is put back.
func (x *exchange) rewrite(pr *httputil.ProxyRequest) {
	out, in := pr.Out, x.in
	out.URL = x.route.upstreamURL(x.rest, x.route.onward(x.target, x.caller))
	out.Host = "" // of the URL
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := in.Header[name]; ok && !namedByConnection(in.Header, name) {
			out.Header[name] = v
		}
	}
	for name := range out.Header {
		if strings.HasPrefix(name, docketPrefix) {
			delete(out.Header, name)
		}
	}
	if x.server.config.Propagate == PropagateOn {
		out.Header["Traceparent"] = []string{x.span.traceParent()}
		delete(out.Header, "Tracestate")
		if x.span.state != "" {
			out.Header["Tracestate"] = []string{x.span.state}
		}
	}
	x.route.authorize(out.Header, x.route.basePath+x.rest, x.caller)
	for _, name := range x.route.config.RemoveHeaders {
		out.Header.Del(name)
	}
	for name, v := range x.route.set {
		out.Header[name] = v
	}
	refuseOwnUpgrade(out.Header)
	keepUserAgent(out.Header)
	x.attachBody(out)
	x.injectUsage(out)
}

// attachBody gives the transport the client's body and its trailers.
func (x *exchange) attachBody(out *http.Request) {
	if x.body == nil {
		out.Body = nil
		return
	}
	out.Body = x.body
	out.GetBody = x.body.again
	if out.ContentLength >= 0 {
		return // only chunked bodies have trailers
	}
	out.Trailer = http.Header{}
	for name := range x.in.Trailer { // announced ones, still without values
		if !strings.HasPrefix(name, docketPrefix) {
			out.Trailer[name] = nil
		}
	}
	x.body.trailer = out.Trailer
}

// keepUserAgent stops net/http from adding its own name, and from dropping an
// empty or repeated one: it looks for the canonical name only.
func keepUserAgent(h http.Header) {
	v := h["User-Agent"]
	if len(v) == 1 && v[0] != "" {
		return
	}
	h["User-Agent"] = []string{""}
	if len(v) > 0 {
		h["user-agent"] = v
	}
}

// namedByConnection says whether a field was meant for us alone.
func namedByConnection(h http.Header, name string) bool {
	for _, line := range h["Connection"] {
		for token := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(token), name) {
				return true
			}
		}
	}
	return false
}

func expectsContinue(r *http.Request) bool {
	return r.ProtoAtLeast(1, 1) && r.ContentLength != 0 && strings.EqualFold(strings.TrimSpace(r.Header.Get("Expect")), "100-continue")
}

// restoreExpect puts back the Expect field of a request that came over HTTP/2.
// net/http takes it out, and keeps it in a field of the body, which is looked at
// here. If a toolchain ever renames that field, the client is told to continue
// by net/http alone, and a test fails.
func restoreExpect(r *http.Request) {
	if r.ProtoMajor != 2 || r.ContentLength == 0 {
		return
	}
	body := reflect.ValueOf(r.Body)
	if body.Kind() != reflect.Pointer || body.Elem().Kind() != reflect.Struct {
		return
	}
	if f := body.Elem().FieldByName("needsContinue"); f.Kind() == reflect.Bool && f.Bool() {
		r.Header["Expect"] = []string{"100-continue"}
	}
}

func closeOnce(c chan struct{}) func() {
	done := false
	return func() { // under the writer's lock
		if !done {
			done = true
			close(c)
		}
	}
}
