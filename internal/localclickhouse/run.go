package localclickhouse

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
)

// run does what a request asks and writes the result to a.
func (s *Server) run(ctx context.Context, a *answer, req request, body io.Reader) error {
	body, err := decode(body, req.contentCode, req.decompress)
	if err != nil {
		return err
	}
	body = &limitedReader{r: body, left: s.opts.MaxBody}
	sql, st := req.query, scan(req.query)
	if !st.takesData() {
		rest, err := io.ReadAll(body)
		if err != nil {
			return bodyError(err)
		}
		sql = join(sql, string(rest))
		st = scan(sql)
		body = strings.NewReader("")
	}
	if st.takesData() {
		return s.insert(ctx, a, req, sql, st, body)
	}
	return s.statement(ctx, a, req, sql, st)
}

// takesData says whether an INSERT names the format of data that follows.
func (st statement) takesData() bool { return st.verb == "INSERT" && st.format != "" }

// join puts a statement together of its two places.
func join(query, body string) string {
	if query == "" || body == "" {
		return query + body
	}
	return query + "\n" + body
}

// connect opens a connection in the state that a request asks for.
func (s *Server) connect(ctx context.Context, req request) (*conn, error) {
	c, err := s.engine.open()
	if err != nil {
		return nil, err
	}
	if err := c.enter(ctx, req); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *conn) enter(ctx context.Context, req request) error {
	if req.database != "default" {
		if err := c.exec(ctx, "USE "+quoteName(req.database)); err != nil {
			return err
		}
	}
	settings := req.settings
	if req.readonly {
		settings = append(settings[:len(settings):len(settings)], setting{"readonly", "1"})
	}
	return c.set(ctx, settings)
}

// statement runs anything but an INSERT with data.
func (s *Server) statement(ctx context.Context, a *answer, req request, sql string, st statement) error {
	slots := s.readers
	if st.verb == "INSERT" {
		slots = s.writers
	}
	release, err := acquire(ctx, slots)
	if err != nil {
		return err
	}
	defer release()
	c, err := s.connect(ctx, req)
	if err != nil {
		return err
	}
	defer c.close()
	if req.isHandshake(sql) {
		_, err = a.Write(handshake(s.version))
		return err
	}
	kind, err := c.check(sql, st, req.readonly)
	if err != nil {
		return err
	}
	if st.format != "" {
		a.setFormat(st.format)
	}
	q := selection{conn: c, sql: sql, st: st, req: req}
	if kind == classReadOnly && q.streams() {
		return q.stream(ctx, a)
	}
	return q.once(ctx, a, kind == classReadOnly)
}

// check refuses what a server would refuse over HTTP, and what a reader must
// not do although the engine's read-only mode lets it.
func (c *conn) check(sql string, st statement, readonly bool) (class uint32, err error) {
	an := c.classify(sql)
	if st.verb == "" && an.count == 0 {
		return an.class, &Exception{Code: codeSyntax, Name: "SYNTAX_ERROR", Message: "Syntax error: Empty query"}
	}
	if an.count > 1 {
		return an.class, &Exception{Code: codeSyntax, Name: "SYNTAX_ERROR", Message: "Syntax error (Multi-statements are not allowed)"}
	}
	if !readonly {
		return an.class, nil
	}
	if st.reachesOut {
		return an.class, &Exception{Code: codeReadonly, Name: "READONLY", Message: "Functions that reach files, other machines or run text as SQL are not allowed in readonly mode"}
	}
	if an.class != classReadOnly && an.class != classUnknown {
		return an.class, &Exception{Code: codeReadonly, Name: "READONLY", Message: "Cannot execute query in readonly mode"}
	}
	return an.class, nil
}

// limitedReader refuses to read more than its limit; io.LimitReader would
// pretend that the data ended.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.left -= int64(n)
	if l.left < 0 {
		return 0, &Exception{Code: codeTooLarge, Name: "TOO_MANY_BYTES", Message: "the unpacked request body is too large"}
	}
	return n, err
}

// bodyError tells a body that ended early from one that is damaged.
func bodyError(err error) error {
	var e *Exception
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Exception{Code: codeTimeout, Name: "TIMEOUT_EXCEEDED", Message: "the request body came too slowly"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Exception{Code: codeCannotReadAll, Name: "CANNOT_READ_ALL_DATA", Message: "the request body ended early"}
	default:
		return err
	}
}
