package capture_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"docket/internal/capture"
	"docket/internal/record"
)

// answered lets the whole answer of a call pass.
func answered(t *testing.T, x *capture.Exchange, c call) {
	t.Helper()
	res := &http.Response{StatusCode: c.status, Header: c.header, ContentLength: c.length, Body: &chunkBody{chunks: c.chunks}}
	x.Response(res)
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	x.End("")
}

// TestUnfinishedRequestWithSecret: the end record holds both bodies when the
// answer comes before the request is whole. A mask in one does not move the
// border between them.
func TestUnfinishedRequestWithSecret(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	c := jsonCall("/v1/chat/completions")
	c.begin.ContentLength = -1
	c.begin.Header.Set("Authorization", "Bearer fake-secret-0001")
	x := r.Begin(c.begin)
	in, client := io.Pipe()
	defer client.Close()
	body := x.RequestBody(in)
	if err := x.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(client, `{"model":"fake-secret-0001","messages":[`) }() // and no more
	if _, err := body.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	answered(t, x, c)
	drain(t, s, sink)
	_, got := sink.only()
	if want := `{"model":"***","messages":[`; string(got.Request) != want || string(got.Response) != chatAnswer {
		t.Errorf("request %q, answer %q", got.Request, got.Response)
	}
}

// TestRequestGoesOnDuringEnd: what of the request comes while the end record is
// appended leaves the copy that goes into it alone.
func TestRequestGoesOnDuringEnd(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, func(c *capture.Config, _ *capture.Options) { c.MaxBody, c.MaxValue = record.KiB, record.KiB })
	c := jsonCall("/v1/chat/completions")
	c.begin.ContentLength = -1
	first := `{"image":"` + strings.Repeat("A", 700) + `","text":"`
	x := r.Begin(c.begin)
	body := x.RequestBody(&chunkBody{chunks: []string{first, strings.Repeat("b", 4000)}})
	if err := x.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 4096)
	if _, err := body.Read(p); err != nil {
		t.Fatal(err)
	}
	s.fail = func(kind byte) error {
		if kind == capture.KindEnd {
			_, _ = body.Read(p) // the copy outgrows its limit
		}
		return nil
	}
	answered(t, x, c)
	drain(t, s, sink)
	if _, got := sink.only(); string(got.Request) != first || string(got.Response) != chatAnswer {
		t.Errorf("request %q, answer %q", got.Request, got.Response)
	}
}
