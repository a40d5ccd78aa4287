package capture_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"

	"docket/internal/capture"
	"docket/internal/record"
)

// TestRequestBodies: where the request body is kept depends on how it comes.
func TestRequestBodies(t *testing.T) {
	big := `{"model":"m-small","messages":[{"role":"user","content":"` + strings.Repeat("word ", 20_000) + `"}]}`
	tests := map[string]struct {
		body   string
		length int64
		expect string
		want   string // records of the exchange
	}{
		"small, known length": {chatRequest, int64(len(chatRequest)), "", "Bbe"},
		"unknown length":      {chatRequest, -1, "", "Bbre"},
		"expects 100":         {chatRequest, int64(len(chatRequest)), "100-continue", "Bbre"},
		"big":                 {big, int64(len(big)), "", "Bbre"},
		"none":                {"", 0, "", "Bbe"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, sink := newMemSpool(), newMemSink(t)
			c := jsonCall("/v1/chat/completions")
			c.begin.ContentLength = tt.length
			c.request = io.NopCloser(iotest.HalfReader(strings.NewReader(tt.body)))
			if tt.expect != "" {
				c.begin.Header.Set("Expect", tt.expect)
			}
			play(t, newRecorder(t, s, nil), c)
			if k := kinds(s); k != tt.want {
				t.Errorf("records %q, want %q", k, tt.want)
			}
			drain(t, s, sink)
			inf, body := sink.only()
			if string(body.Request) != tt.body || inf.RequestCut || inf.RequestBytes != uint64(len(tt.body)) || inf.RequestCRC != checksum(tt.body) {
				t.Errorf("%d bytes of %d, cut %v", len(body.Request), inf.RequestBytes, inf.RequestCut)
			}
		})
	}
}

// slowBody brings a byte per second.
type slowBody struct{ rest string }

func (b *slowBody) Read(p []byte) (int, error) {
	if b.rest == "" {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	p[0] = b.rest[0]
	b.rest = b.rest[1:]
	return 1, nil
}

func (b *slowBody) Close() error { return nil }

// TestSlowRequest: a call does not wait for a client that dawdles, its bytes go
// on as they come, and the record holds them all.
func TestSlowRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sink := newMemSpool(), newMemSink(t)
		r := newRecorder(t, s, func(_ *capture.Config, o *capture.Options) { o.MaxWait = 20 * time.Millisecond })
		b := jsonCall("/v1/chat/completions").begin
		x := r.Begin(b)
		body := x.RequestBody(&slowBody{chatRequest})
		start := time.Now()
		if err := x.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 20*time.Millisecond {
			t.Errorf("start took %v", took)
		}
		got := make([]byte, 4)
		n, err := body.Read(got)
		if n != 1 || err != nil || time.Since(start) != time.Second {
			t.Errorf("first read: %d bytes, %v, after %v", n, err, time.Since(start))
		}
		rest, err := io.ReadAll(body)
		if err != nil || string(got[:1])+string(rest) != chatRequest {
			t.Errorf("read %q, %v", rest, err)
		}
		if k := kinds(s); k != "Bbr" {
			t.Errorf("records %q, want Bbr", k)
		}
		x.Fail(record.StateUpstreamError, 502, errReset)
		x.End("")
		drain(t, s, sink)
		if inf, body := sink.only(); string(body.Request) != chatRequest || inf.RequestCut {
			t.Errorf("kept %q, cut %v", body.Request, inf.RequestCut)
		}
	})
}

