package upstreamtest

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// H2 is one end of an HTTP/2 connection, frame by frame. It acknowledges
// settings and pings, gives back what it receives to the flow control, and
// obeys that of the other side. It is used by one goroutine.
type H2 struct {
	net.Conn
	*http2.Framer

	Settings   map[http2.SettingID]uint32 // of the other side
	GoneAway   bool                       // it sent GOAWAY
	Withhold   bool                       // give no more room to what is received
	Pings      int                        // how many it sent
	server     *Server                    // nil at a client
	buf        bytes.Buffer
	enc        *hpack.Encoder
	next       uint32
	window     int64
	streams    map[uint32]*h2Stream
	unreported []uint32 // streams of requests, in order
}

// h2Stream is what came on one stream.
type h2Stream struct {
	response Response
	headed   bool
	ended    bool
	reset    *http2.ErrCode
	window   int64
}

func newH2(c net.Conn) *H2 {
	h := &H2{Conn: c, Framer: http2.NewFramer(c, c), Settings: map[http2.SettingID]uint32{}, next: 1, window: 65_535, streams: map[uint32]*h2Stream{}}
	h.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.MaxHeaderListSize = 16 << 20
	h.enc = hpack.NewEncoder(&h.buf)
	return h
}

// NewH2 begins HTTP/2 as a client of a connection.
func NewH2(c net.Conn) (*H2, error) {
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		return nil, err
	}
	h := newH2(c)
	return h, h.WriteSettings()
}

// Over2 returns a function for Start that speaks HTTP/2, over TLS when there is
// a configuration for it.
func Over2(config *tls.Config, serve func(*H2)) func(*Conn) {
	return func(c *Conn) {
		var nc net.Conn = c.Conn
		if config != nil {
			t := tls.Server(c.Conn, config)
			if t.Handshake() != nil {
				return
			}
			nc = t
		}
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(nc, preface); err != nil || string(preface) != http2.ClientPreface {
			return
		}
		h := newH2(nc)
		h.server = c.server
		if h.WriteSettings() == nil {
			serve(h)
		}
	}
}

