// Command mockllm is a mock of an OpenAI-compatible upstream, made to be cheap:
// every byte it sends is computed when its shape is set, and it speaks HTTP/1.1
// over plain connections without net/http, so that it is not what a test measures.
//
// It serves
//
//	POST /v1/chat/completions   JSON, or events when the body has "stream":true
//	POST /v1/responses          likewise
//	POST /v1/systemone, /v1/decisions   one fixed decision
//	GET  /v1/models             one model
//	GET  /__mock?ttft=&chunks=&gap=&text=&size=   sets the shape of later answers
//	                            and returns it with the checksums of the bodies
//
// Each answer carries X-Mock-Req-Crc, the CRC-32C of the request body it read,
// so a client can tell whether a proxy changed the request. Streamed chat chunks
// carry their send time in the id (see package payload).
//
// It listens on a loopback address only.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"docket/bench/internal/payload"
)

const maxBody = 64 << 20

// Shape says how answers look. Its JSON form is the reply of /__mock.
type Shape struct {
	TTFT   time.Duration `json:"ttft"`
	Chunks int           `json:"chunks"`
	Gap    time.Duration `json:"gap"`
	Text   int           `json:"text"` // bytes of text in a chunk
	Size   int           `json:"size"` // bytes of a JSON answer

	JSONCRC   uint32 `json:"json_crc"`
	StreamCRC uint32 `json:"stream_crc"` // stamps taken as zeroes

	chat, responses             []byte
	chatStream, responsesStream []chunk
}

type chunk struct {
	wire  []byte // with its chunked framing
	stamp int    // offset of the stamp, or -1
}

func (s *Shape) build() {
	s.chat = payload.ChatResponse(s.Size)
	s.responses = payload.ResponsesBody(s.Size)
	s.JSONCRC = crc32.Checksum(s.chat, payload.Table)
	events := payload.ChatChunks(s.Chunks, s.Text)
	s.StreamCRC = 0
	for _, e := range events {
		s.StreamCRC = crc32.Update(s.StreamCRC, payload.Table, e)
	}
	s.chatStream = frame(events)
	s.responsesStream = frame(payload.ResponsesEvents(s.Chunks, s.Text))
}

func frame(events [][]byte) []chunk {
	out := make([]chunk, len(events))
	for i, e := range events {
		w := fmt.Appendf(nil, "%x\r\n%s\r\n", len(e), e)
		at := bytes.Index(w, []byte(payload.IDPrefix))
		if at >= 0 {
			at += len(payload.IDPrefix)
		}
		out[i] = chunk{w, at}
	}
	return out
}

var shape atomic.Pointer[Shape]

func main() {
	addr := flag.String("addr", "127.0.0.1:9901", "loopback address to listen on")
	s := &Shape{}
	flag.DurationVar(&s.TTFT, "ttft", 0, "time before the first byte of an answer")
	flag.IntVar(&s.Chunks, "chunks", 100, "chunks of a stream")
	flag.DurationVar(&s.Gap, "gap", 0, "time between chunks")
	flag.IntVar(&s.Text, "text", 16, "bytes of text in a chunk")
	flag.IntVar(&s.Size, "size", 1024, "bytes of a JSON answer")
	flag.Parse()
	s.build()
	shape.Store(s)

	host, _, err := net.SplitHostPort(*addr)
	if err != nil {
		log.Fatal(err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		log.Fatalf("refusing to listen on %s: not a loopback address", *addr)
	}
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "mockllm on %s\n", ln.Addr())
	for {
		c, err := ln.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go (&conn{c: c, in: make([]byte, 32<<10)}).serve()
	}
}

type conn struct {
	c    net.Conn
	in   []byte // in[r:w] is unread
	r, w int
	body []byte
	out  []byte
}

var errTooBig = errors.New("request too big")

func (c *conn) fill() error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	if c.w == len(c.in) {
		if c.r == 0 {
			return errTooBig
		}
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
	}
	n, err := c.c.Read(c.in[c.w:])
	c.w += n
	if n > 0 {
		return nil
	}
	return err
}