// TestRequestLeftUnread: the upstream answers before it has the whole request.
func TestRequestLeftUnread(t *testing.T) {
	tests := map[string]int64{"prefetched": int64(len(chatRequest)), "streamed": -1}
	for name, length := range tests {
		t.Run(name, func(t *testing.T) {
			s, sink := newMemSpool(), newMemSink(t)
			r := newRecorder(t, s, func(_ *capture.Config, o *capture.Options) { o.MaxWait = time.Millisecond })
			b := jsonCall("/v1/chat/completions").begin
			b.ContentLength = length
			client, server := io.Pipe()
			x := r.Begin(b)
			body := x.RequestBody(client)
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				_, _ = io.WriteString(server, chatRequest[:10])
			}()
			if err := x.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 10)
			if _, err := io.ReadFull(body, p); err != nil {
				t.Fatal(err)
			}
			<-sent
			res := &http.Response{StatusCode: 401, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: 2, Body: io.NopCloser(strings.NewReader("{}"))}
			x.Response(res)
			if _, err := io.ReadAll(res.Body); err != nil {
				t.Fatal(err)
			}
			x.End("")
			server.CloseWithError(errReset)
			if _, err := body.Read(p); err == nil {
				t.Error("the body can still be read")
			}
			drain(t, s, sink)
			inf, kept := sink.only()
			if string(kept.Request) != chatRequest[:10] || !inf.RequestCut || inf.RequestBytes != 10 || inf.Status != 401 {
				t.Errorf("kept %q, cut %v, %d bytes, status %d", kept.Request, inf.RequestCut, inf.RequestBytes, inf.Status)
			}
		})
	}
}

func TestMaxBody(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, func(c *capture.Config, _ *capture.Options) { c.MaxBody = 100 })
	c := jsonCall("/v1/chat/completions")
	big := strings.Repeat("x", 1000)
	c.begin.ContentLength = 1000
	c.request = io.NopCloser(strings.NewReader(big))
	_, got := play(t, r, c)
	if string(got) != chatAnswer {
		t.Errorf("client got %q", got)
	}
	drain(t, s, sink)
	inf, body := sink.only()
	if !inf.RequestCut || len(body.Request) != 100 || inf.RequestBytes != 1000 || inf.RequestCRC != checksum(big) {
		t.Errorf("request: cut %v, kept %d of %d", inf.RequestCut, len(body.Request), inf.RequestBytes)
	}
	if !inf.ResponseCut || len(body.Response) != 100 || inf.ResponseCRC != checksum(chatAnswer) {
		t.Errorf("response: cut %v, kept %d of %d", inf.ResponseCut, len(body.Response), inf.ResponseBytes)
	}
	if n := len(sink.gapCounts()); n != 0 {
		t.Errorf("gaps %v", sink.gapCounts())
	}
}

// TestBufferBudget: when the memory for copies is used up, calls go on and
// their records say so.
func TestBufferBudget(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, func(c *capture.Config, _ *capture.Options) { c.BufferBytes = record.MiB })
	hog := r.Begin(capture.Begin{Method: "POST", Path: "/v1/x", ContentLength: 1 << 20})
	hogBody := hog.RequestBody(io.NopCloser(bytes.NewReader(make([]byte, 1<<20))))
	if err := hog.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, hogBody, 1<<20); err != nil {
		t.Fatal(err)
	}
	x, got := play(t, r, jsonCall("/v1/chat/completions"))
	if string(got) != chatAnswer {
		t.Errorf("client got %q", got)
	}
	hog.End("")
	r.Flush()
	played(t, r, 3) // memory is free again
	drain(t, s, sink)
	if n := len(sink.states()); n != 5 {
		t.Fatalf("%d rows, want 5", n)
	}
	for _, inf := range sink.rows {
		if starved := inf.ID == x.ID(); starved != inf.RequestCut || starved != inf.ResponseCut {
			t.Errorf("%s %s: cut %v and %v", inf.ID, inf.Path, inf.RequestCut, inf.ResponseCut)
		}
		if inf.ID == x.ID() && (inf.ResponseCRC != checksum(chatAnswer) || inf.RequestBytes != uint64(len(chatRequest))) {
			t.Error("size and checksum are not those of the whole body")
		}
	}
	if n := sink.gapCounts()[record.GapBufferCap]; n != 2 {
		t.Errorf("gaps %v, want one for each of two bodies", sink.gapCounts())
	}
}

