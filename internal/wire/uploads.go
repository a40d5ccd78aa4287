package wire

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// Names of APIs that are known by their path alone: their bodies are bytes, or
// left HTTP, and are not read.
const (
	APIRealtime       = "openai.realtime"
	APITranscriptions = "openai.transcriptions"
	APITranslations   = "openai.translations"
	APIImageEdits     = "openai.image_edits"
	APIVariations     = "openai.image_variations"
	APIFiles          = "openai.files"
)

// FormKey is the key under which capture describes the parts of a multipart body
// that it does not keep.
const FormKey = "multipart"

// FormPart is one of these parts. Name of a file and most values are left out:
// they may say anything.
type FormPart struct {
	Name      string `json:"name"`
	Type      string `json:"type,omitempty"`      // media type
	Extension string `json:"extension,omitempty"` // of the file's name
	File      bool   `json:"file,omitempty"`
	Bytes     uint64 `json:"bytes"`
	Value     string `json:"value,omitempty"` // of a few fields that say how, not what
}

// Form is what capture keeps of a multipart body.
type Form struct {
	Parts []FormPart `json:"multipart"`
	More  int        `json:"more,omitempty"` // parts beyond those
	Cut   bool       `json:"cut,omitempty"`  // its end did not come
}

// unread returns the format of a call whose bodies are not read: only names.
func unread(x Exchange) format {
	path := strings.TrimRight(x.Path, "/")
	if x.Method == "GET" && strings.HasSuffix(path, "/realtime") {
		return format{api: APIRealtime, operation: "realtime", provider: "openai"}
	}
	if !isMultipart(x) {
		return format{}
	}
	for _, f := range []format{
		{suffix: "/audio/transcriptions", api: APITranscriptions, operation: "transcription"},
		{suffix: "/audio/translations", api: APITranslations, operation: "translation"},
		{suffix: "/images/edits", api: APIImageEdits, operation: "image_edit"},
		{suffix: "/images/variations", api: APIVariations, operation: "image_variation"},
		{suffix: "/files", api: APIFiles, operation: "file_upload"},
	} {
		if strings.HasSuffix(path, f.suffix) {
			f.provider = "openai"
			return f
		}
	}
	return format{}
}

// isForm says whether the request is a description of a multipart body.
func isForm(x Exchange) bool {
	return isMultipart(x) && bytes.HasPrefix(x.Request, []byte(`{"`+FormKey+`":[`))
}

func isMultipart(x Exchange) bool {
	return strings.HasPrefix(strings.ToLower(x.RequestHeader["content-type"]), "multipart/")
}

// decodeUnread takes what is known of a call beside its bodies.
func decodeUnread(x Exchange, d *Decoded) {
	if d.API == APIRealtime {
		if q, err := url.ParseQuery(x.Query); err == nil {
			d.RequestModel = strings.ToValidUTF8(q.Get("model"), "\uFFFD")
		}
	}
	var form Form
	if !isForm(x) || json.Unmarshal(x.Request, &form) != nil {
		return
	}
	parts, err := json.Marshal(form.Parts)
	if err != nil {
		return
	}
	d.setAttribute("docket.multipart", string(parts))
	for _, p := range form.Parts {
		if p.Name == "model" && !p.File {
			d.RequestModel = p.Value
		}
	}
}
