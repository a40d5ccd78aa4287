package localclickhouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// insertChunk is how much of a body is handed to the engine at once.
const insertChunk = 256 << 10

// insert runs an INSERT whose data begins in the statement, behind its FORMAT
// clause, and goes on in the body.
func (s *Server) insert(ctx context.Context, a *answer, req request, sql string, st statement, body io.Reader) error {
	if req.readonly {
		return &Exception{Code: codeReadonly, Name: "READONLY", Message: "Cannot execute query in readonly mode"}
	}
	data := io.MultiReader(strings.NewReader(trimDataStart(sql[st.tail:])), body)
	buf := make([]byte, insertChunk)
	// The first piece comes before the slot: a client that sends nothing must
	// not hold one.
	n, more, err := fill(data, buf)
	if err != nil {
		return err
	}
	release, err := acquire(ctx, s.writers)
	if err != nil {
		return err
	}
	defer release()
	c, err := s.connect(ctx, req)
	if err != nil {
		return err
	}
	defer c.close()
	ins, err := c.insert(ctx, sql[:st.head], st.format, req.params)
	if err != nil {
		return err
	}
	defer ins.close()
	for {
		if err := ins.append(ctx, buf[:n]); err != nil {
			return err
		}
		if !more {
			break
		}
		if n, more, err = fill(data, buf); err != nil {
			return err
		}
	}
	done, err := ins.commit(ctx)
	if err != nil {
		return err
	}
	a.w.Header().Set("X-ClickHouse-Summary", fmt.Sprintf(`{"read_rows":"0","read_bytes":"0","written_rows":"%d","written_bytes":"%d"}`, done.rows, done.bytes))
	return nil
}

// fill reads until buf is full or the data ends; more says which.
func fill(r io.Reader, buf []byte) (n int, more bool, err error) {
	for n < len(buf) {
		m, err := r.Read(buf[n:])
		n += m
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return n, false, nil
		}
		if err != nil {
			return n, false, bodyError(fmt.Errorf("read the request body: %w", err))
		}
	}
	return n, true, nil
}

// trimDataStart drops the blank between a format name and inline data: up to
// and including one line break.
func trimDataStart(s string) string {
	s = strings.TrimLeft(s, " \t")
	s = strings.TrimPrefix(s, "\r")
	return strings.TrimPrefix(s, "\n")
}
