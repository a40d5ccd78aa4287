package capture

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"unicode/utf8"

	"docket/internal/wire"
)

// FuzzForm: how a body is cut into reads changes nothing of its description,
// which is bounded; and what is no multipart body comes back as it was.
func FuzzForm(f *testing.F) {
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b\r\nContent-Disposition: form-data; name=f; filename=\"a.mp3\"\r\nContent-Type: audio/mpeg\r\n\r\n\r\n--\r\n--b--\r\ntail"), uint8(3))
	f.Add([]byte("--b\r\n\r\n\r\n--b--"), uint8(1))
	f.Add([]byte("{\"model\":\"m\"}"), uint8(5))
	f.Fuzz(func(t *testing.T, body []byte, step uint8) {
		describe := func(step int) (string, []byte) {
			fm := newForm(http.Header{"Content-Type": {"multipart/form-data; boundary=b"}})
			for rest := body; len(rest) > 0; {
				n := min(len(rest), step)
				ok, head := fm.write(rest[:n])
				if rest = rest[n:]; !ok {
					return "", append(bytes.Clone(head), rest...)
				}
			}
			return string(fm.description()), nil
		}
		whole, raw := describe(len(body) + 1)
		parts, rawParts := describe(int(step) + 1)
		if whole != parts || !bytes.Equal(raw, rawParts) {
			t.Errorf("at once %q %q, in parts %q %q", whole, raw, parts, rawParts)
		}
		if raw != nil && !bytes.Equal(raw, body) {
			t.Errorf("%q came back as %q", body, raw)
		}
		var form wire.Form
		if raw == nil && (json.Unmarshal([]byte(whole), &form) != nil || !utf8.ValidString(whole) || len(form.Parts) > maxFormParts) {
			t.Errorf("described as %q", whole)
		}
		var sum uint64
		for _, p := range form.Parts {
			sum += p.Bytes
		}
		if sum > uint64(len(body)) {
			t.Errorf("parts of %d bytes in a body of %d", sum, len(body))
		}
	})
}
