package localclickhouse

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// selection is a statement that returns rows.
type selection struct {
	conn *conn
	sql  string
	st   statement
	req  request
}

// format is the one the result is written in.
func (q selection) format() string { return first(q.st.format, q.req.format) }

// streams says whether the result can be fetched in pieces: the engine does so
// for SELECT only, and closes the format at the end of every piece, which is
// harmless only in formats without head and foot.
func (q selection) streams() bool {
	switch q.st.verb {
	case "SELECT", "WITH":
	default:
		return false
	}
	switch q.format() {
	case "Native", "JSONEachRow", "JSONCompactEachRow", "TSV", "TabSeparated", "TSVRaw", "TabSeparatedRaw", "CSV", "RowBinary", "LineAsString":
		return true
	default:
		return false
	}
}

// stream fetches and sends the result piece by piece.
func (q selection) stream(ctx context.Context, a *answer) error {
	empty, err := q.pump(ctx, a)
	if err != nil || !empty {
		return err
	}
	return q.sendHeader(ctx, a)
}

// pump sends the pieces of a streamed result; empty means that there were none.
func (q selection) pump(ctx context.Context, w io.Writer) (empty bool, err error) {
	rows, err := q.conn.stream(ctx, q.sql, q.req.format, q.req.params)
	if err != nil {
		return false, err
	}
	finished := false
	defer func() { rows.close(finished) }()
	for empty = true; ; empty = false {
		chunk, err := rows.next(ctx)
		if err != nil {
			return false, err
		}
		if len(chunk.data()) == 0 {
			chunk.close()
			finished = true
			return empty, nil
		}
		_, err = w.Write(chunk.data())
		chunk.close()
		if err != nil {
			return false, err
		}
	}
}

// once runs the statement to its end and sends all of the result.
func (q selection) once(ctx context.Context, a *answer, readOnly bool) error {
	r, err := q.conn.query(ctx, q.sql, q.req.format, q.req.params)
	if err != nil {
		return err
	}
	data := r.data()
	if len(data) > 0 {
		_, err = a.Write(data)
	}
	r.close()
	if err != nil || len(data) > 0 || !readOnly {
		return err
	}
	return q.sendHeader(ctx, a)
}

// sendHeader stands in for the block without rows that a server sends for an
// empty Native result: the engine writes nothing, and the driver would not
// know the columns.
func (q selection) sendHeader(ctx context.Context, a *answer) error {
	if q.format() != "Native" {
		return nil
	}
	columns, err := q.describe(ctx)
	if err != nil {
		var e *Exception
		if errors.As(err, &e) && e.Code == codeSyntax {
			return nil // not a SELECT in the end, such as SHOW
		}
		return err
	}
	_, err = a.Write(emptyBlock(columns))
	return err
}

// columnType is a column of a result.
type columnType struct{ name, kind string }

// describe asks for the columns of the statement.
func (q selection) describe(ctx context.Context) ([]columnType, error) {
	// A line break, in case the statement ends in a comment.
	sql := "DESCRIBE TABLE (" + q.sql[:q.st.head] + "\n)"
	r, err := q.conn.query(ctx, sql, "JSONCompactEachRow", q.req.params)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return parseDescription(r.data())
}

// parseDescription reads lines of ["name","type",...].
func parseDescription(lines []byte) ([]columnType, error) {
	var columns []columnType
	for len(lines) > 0 {
		line := lines
		if i := indexNewline(lines); i >= 0 {
			line, lines = lines[:i], lines[i+1:]
		} else {
			lines = nil
		}
		var row []string
		if err := json.Unmarshal(line, &row); err != nil || len(row) < 2 {
			return nil, fmt.Errorf("describe a result: the engine answered %.100q", line)
		}
		columns = append(columns, columnType{row[0], row[1]})
	}
	return columns, nil
}

// emptyBlock is a Native block of revision 0 with columns and no rows.
func emptyBlock(columns []columnType) []byte {
	b := binary.AppendUvarint(nil, uint64(len(columns)))
	b = binary.AppendUvarint(b, 0)
	for _, c := range columns {
		for _, s := range []string{c.name, c.kind} {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	return b
}