// TestSecretsStayOut plays an upstream that echoes what it was sent.
func TestSecretsStayOut(t *testing.T) {
	secrets := map[string]string{
		"Authorization": "fake-bearer-7d1f", "X-Api-Key": "fake-xkey-22aa", "Api-Key": "fake-azure-9c9c",
		"X-Goog-Api-Key": "fake-goog-4b4b", "Cookie": "fake-cookie-55ee", "Proxy-Authorization": "ZmFrZTpmYWtl",
	}
	echo := `{"error":{"message":"bad key`
	c := jsonCall("/v1/chat/completions")
	for name, v := range secrets {
		value := v
		switch name {
		case "Authorization":
			value = "Bearer " + v
		case "Cookie":
			value = "session=" + v
		case "Proxy-Authorization":
			value = "Basic " + v
		}
		c.begin.Header.Set(name, value)
		echo += " " + v
	}
	echo += ` fake-query-0007"}}`
	c.begin.RawQuery = "key=fake-query-0007"
	c.begin.Header.Set("User-Agent", "app fake-xkey-22aa")
	c.begin.Header.Set("Docket-User", "fake-bearer-7d1f")
	c.status, c.length, c.chunks = 401, int64(len(echo)), []string{echo}
	c.header.Set("X-Request-Id", "for fake-bearer-7d1f")
	stream := streamCall("data: "+echo+"\n\n", "data: [DONE]\n\n", "data: "+echo+"\n\n")
	stream.begin = c.begin
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	for _, c := range []call{c, stream} {
		if _, got := play(t, r, c); string(got) != strings.Join(c.chunks, "") {
			t.Errorf("client got other bytes: %q", got)
		}
	}
	raw := string(s.raw())
	drain(t, s, sink)
	all := raw + sink.everything()
	for _, secret := range append(secretValues(secrets), "fake-query-0007") {
		if strings.Contains(all, secret) {
			t.Errorf("%s is in the records", secret)
		}
	}
	if len(sink.rows) != 2 || !strings.Contains(string(sink.bodies[sink.rows[0].ID].Response), "bad key ***") {
		t.Error("the rest of the answer is not kept")
	}
}

