package capture

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// Tags of the head fields. They are stored: never renumber.
const (
	tagID = iota + 1
	tagLife
	tagTime
	tagProject
	tagEnvironment
	tagInstance
	tagUpstream
	tagAPI
	tagProvider
	tagServerAddress
	tagServerPort
	tagMethod
	tagPath
	tagUpstreamPath
	tagQuery
	tagTraceID
	tagSpanID
	tagParentSpanID
	tagUpstreamSpanID
	tagTraceFlags
	tagTraceState
	tagSampleValue
	tagConversationID
	tagUserID
	tagPromptName
	tagPromptVersion
	tagSources
	tagTag
	tagLevel
	tagInternal
	tagHeader
	tagAttribute
	tagState
	tagStatus
	tagError
	tagSent
	tagFirstByte
	tagDuration
	tagChunks
	tagEndEvent
	tagBodyEnded
	tagRequestLen
	tagRequestFlags
	tagRequestSize
	tagRequestCRC
	tagResponseFlags
	tagResponseSize
	tagResponseCRC
	tagDefaults
)

const (
	flagPresent = 1 << iota
	flagWhole
	flagCut
)

func (w *fieldWriter) body(tag byte, b bodyInfo) {
	var flags uint64
	if b.Present {
		flags |= flagPresent
	}
	if b.Whole {
		flags |= flagWhole
	}
	if b.Cut {
		flags |= flagCut
	}
	w.uint(tag, flags)
	w.uint(tag+1, b.Size)
	w.uint(tag+2, uint64(b.CRC))
}

// set reads one field of a bodyInfo whose first tag is tag.
func (b *bodyInfo) set(tag byte, f field) bool {
	switch f.tag {
	case tag:
		b.Present, b.Whole, b.Cut = f.num&flagPresent != 0, f.num&flagWhole != 0, f.num&flagCut != 0
	case tag + 1:
		b.Size = f.num
	case tag + 2:
		b.CRC = uint32(f.num)
	default:
		return false
	}
	return true
}

func (w *fieldWriter) id(id uuid.UUID) {
	w.out = binary.AppendUvarint(w.out, tagID<<1|1)
	w.out = binary.AppendUvarint(w.out, uint64(len(id)))
	w.out = append(w.out, id[:]...)
}

func (w *fieldWriter) time(t time.Time) { w.uint(tagTime, uint64(max(t.UnixMicro(), 0))) }

func (f field) time() time.Time { return time.UnixMicro(int64(f.num)).UTC() }

func (b boot) write(w *fieldWriter) {
	w.uint(tagLife, b.Life)
	w.time(b.Time)
}

func (h *beginHead) write(w *fieldWriter) {
	w.id(h.ID)
	w.uint(tagLife, h.Life)
	w.time(h.Time)
	for _, s := range h.texts() {
		w.string(s.tag, *s.text)
	}
	w.uint(tagServerPort, uint64(h.ServerPort))
	w.uint(tagTraceFlags, uint64(h.TraceFlags))
	w.uint(tagSampleValue, h.SampleValue)
	w.strings(tagTag, h.Tags)
	w.bool(tagInternal, h.Internal)
	w.pairs(tagHeader, h.Headers)
	w.pairs(tagAttribute, h.Attributes)
	w.uint(tagDefaults, h.Defaults)
	w.body(tagRequestFlags, h.Request)
}

type textField struct {
	tag  byte
	text *string
}

// texts lists the text fields of a begin head.
func (h *beginHead) texts() [22]textField {
	return [22]textField{
		{tagProject, &h.Project},
		{tagEnvironment, &h.Environment},
		{tagInstance, &h.Instance},
		{tagUpstream, &h.Upstream},
		{tagAPI, &h.API},
		{tagProvider, &h.Provider},
		{tagServerAddress, &h.ServerAddress},
		{tagMethod, &h.Method},
		{tagPath, &h.Path},
		{tagUpstreamPath, &h.UpstreamPath},
		{tagQuery, &h.Query},
		{tagTraceID, &h.TraceID},
		{tagSpanID, &h.SpanID},
		{tagParentSpanID, &h.ParentSpanID},
		{tagUpstreamSpanID, &h.UpstreamSpanID},
		{tagTraceState, &h.TraceState},
		{tagConversationID, &h.ConversationID},
		{tagUserID, &h.UserID},
		{tagPromptName, &h.PromptName},
		{tagPromptVersion, &h.PromptVersion},
		{tagSources, &h.Sources},
		{tagLevel, &h.Level},
	}
}