// Headers sends a head or trailers.
func (h *H2) Headers(id uint32, end bool, fields ...Field) error {
	h.buf.Reset()
	for _, f := range fields {
		if err := h.enc.WriteField(hpack.HeaderField{Name: strings.ToLower(f.Name), Value: f.Value}); err != nil {
			return err
		}
	}
	block := h.buf.Bytes()
	for first := true; first || len(block) > 0; first = false {
		part := block[:min(len(block), 16_384)]
		block = block[len(part):]
		var err error
		if first {
			err = h.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: part, EndStream: end, EndHeaders: len(block) == 0})
		} else {
			err = h.WriteContinuation(id, len(block) == 0, part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Body sends data as far as the other side has room, and reads while it has
// none.
func (h *H2) Body(id uint32, end bool, data []byte) error {
	for {
		s := h.stream(id)
		n := min(int64(len(data)), 16_384, h.window, s.window)
		if n > 0 || len(data) == 0 {
			last := n == int64(len(data))
			if err := h.WriteData(id, last && end, data[:n]); err != nil || last {
				return err
			}
			h.window, s.window, data = h.window-n, s.window-n, data[n:]
			continue
		}
		if s.reset != nil {
			return fmt.Errorf("stream %d was reset", id)
		}
		if err := h.Pump(); err != nil {
			return err
		}
	}
}

// Send sends a whole request and returns its stream.
func (h *H2) Send(r Request) (uint32, error) {
	id := h.NewStream()
	fields := []Field{{":method", r.Method()}, {":scheme", "http"}, {":authority", strings.Join(r.Values("Host"), "")}, {":path", r.Target()}}
	return id, h.send(id, append(fields, endToEnd(r.Fields)...), r.Body, r.Trailers)
}

// NewStream returns the next stream of a client.
func (h *H2) NewStream() uint32 { id := h.next; h.next += 2; return id }

// Answer sends a whole answer, interim ones before it included. One that is Cut
// ends with a reset.
func (h *H2) Answer(id uint32, r Response, method string) error {
	for _, m := range r.Interim {
		if err := h.Headers(id, false, append([]Field{{":status", strconv.Itoa(m.status())}}, endToEnd(m.Fields)...)...); err != nil {
			return err
		}
	}
	fields := append([]Field{{":status", strconv.Itoa(r.Status())}}, endToEnd(r.Fields)...)
	if method == "HEAD" {
		return h.Headers(id, true, fields...)
	}
	if !r.Cut {
		return h.send(id, fields, r.Body, r.Trailers)
	}
	if err := h.Headers(id, false, fields...); err != nil {
		return err
	}
	if err := h.Body(id, false, r.Body); err != nil {
		return err
	}
	return h.WriteRSTStream(id, http2.ErrCodeInternal)
}

func (h *H2) send(id uint32, fields []Field, body []byte, trailers []Field) error {
	if err := h.Headers(id, len(body) == 0 && len(trailers) == 0, fields...); err != nil {
		return err
	}
	if len(body) > 0 {
		if err := h.Body(id, len(trailers) == 0, body); err != nil {
			return err
		}
	}
	if len(trailers) > 0 {
		return h.Headers(id, true, trailers...)
	}
	return nil
}

// endToEnd leaves out what HTTP/2 has other means for.
func endToEnd(fields []Field) []Field {
	var out []Field
	for _, f := range fields {
		switch strings.ToLower(f.Name) {
		case "host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		default:
			out = append(out, f)
		}
	}
	return out
}

// NextRequest waits for the next request that has come whole, and notes it.
func (h *H2) NextRequest() (Request, uint32, error) {
	return h.next2(func(s *h2Stream) bool { return s.ended })
}

// NextHead waits for the next request whose head has come.
func (h *H2) NextHead() (Request, uint32, error) {
	return h.next2(func(s *h2Stream) bool { return s.headed })
}

func (h *H2) next2(ready func(*h2Stream) bool) (Request, uint32, error) {
	for {
		for i, id := range h.unreported {
			s := h.streams[id]
			if !ready(s) {
				continue
			}
			h.unreported = append(h.unreported[:i:i], h.unreported[i+1:]...)
			r := Request(s.response.message)
			h.server.mu.Lock()
			h.server.requests = append(h.server.requests, r)
			h.server.mu.Unlock()
			return r, id, nil
		}
		if err := h.Pump(); err != nil {
			return Request{}, 0, err
		}
	}
}

// Response waits until a stream has ended. A reset, or the end of the
// connection, makes it Cut; an error means that not even its head came.
func (h *H2) Response(id uint32) (Response, error) {
	for {
		s := h.stream(id)
		if s.ended {
			return s.response, nil
		}
		var err error
		if s.reset != nil {
			err = fmt.Errorf("stream %d was reset: %v", id, *s.reset)
		} else {
			err = h.Pump()
		}
		if err != nil {
			s.response.Cut = true
			if s.headed {
				err = nil
			}
			return s.response, err
		}
	}
}

// Received waits until at least n bytes of a stream's body have come, after its
// head.
func (h *H2) Received(id uint32, n int) error {
	for s := h.stream(id); !s.headed || len(s.response.Body) < n; {
		if err := h.Pump(); err != nil {
			return err
		}
	}
	return nil
}

// Interim waits until n interim answers have come on a stream.
func (h *H2) Interim(id uint32, n int) error {
	for s := h.stream(id); len(s.response.Interim) < n; {
		if err := h.Pump(); err != nil {
			return err
		}
	}
	return nil
}

// Reset waits until a stream is reset, and says how.
func (h *H2) Reset(id uint32) (http2.ErrCode, error) {
	for s := h.stream(id); ; {
		if s.reset != nil {
			return *s.reset, nil
		}
		if err := h.Pump(); err != nil {
			return 0, err
		}
	}
}

func (h *H2) stream(id uint32) *h2Stream {
	s := h.streams[id]
	if s == nil {
		s = &h2Stream{window: 65_535}
		if n, ok := h.Settings[http2.SettingInitialWindowSize]; ok {
			s.window = int64(n)
		}
		h.streams[id] = s
	}
	return s
}

// Pump takes the next frame.
func (h *H2) Pump() error {
	frame, err := h.ReadFrame()
	if err != nil {
		return err
	}
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		return h.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			h.Pings++
			return h.WritePing(true, f.Data)
		}
	case *http2.GoAwayFrame:
		h.GoneAway = true
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			h.window += int64(f.Increment)
		} else {
			h.stream(f.StreamID).window += int64(f.Increment)
		}
	case *http2.RSTStreamFrame:
		h.stream(f.StreamID).reset = &f.ErrCode
	case *http2.MetaHeadersFrame:
		h.headers(f)
	case *http2.DataFrame:
		return h.data(f)
	}
	return nil
}

func (h *H2) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	err := f.ForeachSetting(func(s http2.Setting) error {
		h.Settings[s.ID] = s.Val
		return nil
	})
	if err != nil {
		return err
	}
	return h.WriteSettingsAck()
}

func (h *H2) headers(f *http2.MetaHeadersFrame) {
	s := h.stream(f.StreamID)
	m := message{First: "HTTP/2 " + f.PseudoValue("status")}
	if method := f.PseudoValue("method"); method != "" {
		m.First = method + " " + f.PseudoValue("path") + " HTTP/2"
		m.Fields = []Field{{"Host", f.PseudoValue("authority")}}
		h.unreported = append(h.unreported, f.StreamID)
	}
	for _, hf := range f.RegularFields() {
		m.Fields = append(m.Fields, Field{hf.Name, hf.Value})
	}
	switch code := m.status(); {
	case s.headed:
		s.response.Trailers = m.Fields
	case code >= 100 && code < 200:
		s.response.Interim = append(s.response.Interim, m)
	default:
		s.response.message, s.headed = m, true
	}
	s.ended = s.ended || f.StreamEnded()
}

func (h *H2) data(f *http2.DataFrame) error {
	s := h.stream(f.StreamID)
	s.response.Body = append(s.response.Body, f.Data()...)
	s.ended = s.ended || f.StreamEnded()
	if h.Withhold || f.Length == 0 {
		return nil
	}
	if err := h.WriteWindowUpdate(0, f.Length); err != nil || f.StreamEnded() {
		return err
	}
	return h.WriteWindowUpdate(f.StreamID, f.Length)
}
