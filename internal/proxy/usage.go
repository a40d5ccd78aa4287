package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// usageInjection asks upstreams of the chat completions API for the usage of
// streams that were asked for without it, and keeps the event that answers this
// from the client.
type usageInjection struct {
	on      bool
	refused atomic.Bool // an upstream did not know the option
}

const (
	chatPath = "/chat/completions"

	// usageNote says on the record that the upstream was asked.
	usageNote   = "docket.usage_injected"
	usageOption = `{"include_usage":true}`
	usageMember = `"stream_options":` + usageOption
	maxRefusal  = 4 << 10 // of an error that is looked at
)

// injectUsage changes the request that goes upstream, if that is asked for and
// the client's body is here as a whole. What cannot be changed with certainty
// stays: an encoded or signed body, one with a member twice.
func (x *exchange) injectUsage(out *http.Request) {
	if !x.route.usage.on || x.route.usage.refused.Load() || x.body == nil || x.body.continued != nil ||
		out.Method != http.MethodPost || !strings.HasSuffix(x.rest, chatPath) || coversBody(out.Header) {
		return
	}
	body := withUsage(x.record.Prefetched())
	if body == nil {
		return
	}
	x.asked = true
	x.record.Note(usageNote, "true")
	x.body.src = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), x.body.src}
	out.ContentLength = int64(len(body))
	out.Header["Accept-Encoding"] = []string{"identity"} // what is encoded cannot be looked into
}

// coversBody says whether a field encodes the body or vouches for it.
func coversBody(h http.Header) bool {
	return slices.ContainsFunc([]string{"Content-Encoding", "Content-Digest", "Repr-Digest", "Digest", "Content-Md5", "Signature", "X-Amz-Content-Sha256"},
		func(name string) bool { return len(h[name]) > 0 })
}

// withUsage returns the body of a request for a stream with the option added,
// nil when there is nothing to add. All other bytes stay.
func withUsage(body []byte) []byte {
	if !json.Valid(body) {
		return nil
	}
	stream, ok := memberOf(body, "stream")
	if !ok || string(body[stream.start:stream.end]) != "true" {
		return nil
	}
	options, ok := memberOf(body, "stream_options")
	switch {
	case !ok:
		return nil
	case options.end == 0:
		return insert(body, stream.end, stream.end, ","+usageMember)
	}
	given := body[options.start:options.end]
	if string(given) == "null" {
		return insert(body, options.start, options.end, usageOption)
	}
	usage, ok := memberOf(given, "include_usage")
	switch {
	case !ok || given[0] != '{':
		return nil
	case usage.end == 0:
		member := `"include_usage":true`
		if len(bytes.TrimSpace(given[1:len(given)-1])) > 0 {
			member += ","
		}
		return insert(body, options.start+1, options.start+1, member)
	case string(given[usage.start:usage.end]) == "true":
		return nil
	}
	return insert(body, options.start+usage.start, options.start+usage.end, "true")
}

// stretch is where a value stands.
type stretch struct{ start, end int }

// memberOf finds a member of a JSON object, the zero stretch if it has none. ok
// is false when it is no object, or has the member twice: then readers differ in
// which they take.
func memberOf(object []byte, name string) (found stretch, ok bool) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return found, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return found, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return found, false
		}
		if key != name {
			continue
		}
		if found.end > 0 {
			return found, false
		}
		end := int(d.InputOffset())
		found = stretch{end - len(value), end}
	}
	return found, true
}

func insert(body []byte, start, end int, text string) []byte {
	out := make([]byte, 0, len(body)+len(text))
	return append(append(append(out, body[:start]...), text...), body[end:]...)
}

// withoutUsage is called with the answer behind what records it. It takes the
// usage event out of a stream.
func (x *exchange) withoutUsage(res *http.Response) {
	if !x.asked {
		return
	}
	encoding := res.Header.Get("Content-Encoding")
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); {
	case encoding != "" && encoding != "identity":
	case res.StatusCode == http.StatusBadRequest || res.StatusCode == http.StatusUnprocessableEntity:
		res.Body = &refusalWatch{ReadCloser: res.Body, refused: &x.route.usage.refused}
	case res.StatusCode == http.StatusOK && kind == "text/event-stream":
		res.Body = &usageFilter{src: res.Body}
		res.ContentLength = -1
		res.Header.Del("Content-Length")
	}
}

// refusalWatch looks whether an error is about the option. Then it is not sent
// any more.
type refusalWatch struct {
	io.ReadCloser
	refused *atomic.Bool
	seen    []byte
}

func (r *refusalWatch) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if room := maxRefusal - len(r.seen); room > 0 {
		r.seen = append(r.seen, p[:min(n, room)]...)
		if bytes.Contains(r.seen, []byte("stream_options")) || bytes.Contains(r.seen, []byte("include_usage")) {
			r.refused.Store(true)
		}
	}
	return n, err
}
