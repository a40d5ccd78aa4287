package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"docket/internal/record"
)

// mediaPart describes an image, sound, film or file that a message refers to by
// a data URL or by an address. The bytes of a data URL are measured and hashed,
// never kept.
func mediaPart(modality, url string) record.Part {
	head, data, found := strings.Cut(url, ",")
	if !found || !hasPrefixFold(head, "data:") {
		return record.Part{Type: record.PartURI, Modality: modality, URI: url}
	}
	mime, params, _ := strings.Cut(head[len("data:"):], ";")
	if strings.Contains(params, "base64") {
		return blobPart(modality, mime, data, len(head)+1)
	}
	sum := sha256.Sum256([]byte(data))
	return record.Part{
		Type: record.PartBlob, Modality: modality, MIMEType: mime,
		Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:]),
	}
}

// blobPart describes inline base64. before is the number of characters that
// stood before it in the same JSON string; a shortened value counts them in.
func blobPart(modality, mime, data string, before int) record.Part {
	p := record.Part{Type: record.PartBlob, Modality: modality, MIMEType: strings.ToLower(mime)}
	if head, length, padding, ok := elided(data); ok {
		if p.MIMEType == "" {
			p.MIMEType = sniffMIME(head)
		}
		p.Bytes = int64(length-before)*3/4 - int64(padding)
		return p
	}
	if p.MIMEType == "" {
		p.MIMEType = sniffMIME(data)
	}
	p.Bytes, p.SHA256 = measure(data)
	return p
}

// measure returns size and hash of what base64 text stands for. Text that is
// none keeps an estimated size and no hash.
func measure(data string) (size int64, sum string) {
	if size, sum, ok := measureAs(base64.StdEncoding, data); ok {
		return size, sum
	}
	data = strings.NewReplacer("\n", "", "\r", "").Replace(data)
	bare := strings.TrimRight(data, "=")
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if size, sum, ok := measureAs(enc, bare); ok {
			return size, sum
		}
	}
	return int64(len(data)) * 3 / 4, ""
}

// measureAs is measure for one variant of base64, without line ends.
func measureAs(enc *base64.Encoding, data string) (size int64, sum string, ok bool) {
	const block = 32 << 10
	h := sha256.New()
	in := make([]byte, min(len(data), block))
	out := make([]byte, enc.DecodedLen(len(in)))
	for data != "" {
		n := copy(in, data)
		data = data[n:]
		k, err := enc.Decode(out, in[:n])
		if err != nil || data != "" && k != n/4*3 {
			return 0, "", false
		}
		h.Write(out[:k])
		size += int64(k)
	}
	return size, hex.EncodeToString(h.Sum(nil)), true
}

// sniffMIME guesses the media type of bytes that came without one, by their
// magic number. "" means unknown.
func sniffMIME(data string) string {
	head, _ := base64.StdEncoding.DecodeString(data[:min(len(data), 16)/4*4])
	for _, m := range []struct{ magic, mime string }{
		{"\x89PNG", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF8", "image/gif"}, {"%PDF", "application/pdf"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.mime
		}
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return "image/webp"
	}
	return ""
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// modalityOf returns the modality that a media type belongs to.
func modalityOf(mime string) string {
	switch kind, _, _ := strings.Cut(strings.ToLower(mime), "/"); kind {
	case record.ModalityImage, record.ModalityAudio, record.ModalityVideo:
		return kind
	}
	return record.ModalityFile
}
