package upstreamtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Field is one header field as it was on the wire.
type Field struct{ Name, Value string }

// Request is a request as it was on the wire, chunked framing removed from its
// body.
type Request message

// Response is an answer as it was on the wire, chunked framing removed from its
// body. First is its status line.
type Response struct {
	Interim []message // 1xx answers before it
	message
	Cut bool // the connection ended before the message did
}

// message is either of them. First is the first line.
type message struct {
	First    string
	Fields   []Field
	Body     []byte
	Trailers []Field
	Chunked  bool
}

// Method of a request.
func (r Request) Method() string { m, _, _ := strings.Cut(r.First, " "); return m }

// Target of a request.
func (r Request) Target() string {
	_, rest, _ := strings.Cut(r.First, " ")
	i := strings.LastIndexByte(rest, ' ')
	return rest[:max(i, 0)]
}

// Values returns the values of a field in order.
func (r Request) Values(name string) []string { return message(r).values(name) }

// Values returns the values of a field in order.
func (r Response) Values(name string) []string { return r.values(name) }

// Status of an answer, 0 if there was none.
func (r Response) Status() int { return r.status() }

func (m message) status() int {
	_, rest, _ := strings.Cut(m.First, " ")
	code, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(code)
	if err != nil {
		return 0
	}
	return n
}

func (m message) values(name string) []string {
	var out []string
	for _, f := range m.Fields {
		if strings.EqualFold(f.Name, name) {
			out = append(out, f.Value)
		}
	}
	return out
}

// ReadRequest reads one whole request.
func ReadRequest(r io.Reader) (Request, error) {
	b := bufio.NewReader(r)
	m, err := readHead(b)
	if err != nil {
		return Request(m), err
	}
	err = m.readBody(b, false)
	return Request(m), err
}

// ReadResponse reads one answer to a request with the method. An answer that
// breaks off is returned with Cut set and no error; an error means that not
// even its head came.
func ReadResponse(r *bufio.Reader, method string) (Response, error) {
	var out Response
	for {
		m, err := readHead(r)
		if err != nil {
			return out, err
		}
		if s := m.status(); s >= 100 && s < 200 && s != 101 {
			out.Interim = append(out.Interim, m)
			continue
		}
		out.message = m
		break
	}
	switch s := out.status(); {
	case method == "HEAD", s == 101, s == 204, s == 304:
		return out, nil
	}
	if err := out.readBody(r, true); err != nil {
		out.Cut = true
	}
	return out, nil
}

func readHead(r *bufio.Reader) (message, error) {
	var m message
	first, err := readLine(r)
	if err != nil {
		return m, err
	}
	m.First = first
	m.Fields, err = readFields(r)
	return m, err
}

func readFields(r *bufio.Reader) ([]Field, error) {
	var fields []Field
	for {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		if line == "" {
			return fields, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("no field: %q", line)
		}
		fields = append(fields, Field{name, strings.Trim(value, " \t")})
	}
}

func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// readBody reads what the fields announce; toEnd reads to the end of the
// connection when they announce nothing. What came before an error is kept.
func (m *message) readBody(r *bufio.Reader, toEnd bool) error {
	if te := m.values("Transfer-Encoding"); len(te) > 0 {
		m.Chunked = true
		return m.readChunks(r)
	}
	cl := m.values("Content-Length")
	if len(cl) == 0 {
		if !toEnd {
			return nil
		}
		var err error
		m.Body, err = io.ReadAll(r)
		return err
	}
	n, err := strconv.ParseInt(cl[0], 10, 64)
	if err != nil {
		return err
	}
	m.Body, err = io.ReadAll(io.LimitReader(r, n))
	if err == nil && int64(len(m.Body)) < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (m *message) readChunks(r *bufio.Reader) error {
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseInt(strings.TrimSpace(size), 16, 64)
		if err != nil {
			return err
		}
		if n == 0 {
			m.Trailers, err = readFields(r)
			return err
		}
		part, err := io.ReadAll(io.LimitReader(r, n))
		m.Body = append(m.Body, part...)
		if err != nil || int64(len(part)) < n {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
		if _, err := readLine(r); err != nil {
			return err
		}
	}
}

// ParseResponse reads one raw answer to a request with the method.
func ParseResponse(raw, method string) (Response, error) {
	return ReadResponse(bufio.NewReader(strings.NewReader(raw)), method)
}
