package judge

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"docket/internal/record"
)

// image is an inline image of the judged request.
type image struct {
	mime   string
	base64 string
}

func (i image) dataURL() string { return "data:" + i.mime + ";base64," + i.base64 }

// isMedia says that a part is something a text-only judge cannot be shown.
func isMedia(p record.Part) bool {
	return p.Type == record.PartBlob || p.Type == record.PartURI || p.Type == record.PartFile
}

func isImage(p record.Part) bool { return isMedia(p) && p.Modality == record.ModalityImage }

// mark stands for a part that is not shown.
func mark(p record.Part) string {
	what := p.Modality
	if what == "" {
		what = "attachment"
	}
	var notes []string
	if p.MIMEType != "" {
		notes = append(notes, p.MIMEType)
	}
	if p.Filename != "" {
		notes = append(notes, p.Filename)
	}
	if p.Bytes > 0 {
		notes = append(notes, fmt.Sprintf("%d bytes", p.Bytes))
	}
	if len(notes) == 0 {
		return "[" + what + ", not shown]"
	}
	return "[" + what + ", not shown: " + strings.Join(notes, ", ") + "]"
}

// inlineImages finds the bytes of the images that messages refer to in the raw
// request. An image that was too big to keep is not found.
func inlineImages(request []byte, messages []record.Message) map[string]image {
	wanted := map[string]string{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == record.PartBlob && isImage(p) && p.SHA256 != "" {
				wanted[p.SHA256] = p.MIMEType
			}
		}
	}
	if len(wanted) == 0 || !json.Valid(request) {
		return nil
	}
	out := map[string]image{}
	collectImages(gjson.ParseBytes(request), wanted, out, 0)
	return out
}

const maxJSONDepth = 100

func collectImages(v gjson.Result, wanted map[string]string, out map[string]image, depth int) {
	if depth > maxJSONDepth {
		return
	}
	if v.IsObject() || v.IsArray() {
		v.ForEach(func(_, sub gjson.Result) bool {
			collectImages(sub, wanted, out, depth+1)
			return true
		})
		return
	}
	const shortest = 16 // below that no string is an image
	if v.Type != gjson.String || len(v.Str) < shortest {
		return
	}
	data := v.Str
	if strings.HasPrefix(data, "data:") {
		_, data, _ = strings.Cut(data, ",")
	}
	raw, ok := anyBase64(data)
	if !ok {
		return
	}
	sum := sha256.Sum256(raw)
	key := hex.EncodeToString(sum[:])
	if mime, ok := wanted[key]; ok {
		out[key] = image{mime: mime, base64: base64.StdEncoding.EncodeToString(raw)}
	}
}

// anyBase64 decodes either alphabet, with or without padding and line breaks.
func anyBase64(s string) ([]byte, bool) {
	s = strings.TrimRight(strings.NewReplacer("\r", "", "\n", "", "-", "+", "_", "/").Replace(s), "=")
	raw, err := base64.RawStdEncoding.DecodeString(s)
	return raw, err == nil
}
