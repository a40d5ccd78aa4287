package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"docket/internal/capture"
	"docket/internal/record"
	"docket/internal/spool"
)

// discard stores nothing.
type discard struct{}

func (discard) Write(context.Context, record.Batch) error { return nil }

// TestOpenCallLeavesRoom: a call that stays open while others fill the spool
// many times over does not keep their segments.
func TestOpenCallLeavesRoom(t *testing.T) {
	c := captureSection{Config: capture.DefaultConfig(), Spool: spool.DefaultConfig()}
	c.MaxBody, c.Spool.Dir, c.Spool.SegmentBytes, c.Spool.MinFree = 64*record.KiB, t.TempDir(), 2*record.MiB, 0
	c.Spool.MaxWait = time.Minute // a slow disk is not what this is about
	c.Spool.MaxBytes = 5 * c.Spool.SegmentBytes
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "spool.max_bytes: 10MiB: want at least 12MiB") {
		t.Errorf("validate: %v", err)
	}
	c.Spool.MaxBytes = 6 * c.Spool.SegmentBytes
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	s, err := spool.Open(c.Spool, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := capture.NewRecorder(c.Config, capture.Options{Spool: spoolPort{s}})
	d := capture.NewDrainer(c.Config, capture.DrainerOptions{Spool: spoolPort{s}, Sink: discard{}})
	begin := func() *capture.Exchange {
		const size = 60 << 10
		x := r.Begin(capture.Begin{Method: "POST", Path: "/v1/x", Header: http.Header{}, ContentLength: size})
		body := x.RequestBody(io.NopCloser(strings.NewReader(strings.Repeat("x", size))))
		if err := x.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, body)
		return x
	}
	open := begin()
	for range 40 { // 1.2 MiB each
		for range 20 {
			begin().End("")
		}
		if err := d.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	open.End("")
	if st := s.Stats(); len(st.Drops) > 0 {
		t.Errorf("refused %v, with %d segments", st.Drops, st.Segments)
	}
}
