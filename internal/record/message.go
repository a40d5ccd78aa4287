package record

import "strings"

// Part types, as in OpenTelemetry's gen_ai.input.messages, and refusal.
const (
	PartText             = "text"
	PartReasoning        = "reasoning"
	PartRefusal          = "refusal"
	PartToolCall         = "tool_call"
	PartToolCallResponse = "tool_call_response"
	PartBlob             = "blob" // bytes that were inline; only their description is kept here
	PartURI              = "uri"
	PartFile             = "file" // a provider's file id
	PartOther            = "other"
)

// Modalities of blob, uri and file parts.
const (
	ModalityImage = "image"
	ModalityAudio = "audio"
	ModalityVideo = "video"
	ModalityFile  = "file"
)

// Message is one message of a conversation in the normal form, whatever API it
// came through.
type Message struct {
	Role         string `json:"role"` // system, developer, user, assistant, tool
	Name         string `json:"name,omitempty"`
	Parts        []Part `json:"parts"`
	FinishReason string `json:"finish_reason,omitempty"` // output messages only
}

// Part is one piece of a message. Which fields are set depends on Type.
type Part struct {
	Type string `json:"type"`

	Content string `json:"content,omitempty"` // text, reasoning, refusal, other (as JSON), transcript of a blob of audio

	ID        string  `json:"id,omitempty"`   // tool_call, tool_call_response
	Name      string  `json:"name,omitempty"` // tool_call
	Arguments *string `json:"arguments,omitempty"`
	Response  *string `json:"response,omitempty"` // tool_call_response
	IsError   *bool   `json:"is_error,omitempty"` // tool_call_response: the API's own flag, nil if it has none

	Modality string  `json:"modality,omitempty"`
	MIMEType string  `json:"mime_type,omitempty"`
	URI      string  `json:"uri,omitempty"`
	FileID   string  `json:"file_id,omitempty"`
	Filename string  `json:"filename,omitempty"`
	Detail   *string `json:"detail,omitempty"` // image detail; nil when not given
	Bytes    int64   `json:"bytes,omitempty"`  // decoded size of a blob
	SHA256   string  `json:"sha256,omitempty"` // of the decoded bytes of a blob
}

// Text joins the text parts of a message. ok is false when it has none, which
// differs from an empty text.
func (m Message) Text() (text string, ok bool) {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == PartText {
			b.WriteString(p.Content)
			ok = true
		}
	}
	return b.String(), ok
}