func (h *beginHead) read(head []byte) error {
	texts := h.texts()
	return eachField(head, func(f field) error {
		switch f.tag {
		case tagID:
			return readID(&h.ID, f)
		case tagLife:
			h.Life = f.num
		case tagTime:
			h.Time = f.time()
		case tagServerPort:
			h.ServerPort = int(f.num)
		case tagTraceFlags:
			h.TraceFlags = uint8(f.num)
		case tagSampleValue:
			h.SampleValue = f.num
		case tagTag:
			h.Tags = append(h.Tags, f.text)
		case tagInternal:
			h.Internal = f.num != 0
		case tagDefaults:
			h.Defaults = f.num
		case tagHeader:
			return readPair(&h.Headers, f)
		case tagAttribute:
			return readPair(&h.Attributes, f)
		default:
			if h.Request.set(tagRequestFlags, f) {
				return nil
			}
			for _, s := range texts {
				if s.tag == f.tag {
					*s.text = f.text
				}
			}
		}
		return nil
	})
}

func (h *requestHead) write(w *fieldWriter) {
	w.id(h.ID)
	w.body(tagRequestFlags, h.Request)
}

func (h *requestHead) read(head []byte) error {
	return eachField(head, func(f field) error {
		if f.tag == tagID {
			return readID(&h.ID, f)
		}
		h.Request.set(tagRequestFlags, f)
		return nil
	})
}

func (h *endHead) write(w *fieldWriter) {
	w.id(h.ID)
	w.time(h.Time)
	w.string(tagState, h.State)
	w.uint(tagStatus, uint64(max(h.Status, 0)))
	w.string(tagError, h.Error)
	w.bool(tagSent, h.Sent)
	w.pairs(tagHeader, h.Headers)
	w.pairs(tagAttribute, h.Attributes)
	if h.HasFirst {
		w.uint(tagFirstByte, uint64(max(h.FirstByte, 0))+1)
	}
	w.uint(tagDuration, uint64(max(h.Duration, 0)))
	w.uint(tagChunks, uint64(h.Chunks))
	w.bool(tagEndEvent, h.EndEvent)
	w.bool(tagBodyEnded, h.BodyEnded)
	w.body(tagResponseFlags, h.Response)
	w.body(tagRequestFlags, h.Request)
	w.uint(tagRequestLen, uint64(h.RequestLen))
}

func (h *endHead) read(head []byte) error {
	return eachField(head, func(f field) error {
		switch f.tag {
		case tagID:
			return readID(&h.ID, f)
		case tagTime:
			h.Time = f.time()
		case tagState:
			h.State = f.text
		case tagStatus:
			h.Status = int(f.num & 0xffff)
		case tagError:
			h.Error = f.text
		case tagSent:
			h.Sent = f.num != 0
		case tagHeader:
			return readPair(&h.Headers, f)
		case tagAttribute:
			return readPair(&h.Attributes, f)
		case tagFirstByte:
			h.HasFirst, h.FirstByte = true, time.Duration(f.num-1)
		case tagDuration:
			h.Duration = time.Duration(f.num)
		case tagChunks:
			h.Chunks = uint32(f.num)
		case tagEndEvent:
			h.EndEvent = f.num != 0
		case tagBodyEnded:
			h.BodyEnded = f.num != 0
		case tagRequestLen:
			h.RequestLen = int(min(f.num, 1<<31-1))
		default:
			_ = h.Response.set(tagResponseFlags, f) || h.Request.set(tagRequestFlags, f)
		}
		return nil
	})
}

func readID(id *uuid.UUID, f field) error {
	if len(f.text) != len(id) {
		return errMalformed
	}
	copy(id[:], f.text)
	return nil
}

func readPair(kv *[]string, f field) error {
	name, value, err := f.pair()
	*kv = append(*kv, name, value)
	return err
}

// firstID finds the exchange that a record belongs to, without reading more of
// the head than that: the id is its first field.
func firstID(head []byte) (uuid.UUID, error) {
	var id uuid.UUID
	if len(head) < 2+len(id) || head[0] != tagID<<1|1 || int(head[1]) != len(id) {
		return id, errMalformed
	}
	copy(id[:], head[2:])
	return id, nil
}
