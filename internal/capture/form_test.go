package capture_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/wire"
)

// upload is a multipart body with a file and some fields.
func upload(t testing.TB, file string, fields ...string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part := func(head textproto.MIMEHeader, text string) {
		p, err := w.CreatePart(head)
		if err == nil {
			_, err = io.WriteString(p, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	part(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="Jane Doe's voice.MP3"`}, "Content-Type": {"audio/mpeg; x=y"}}, file)
	for i := 0; i+1 < len(fields); i += 2 {
		part(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + fields[i] + `"`}}, fields[i+1])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

// recordedUpload sends a body with a type through a recorder.
func recordedUpload(t *testing.T, path, body, contentType string, length int64) (record.Inference, record.Body, *memSpool) {
	t.Helper()
	s, sink := newMemSpool(), newMemSink(t)
	c := jsonCall(path)
	c.begin.Header.Set("Content-Type", contentType)
	c.begin.ContentLength = length
	c.request = io.NopCloser(iotest.HalfReader(strings.NewReader(body)))
	play(t, newRecorder(t, s, nil), c)
	drain(t, s, sink)
	inf, stored := sink.only()
	return inf, stored, s
}

// TestUploads: of a multipart body its parts are described, and neither files,
// nor their names, nor fields that may hold content, are kept.
func TestUploads(t *testing.T) {
	file := strings.Repeat("\x00\xffsound\r\n--", 30_000)
	body, kind := upload(t, file, "model", "m-hear", "prompt", "secret words", "language", "en", "response_format", strings.Repeat("x", 1000), "empty", "")
	parts := []wire.FormPart{
		{Name: "file", Type: "audio/mpeg", Extension: "mp3", File: true, Bytes: uint64(len(file))},
		{Name: "model", Bytes: 6, Value: "m-hear"},
		{Name: "prompt", Bytes: 12},
		{Name: "language", Bytes: 2, Value: "en"},
		{Name: "response_format", Bytes: 1000},
		{Name: "empty"},
	}
	for name, length := range map[string]int64{"length": int64(len(body)), "chunked": -1} {
		t.Run(name, func(t *testing.T) {
			inf, stored, s := recordedUpload(t, "/v1/audio/transcriptions", body, kind, length)
			var got wire.Form
			if err := json.Unmarshal(stored.Request, &got); err != nil {
				t.Fatalf("%q: %v", stored.Request, err)
			}
			if diff := cmp.Diff(wire.Form{Parts: parts}, got); diff != "" {
				t.Errorf("described (-want +got):\n%s", diff)
			}
			if inf.RequestBytes != uint64(len(body)) || inf.RequestCRC != checksum(body) || inf.RequestCut || inf.Undecodable {
				t.Errorf("%d bytes of %d, cut %v, undecodable %v", inf.RequestBytes, len(body), inf.RequestCut, inf.Undecodable)
			}
			if inf.API != "openai.transcriptions" || inf.Operation != "transcription" || inf.RequestModel != "m-hear" || inf.Provider != "openai" {
				t.Errorf("row has %s, %s, %s, %s", inf.API, inf.Operation, inf.RequestModel, inf.Provider)
			}
			var listed []wire.FormPart
			if err := json.Unmarshal([]byte(inf.Attributes["docket.multipart"]), &listed); err != nil || cmp.Diff(parts, listed) != "" {
				t.Errorf("attribute %q, %v", inf.Attributes["docket.multipart"], err)
			}
			if !bytes.Contains(s.raw(), []byte(`{"multipart":[`)) {
				t.Error("the description is not in the spool")
			}
			for _, hidden := range []string{"sound", "Jane", "secret words"} {
				if bytes.Contains(s.raw(), []byte(hidden)) {
					t.Errorf("%q is in the spool", hidden)
				}
			}
		})
	}
}

// TestUploadNames: the path of a multipart call names it.
func TestUploadNames(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/audio/transcriptions": "openai.transcriptions transcription", "/v1/audio/translations": "openai.translations translation",
		"/v1/images/edits": "openai.image_edits image_edit", "/v1/images/variations": "openai.image_variations image_variation",
		"/v1/files": "openai.files file_upload", "/v1/uploads/up_1/parts": " ", "/v1/chat/completions": " ",
	} {
		body, kind := upload(t, "bytes")
		inf, stored, _ := recordedUpload(t, path, body, kind, int64(len(body)))
		if got := inf.API + " " + inf.Operation; got != want || !bytes.HasPrefix(stored.Request, []byte(`{"multipart":[`)) {
			t.Errorf("%s: got %q, stored %s", path, got, stored.Request)
		}
	}
}

// TestUploadsThatBreakOff: what came is described, and marked.
func TestUploadsThatBreakOff(t *testing.T) {
	body, kind := upload(t, strings.Repeat("x", 1000))
	for name, c := range map[string]struct {
		end  int
		want wire.Form
	}{
		"in the file":    {600, wire.Form{Parts: []wire.FormPart{{Name: "file", Type: "audio/mpeg", Extension: "mp3", File: true, Bytes: uint64(600 - strings.Index(body, "xxx"))}}, Cut: true}},
		"in a head":      {100, wire.Form{Parts: []wire.FormPart{}, Cut: true}},
		"at its start":   {3, wire.Form{Parts: []wire.FormPart{}, Cut: true}},
		"long head":      {-1, wire.Form{Parts: []wire.FormPart{}, Cut: true}},
		"nothing at all": {0, wire.Form{}},
	} {
		t.Run(name, func(t *testing.T) {
			sent := body[:70] + strings.Repeat("y", 20_000)
			if c.end >= 0 {
				sent = body[:c.end]
			}
			_, stored, _ := recordedUpload(t, "/v1/files", sent, kind, -1)
			var got wire.Form
			if len(stored.Request) > 0 {
				if err := json.Unmarshal(stored.Request, &got); err != nil {
					t.Fatalf("%q: %v", stored.Request, err)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("described (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotReallyMultipart: what comes decides. JSON under a multipart type is
// recorded as the JSON that it is.
func TestNotReallyMultipart(t *testing.T) {
	for _, kind := range []string{"multipart/form-data; boundary=b", "multipart/form-data", "multipart/", "multipart/form-data; boundary=" + strings.Repeat("b", 70)} {
		inf, stored, _ := recordedUpload(t, "/v1/chat/completions", chatRequest, kind, int64(len(chatRequest)))
		if string(stored.Request) != chatRequest || inf.Operation != "chat" || inf.RequestModel == "" {
			t.Errorf("%s: stored %q, operation %s", kind, stored.Request, inf.Operation)
		}
	}
}

// TestManyParts: the description is bounded, and says how much is missing.
func TestManyParts(t *testing.T) {
	var fields []string
	for range 200 {
		fields = append(fields, strings.Repeat("n", 500), "v")
	}
	body, kind := upload(t, "x", fields...)
	_, stored, _ := recordedUpload(t, "/v1/files", body, kind, -1)
	var got wire.Form
	if err := json.Unmarshal(stored.Request, &got); err != nil || len(got.Parts) != 64 || got.More != 137 || len(got.Parts[1].Name) != 128 || got.Cut {
		t.Errorf("%d parts and %d more, %v", len(got.Parts), got.More, err)
	}
}
