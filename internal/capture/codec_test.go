package capture

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func encode(h interface{ write(*fieldWriter) }) []byte {
	var w fieldWriter
	h.write(&w)
	return w.out
}

func sampleBegin() beginHead {
	return beginHead{
		ID: uuid.MustParse("01a22de8-4534-7224-903c-b1aee772e5e3"), Life: 7, Time: time.UnixMicro(1_700_000_000_000_001).UTC(),
		Project: "p", Environment: "e", Instance: "i", Upstream: "u", API: "openai", Provider: "openai", ServerAddress: "h", ServerPort: 443,
		Method: "POST", Path: "/v1/x", UpstreamPath: "/x", Query: "a=1", TraceID: "t", SpanID: "s", ParentSpanID: "ps", UpstreamSpanID: "us",
		TraceFlags: 1, TraceState: "ot=rv:1", SampleValue: 1<<56 - 1, ConversationID: "c", UserID: "usr", PromptName: "pn", PromptVersion: "pv",
		Sources: "src", Tags: []string{"a", "b"}, Level: "full", Internal: true, Headers: []string{"accept", "", "x", "y"},
		Attributes: []string{"metadata.k", "v"}, Defaults: defaultEnvironment, Request: bodyInfo{Present: true, Whole: true, Size: 5, CRC: 9, Cut: true},
	}
}

func sampleEnd() endHead {
	return endHead{
		ID: uuid.MustParse("01a22de8-4534-7224-903c-b1aee772e5e3"), Time: time.UnixMicro(1_700_000_000_000_002).UTC(), State: "complete",
		Status: 200, Error: "e", Sent: true, Headers: []string{"a", "b"}, FirstByte: 0, HasFirst: true, Duration: time.Second, Chunks: 3,
		EndEvent: true, BodyEnded: true, Response: bodyInfo{Present: true, Size: 1 << 40, CRC: 1}, Request: bodyInfo{Cut: true}, RequestLen: 4,
	}
}

func TestHeadsRoundTrip(t *testing.T) {
	begin, end := sampleBegin(), sampleEnd()
	request := requestHead{ID: begin.ID, Request: begin.Request}
	var gotBegin beginHead
	var gotEnd endHead
	var gotRequest requestHead
	if err := gotBegin.read(encode(&begin)); err != nil {
		t.Error(err)
	}
	if err := gotEnd.read(encode(&end)); err != nil {
		t.Error(err)
	}
	if err := gotRequest.read(encode(&request)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(begin, gotBegin) + cmp.Diff(end, gotEnd) + cmp.Diff(request, gotRequest); diff != "" {
		t.Error(diff)
	}
	if id, err := firstID(encode(&end)); err != nil || id != end.ID {
		t.Errorf("first id %v, %v", id, err)
	}
	if lifeOf(encode(&begin)) != 7 {
		t.Error("life of begin")
	}
}

// TestUnknownFields: a record of a later version is read as far as it is known.
func TestUnknownFields(t *testing.T) {
	w := fieldWriter{out: encode(&requestHead{ID: sampleBegin().ID})}
	w.uint(200, 5)
	w.string(201, "new")
	var h requestHead
	if err := h.read(w.out); err != nil || h.ID != sampleBegin().ID {
		t.Errorf("%v, %v", h.ID, err)
	}
}

func FuzzHeads(f *testing.F) {
	begin, end := sampleBegin(), sampleEnd()
	f.Add(encode(&begin))
	f.Add(encode(&end))
	f.Add([]byte{1, 1})
	f.Fuzz(func(t *testing.T, head []byte) {
		var b, b2 beginHead
		if b.read(head) == nil {
			if err := b2.read(encode(&b)); err != nil {
				t.Errorf("what was read cannot be read again: %v", err)
			}
		}
		var e endHead
		_ = e.read(head)
		var r requestHead
		_ = r.read(head)
		_, _, _ = splitRecord(head)
		_, _ = firstID(head)
		lifeOf(head)
	})
}

func TestBuffer(t *testing.T) {
	m := newMemory(16 << 10)
	b := buffer{mem: m, limit: 1 << 20}
	b.write(make([]byte, 5000)) // 8 KiB
	b.write(make([]byte, 3000))
	if len(b.bytes()) != 8000 || b.cut != "" || m.used.Load() != 8<<10 {
		t.Errorf("%d bytes, cut %q, %d in use", len(b.bytes()), b.cut, m.used.Load())
	}
	b.write(make([]byte, 1000)) // needs 16 KiB more at once
	if len(b.bytes()) != 8192 || b.cut == "" || b.size != 9000 {
		t.Errorf("%d bytes, cut %q, size %d", len(b.bytes()), b.cut, b.size)
	}
	b.release()
	if m.used.Load() != 0 {
		t.Errorf("%d bytes in use after release", m.used.Load())
	}
}

func TestBoundedCutsOnARune(t *testing.T) {
	for in, want := range map[string]string{
		"  abc ": "abc", "zwölf": "zw", "a\x00b": "ab", "\xff": "\uFFFD", "日本": "日", "😀": "",
	} {
		if got := bounded(in, 3); got != want {
			t.Errorf("bounded(%q) = %q, want %q", in, got, want)
		}
	}
}
