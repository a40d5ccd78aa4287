package capture

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"net/textproto"
	"path"
	"slices"
	"strings"

	"docket/internal/wire"
)

const (
	maxFormParts = 64
	maxFormHead  = 8 << 10
	maxFormName  = 128
	maxFormValue = 256
	formStep     = 4 << 10 // how much is looked at together
)

// form describes a multipart body while it passes, in place of a copy: names,
// types and sizes of its parts, and the values of a few fields that say how a
// call is to be answered. Files are often large and private, and are not judged.
type form struct {
	delimiter []byte // of two parts, with the line end before it
	state     formState
	data      []byte // what is not understood yet
	out       wire.Form
	part      wire.FormPart
	value     bool // of the part is kept
}

type formState byte

const (
	formStart formState = iota // its first delimiter has not come
	formHead                   // the end of a delimiter, and the head of a part
	formBody
	formDone // behind the last delimiter, or broken
)

// newForm returns nil when the header announces no multipart body.
func newForm(h http.Header) *form {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") || params["boundary"] == "" || h.Get("Content-Encoding") != "" {
		return nil
	}
	f := &form{delimiter: []byte("\r\n--" + params["boundary"]), out: wire.Form{Parts: []wire.FormPart{}}}
	f.data = append(f.data, "\r\n"...) // the first delimiter has no line end before it
	return f
}

// write takes the next bytes. It says whether the body is what it was announced
// as; if it is not, what has come until then is in head.
func (f *form) write(p []byte) (ok bool, head []byte) {
	for ok = true; ok && len(p) > 0 && f.state != formDone; {
		n := min(len(p), formStep)
		f.data, p = append(f.data, p[:n]...), p[n:]
		for f.step() {
		}
		if f.state == formStart && !bytes.HasPrefix(f.delimiter, f.data) {
			ok, head = false, append(f.data[len("\r\n"):], p...)
		}
	}
	return ok, head
}

// step takes what can be understood of data, and says whether there may be more.
func (f *form) step() bool {
	switch f.state {
	case formStart:
		if !bytes.HasPrefix(f.data, f.delimiter) {
			return false
		}
		f.take(len(f.delimiter))
		f.state = formHead
		return true
	case formHead:
		return f.readHead()
	case formBody:
		at := bytes.Index(f.data, f.delimiter)
		if at < 0 {
			f.pass(max(len(f.data)-len(f.delimiter)+1, 0))
			return false
		}
		f.pass(at)
		f.endPart()
		f.take(len(f.delimiter))
		f.state = formHead
		return true
	}
	f.data = nil
	return false
}

func (f *form) take(n int) { f.data = f.data[:copy(f.data, f.data[n:])] }

// pass counts bytes of a part.
func (f *form) pass(n int) {
	f.part.Bytes += uint64(n)
	if f.value && f.part.Bytes <= maxFormValue {
		f.part.Value += string(f.data[:n])
	} else {
		f.part.Value, f.value = "", false
	}
	f.take(n)
}

func (f *form) readHead() bool {
	if bytes.HasPrefix(f.data, []byte("--")) {
		f.state = formDone
		return true
	}
	end := bytes.Index(f.data, []byte("\r\n\r\n"))
	size := end
	if end < 0 {
		size = len(f.data)
	}
	if size > maxFormHead {
		f.out.Cut, f.state = true, formDone
		return false
	}
	if end < 0 {
		return false
	}
	head := textproto.MIMEHeader{}
	for line := range strings.SplitSeq(string(f.data[:end]), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			head.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	f.take(end + len("\r\n\r\n"))
	f.beginPart(head)
	f.state = formBody
	return true
}

func (f *form) beginPart(head textproto.MIMEHeader) {
	_, params, _ := mime.ParseMediaType(head.Get("Content-Disposition")) // what is wrong with it is nobody's concern here
	kind, _, _ := mime.ParseMediaType(head.Get("Content-Type"))          // likewise
	file, isFile := params["filename"]
	f.part = wire.FormPart{Name: bounded(params["name"], maxFormName), Type: bounded(kind, maxFormName), File: isFile, Extension: extension(file)}
	f.value = !isFile && telling(f.part.Name)
}

func (f *form) endPart() {
	if len(f.out.Parts) < maxFormParts {
		f.part.Value = bounded(f.part.Value, maxFormValue)
		f.out.Parts = append(f.out.Parts, f.part)
	} else {
		f.out.More++
	}
}

// telling lists fields whose values say how a call is to be answered. Others may
// hold content.
func telling(name string) bool {
	return slices.Contains([]string{
		"background", "chunking_strategy", "include[]", "input_fidelity", "language", "model", "n", "output_compression", "output_format",
		"partial_images", "purpose", "quality", "response_format", "size", "stream", "temperature", "timestamp_granularities[]",
	}, name)
}

// extension of a file's name, if it is one; the name itself may be anybody's.
func extension(name string) string {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	plain := !strings.ContainsFunc(ext, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if len(ext) > 8 || !plain {
		return ""
	}
	return ext
}

// description is what is recorded in place of the body.
func (f *form) description() []byte {
	if f.state == formBody {
		f.pass(len(f.data))
		f.endPart()
	}
	f.out.Cut = f.out.Cut || f.state != formDone
	text, err := json.Marshal(f.out)
	if err != nil {
		return nil // strings and numbers
	}
	return text
}