func secretValues(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func TestSpoolFull(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	s.fail = func(byte) error { return spoolError{full: true} }
	for range 3 {
		if _, got := play(t, r, jsonCall("/v1/chat/completions")); string(got) != chatAnswer {
			t.Errorf("client got %q", got)
		}
	}
	r.Flush()
	s.fail = nil
	ids := played(t, r, 1)
	drain(t, s, sink)
	wantStates(t, sink, complete(ids...))
	if n := sink.gapCounts()[record.GapByteCap]; n != 3 {
		t.Errorf("gaps %v, want 3 of byte_cap", sink.gapCounts())
	}
}

// TestDiskFull: a disk without room is told from a spool without room.
func TestDiskFull(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	s.fail = func(byte) error { return spoolError{full: true, disk: true} }
	play(t, r, jsonCall("/v1/chat/completions"))
	s.fail = nil
	r.Flush()
	drain(t, s, sink)
	if gaps := sink.gapCounts(); len(gaps) != 1 || gaps[record.GapDiskFull] != 1 {
		t.Errorf("gaps %v, want one of disk_full", gaps)
	}
}

// TestEndFindsNoRoom: the end of an exchange comes later, without the bodies,
// and a gap names the loss.
func TestEndFindsNoRoom(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	s.fail = func(kind byte) error {
		if kind == capture.KindEnd {
			return spoolError{full: true}
		}
		return nil
	}
	id := played(t, r, 1)[0]
	r.Flush() // still no room
	s.fail = nil
	r.Flush()
	drain(t, s, sink)
	inf, body := sink.only()
	if inf.ID != id || inf.TerminalState != record.StateComplete || !inf.ResponseCut || len(body.Response) != 0 || inf.ResponseBytes != uint64(len(chatAnswer)) {
		t.Errorf("got %+v with %d bytes", inf, len(body.Response))
	}
	if n := sink.gapCounts()[record.GapByteCap]; n != 1 {
		t.Errorf("gaps %v", sink.gapCounts())
	}
}

func TestWhenFullFail503(t *testing.T) {
	s := newMemSpool()
	r := newRecorder(t, s, func(c *capture.Config, _ *capture.Options) { c.WhenFull = capture.WhenFullFail503 })
	s.fail = func(byte) error { return spoolError{full: true} }
	x := r.Begin(jsonCall("/v1/x").begin)
	if err := x.Start(t.Context()); !errors.Is(err, capture.ErrNotRecorded) {
		t.Errorf("start: %v", err)
	}
	x.End("")
	off := jsonCall("/v1/x").begin
	off.Header = http.Header{"Docket-Capture": {"off"}}
	if err := r.Begin(off).Start(t.Context()); err != nil {
		t.Errorf("a call that is not to be recorded is refused: %v", err)
	}
}

func TestStalledSpoolIsCountedAtRisk(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	s.fail = func(byte) error { return spoolError{stalled: true} }
	ids := played(t, r, 1)
	s.fail = nil
	r.Flush()
	drain(t, s, sink)
	wantStates(t, sink, complete(ids...))
	if n := sink.gapCounts()[record.GapAtRisk]; n != 2 {
		t.Errorf("gaps %v, want begin and end at risk", sink.gapCounts())
	}
}

func TestNoSpool(t *testing.T) {
	r := newRecorder(t, nil, nil)
	x, got := play(t, r, jsonCall("/v1/chat/completions"))
	if string(got) != chatAnswer || x.ID() != "" {
		t.Errorf("client got %q, id %q", got, x.ID())
	}
	r.Flush()
}

// TestGapsOncePerSecond: gaps are added up, and written only when there are any.
func TestGapsOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemSpool()
		r := newRecorder(t, s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		off := jsonCall("/v1/x")
		off.begin.Header.Set("Docket-Capture", "off")
		for range 30 { // 3 s
			play(t, r, off)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if k := kinds(s); len(k) > 5 || !strings.HasPrefix(k, "Bgg") {
			t.Errorf("records %q", k)
		}
	})
}

// TestSecretsInCompressedAnswers plays an upstream that repeats the key in a
// compressed answer. SDKs ask for compression, so this is the usual case.
func TestSecretsInCompressedAnswers(t *testing.T) {
	const key = "fake-bearer-7d1f"
	body := `{
  "error": {"message": "` + strings.Repeat("long ", 20_000) + `", "key": "` + key + `"}
}`
	encoders := map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	}
	for name, encoder := range encoders {
		for _, cut := range []int{0, 4} { // bytes that the answer lacks at its end
			var packed bytes.Buffer
			w := encoder(&packed)
			if _, err := io.WriteString(w, body); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			c := jsonCall("/v1/chat/completions")
			c.begin.Header.Set("Authorization", "Bearer "+key)
			c.header.Set("Content-Encoding", name)
			c.status, c.length, c.chunks = 401, int64(packed.Len()), []string{packed.String()[:packed.Len()-cut]}
			if cut > 0 {
				c.answered = io.ErrUnexpectedEOF
			}
			s, sink := newMemSpool(), newMemSink(t)
			r := newRecorder(t, s, nil)
			if _, got := play(t, r, c); string(got) != c.chunks[0] {
				t.Errorf("%s: client got other bytes", name)
			}
			if cut == 0 && !bytes.Contains(s.raw(), []byte("***")) {
				t.Errorf("%s, cut %d: the spool has no mask", name, cut)
			}
			drain(t, s, sink)
			if all := sink.everything(); strings.Contains(all, key) {
				t.Errorf("%s, cut %d: the key is in the records", name, cut)
			}
			if cut == 0 && (len(sink.rows) != 1 || !strings.Contains(string(sink.bodies[sink.rows[0].ID].Response), `"key": "***`)) {
				t.Errorf("%s, cut %d: the rest of the answer is not kept", name, cut)
			}
		}
	}
}