// head returns one request head, valid until the next read.
func (c *conn) head() ([]byte, error) {
	for {
		if i := bytes.Index(c.in[c.r:c.w], []byte("\r\n\r\n")); i >= 0 {
			h := c.in[c.r : c.r+i+2]
			c.r += i + 4
			return h, nil
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

func (c *conn) readBody(n int64) error {
	if n > maxBody {
		return errTooBig
	}
	for n > 0 {
		if c.r == c.w {
			if err := c.fill(); err != nil {
				return err
			}
		}
		m := min(int64(c.w-c.r), n)
		c.body = append(c.body, c.in[c.r:c.r+int(m)]...)
		c.r += int(m)
		n -= m
	}
	return nil
}

func (c *conn) readChunked() error {
	for {
		var i int
		for {
			if i = bytes.IndexByte(c.in[c.r:c.w], '\n'); i >= 0 {
				break
			}
			if err := c.fill(); err != nil {
				return err
			}
		}
		line := bytes.TrimRight(c.in[c.r:c.r+i], "\r")
		if j := bytes.IndexByte(line, ';'); j >= 0 {
			line = line[:j]
		}
		c.r += i + 1
		if len(line) == 0 {
			continue
		}
		n, err := strconv.ParseInt(string(line), 16, 64)
		if err != nil {
			return err
		}
		if n == 0 {
			_, err := c.head2()
			return err
		}
		if int64(len(c.body))+n > maxBody {
			return errTooBig
		}
		if err := c.readBody(n); err != nil {
			return err
		}
	}
}

// head2 reads the trailer after the last chunk, which is most often empty.
func (c *conn) head2() ([]byte, error) {
	for {
		b := c.in[c.r:c.w]
		if bytes.HasPrefix(b, []byte("\r\n")) {
			c.r += 2
			return nil, nil
		}
		if i := bytes.Index(b, []byte("\r\n\r\n")); i >= 0 {
			c.r += i + 4
			return nil, nil
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

func header(h []byte, lower string) []byte {
	for len(h) > 0 {
		i := bytes.IndexByte(h, '\n')
		if i < 0 {
			return nil
		}
		line := h[:i]
		h = h[i+1:]
		if len(line) > len(lower) && line[len(lower)] == ':' && bytes.EqualFold(line[:len(lower)], []byte(lower)) {
			return bytes.TrimSpace(line[len(lower)+1:])
		}
	}
	return nil
}

func (c *conn) serve() {
	defer c.c.Close()
	for {
		h, err := c.head()
		if err != nil {
			return
		}
		i := bytes.IndexByte(h, '\r')
		line := h[:max(i, 0)]
		f := bytes.Fields(line)
		if len(f) != 3 {
			return
		}
		method, target := string(f[0]), string(f[1])
		closing := bytes.EqualFold(header(h, "connection"), []byte("close"))
		length := header(h, "content-length")
		chunked := bytes.EqualFold(header(h, "transfer-encoding"), []byte("chunked"))
		expect := bytes.EqualFold(header(h, "expect"), []byte("100-continue"))
		var n int64
		if len(length) > 0 {
			if n, err = strconv.ParseInt(string(length), 10, 64); err != nil {
				return
			}
		}
		// h is not used past this point: reading the body may overwrite it.
		if expect {
			if _, err := io.WriteString(c.c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
				return
			}
		}
		c.body = c.body[:0]
		if chunked {
			err = c.readChunked()
		} else {
			err = c.readBody(n)
		}
		if err != nil {
			return
		}
		if err := c.answer(method, target); err != nil || closing {
			return
		}
	}
}

func (c *conn) answer(method, target string) error {
	path, query := target, ""
	for i := range target {
		if target[i] == '?' {
			path, query = target[:i], target[i+1:]
			break
		}
	}
	s := shape.Load()
	switch {
	case path == "/v1/chat/completions" && method == "POST":
		if wantsStream(c.body) {
			return c.stream(s, s.chatStream)
		}
		sleep(s.TTFT)
		return c.json(200, s.chat)
	case path == "/v1/responses" && method == "POST":
		if wantsStream(c.body) {
			return c.stream(s, s.responsesStream)
		}
		sleep(s.TTFT)
		return c.json(200, s.responses)
	case path == "/v1/systemone" && method == "POST":
		return c.json(200, payload.SystemOne)
	case path == "/v1/decisions" && method == "POST":
		return c.json(200, payload.Decisions)
	case path == "/v1/models":
		return c.json(200, payload.Models)
	case path == "/__mock":
		next, err := reshape(*s, query)
		if err != nil {
			return c.json(400, []byte(`{"error":`+strconv.Quote(err.Error())+`}`))
		}
		shape.Store(next)
		b, _ := json.Marshal(next)
		return c.json(200, b)
	}
	return c.json(404, []byte(`{"error":{"message":"no such path","type":"invalid_request_error"}}`))
}

func reshape(s Shape, query string) (*Shape, error) {
	v, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	for k, dst := range map[string]*time.Duration{"ttft": &s.TTFT, "gap": &s.Gap} {
		if t := v.Get(k); t != "" {
			if *dst, err = time.ParseDuration(t); err != nil {
				return nil, err
			}
		}
	}
	for k, dst := range map[string]*int{"chunks": &s.Chunks, "text": &s.Text, "size": &s.Size} {
		if t := v.Get(k); t != "" {
			if *dst, err = strconv.Atoi(t); err != nil {
				return nil, err
			}
			if *dst < 1 || *dst > 1<<24 {
				return nil, fmt.Errorf("%s out of range", k)
			}
		}
	}
	s.build()
	return &s, nil
}

// wantsStream looks for "stream":true near either end of the body, so that a
// large image between them costs nothing.
func wantsStream(b []byte) bool {
	const near = 4 << 10
	if len(b) <= 2*near {
		return streamIn(b)
	}
	return streamIn(b[:near]) || streamIn(b[len(b)-near:])
}

func streamIn(b []byte) bool {
	for {
		i := bytes.Index(b, []byte(`"stream":`))
		if i < 0 {
			return false
		}
		b = b[i+len(`"stream":`):]
		if bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("true")) {
			return true
		}
	}
}

func sleep(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
	}
}

func (c *conn) json(status int, body []byte) error {
	c.out = append(c.out[:0], "HTTP/1.1 "...)
	c.out = strconv.AppendInt(c.out, int64(status), 10)
	c.out = append(c.out, " OK\r\nContent-Type: application/json\r\nX-Mock-Req-Crc: "...)
	c.out = strconv.AppendUint(c.out, uint64(crc32.Checksum(c.body, payload.Table)), 16)
	c.out = append(c.out, "\r\nContent-Length: "...)
	c.out = strconv.AppendInt(c.out, int64(len(body)), 10)
	c.out = append(c.out, "\r\n\r\n"...)
	c.out = append(c.out, body...)
	_, err := c.c.Write(c.out)
	return err
}

// stream sends each event in a write of its own, on a schedule fixed by the
// first one, so a late event does not make all later ones late.
func (c *conn) stream(s *Shape, events []chunk) error {
	crc := crc32.Checksum(c.body, payload.Table)
	sleep(s.TTFT)
	c.out = append(c.out[:0], "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nX-Mock-Req-Crc: "...)
	c.out = strconv.AppendUint(c.out, uint64(crc), 16)
	c.out = append(c.out, "\r\nTransfer-Encoding: chunked\r\n\r\n"...)
	if _, err := c.c.Write(c.out); err != nil {
		return err
	}
	start := time.Now()
	for i, e := range events {
		if s.Gap > 0 && i > 0 {
			sleep(time.Until(start.Add(time.Duration(i) * s.Gap)))
		}
		b := e.wire
		if e.stamp >= 0 {
			c.out = append(c.out[:0], b...)
			payload.PutStamp(c.out, e.stamp, time.Now().UnixNano())
			b = c.out
		}
		if _, err := c.c.Write(b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(c.c, "0\r\n\r\n")
	return err
}
