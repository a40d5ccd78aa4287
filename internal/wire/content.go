package wire

import (
	"strings"

	"docket/internal/record"
)

// contentParts reads the content of an OpenAI message: a text, null, or a list
// of parts, those of the chat and of the Responses API alike.
func contentParts(v value) []record.Part {
	switch v.kind() {
	case 0, 'n':
		return []record.Part{}
	case '"':
		return []record.Part{{Type: record.PartText, Content: v.text()}}
	case '[':
		parts := []record.Part{}
		for item := range v.items() {
			parts = append(parts, contentPart(item)...)
		}
		return parts
	}
	return []record.Part{otherPart(v)}
}

// contentPart reads one part of a content list.
func contentPart(v value) []record.Part {
	if v.isString() {
		return []record.Part{{Type: record.PartText, Content: v.text()}}
	}
	switch kind := v.get("type").text(); kind {
	case "text", "input_text", "output_text", "summary_text":
		return one(record.Part{Type: record.PartText, Content: v.get("text").text()})
	case "refusal":
		return one(record.Part{Type: record.PartRefusal, Content: v.get("refusal").text()})
	case "reasoning_text":
		return one(record.Part{Type: record.PartReasoning, Content: v.get("text").text()})
	case "thinking":
		return one(record.Part{Type: record.PartReasoning, Content: joinTexts(v.get("thinking"))})
	case "image_url", "input_image", "video_url", "output_image":
		return one(imagePart(v, strings.TrimSuffix(kind, "_url")))
	case "input_audio", "audio_url":
		return one(audioPart(v))
	case "file", "input_file":
		return one(filePart(v))
	}
	return one(otherPart(v))
}

func one(p record.Part) []record.Part { return []record.Part{p} }

// otherPart keeps what has no form of its own as JSON, without inline bytes.
func otherPart(v value) record.Part {
	return record.Part{Type: record.PartOther, Content: v.compact()}
}

// joinTexts returns a text, or the texts of a list of text parts.
func joinTexts(v value) string {
	if v.isString() {
		return v.text()
	}
	var b strings.Builder
	for item := range v.items() {
		b.WriteString(item.get("text").text())
	}
	return b.String()
}

// imagePart reads an image (or film) that is given by address, data URL or file
// id, in an object or bare.
func imagePart(v value, kind string) record.Part {
	modality := record.ModalityImage
	if kind == record.ModalityVideo {
		modality = record.ModalityVideo
	}
	ref := v.first("image_url", "video_url")
	url, detail := ref, v.get("detail")
	if ref.isObject() {
		url, detail = ref.get("url"), ref.get("detail")
	}
	var p record.Part
	if id := v.get("file_id"); id.isString() && !url.given() {
		p = record.Part{Type: record.PartFile, Modality: modality, FileID: id.text()}
	} else {
		p = mediaPart(modality, url.text())
	}
	if text, ok := detail.textOK(); ok {
		p.Detail = &text
	}
	return p
}

// audioPart reads spoken input.
func audioPart(v value) record.Part {
	a := v.first("input_audio", "audio_url")
	if url := a.get("url"); url.isString() {
		return mediaPart(record.ModalityAudio, url.text())
	}
	mime := ""
	if format := a.get("format").text(); format != "" {
		mime = "audio/" + format
	}
	data := a.get("data").text()
	if hasPrefixFold(data, "data:") {
		return mediaPart(record.ModalityAudio, data)
	}
	return blobPart(record.ModalityAudio, mime, data, 0)
}

// filePart reads a document that is given by id, address or data URL.
func filePart(v value) record.Part {
	f := v
	if inner := v.get("file"); inner.isObject() {
		f = inner
	}
	var p record.Part
	data := f.get("file_data").text()
	switch {
	case hasPrefixFold(data, "data:"):
		p = mediaPart(record.ModalityFile, data)
	case data != "":
		p = blobPart(record.ModalityFile, "", data, 0)
	case f.get("file_url").isString():
		p = record.Part{Type: record.PartURI, Modality: record.ModalityFile, URI: f.get("file_url").text()}
	default:
		p = record.Part{Type: record.PartFile, Modality: record.ModalityFile, FileID: f.get("file_id").text()}
	}
	p.Filename = f.get("filename").text()
	return p
}

// toolResult makes the part of a tool's result from its content: its texts
// joined, nil when there is none, and whatever else it holds behind it.
func toolResult(id, name string, content []record.Part, isError *bool) []record.Part {
	result := record.Part{Type: record.PartToolCallResponse, ID: id, Name: name, IsError: isError}
	parts := []record.Part{result}
	var text strings.Builder
	given := false
	for _, p := range content {
		switch p.Type {
		case record.PartText, record.PartOther:
			text.WriteString(p.Content)
			given = true
		default:
			parts = append(parts, p)
		}
	}
	if given {
		s := text.String()
		parts[0].Response = &s
	}
	return parts
}

// metadataOf reads the members of a request's metadata.
func metadataOf(v value) map[string]string {
	const maxMembers, maxLength = 64, 1024
	var m map[string]string
	for k, item := range v.members() {
		if m == nil {
			m = make(map[string]string)
		}
		s := item.word()
		if s == "" && item.given() {
			s = item.compact()
		}
		if len(m) < maxMembers && len(k)+len(s) <= maxLength {
			m[k] = s
		}
	}
	return m
}
