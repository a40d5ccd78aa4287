package localclickhouse

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxHeld is how much of a result is held back for wait_end_of_query.
	maxHeld = 64 << 20
	// clientLimit is how long a client may take to accept one piece of a
	// result, or to send one of a body: it holds a slot meanwhile.
	clientLimit = 2 * time.Minute
)

// answer is the response to one request. Until its first byte it can become an
// error with a status; after that an error goes into the body, behind a tag
// that the header announced.
type answer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	req     request
	tag     string
	out     io.Writer // w, or what packs into w
	held    bytes.Buffer
	started bool
}

func newAnswer(w http.ResponseWriter) *answer {
	return &answer{w: w, control: http.NewResponseController(w), out: w}
}

// prepare sets what depends on the request.
func (a *answer) prepare(req request) {
	a.req = req
	a.tag = rand.Text()[:16]
	if req.compress != "" {
		a.out = newBlockWriter(a.w, req.compress)
	}
	h := a.w.Header()
	h.Set("X-ClickHouse-Server-Display-Name", displayName)
	h.Set("X-ClickHouse-Timezone", "UTC")
	h.Set("X-ClickHouse-Exception-Tag", a.tag)
	if req.queryID != "" {
		h.Set("X-ClickHouse-Query-Id", req.queryID)
	}
	a.setFormat(req.format)
}

func (a *answer) setFormat(format string) {
	h := a.w.Header()
	h.Set("X-ClickHouse-Format", format)
	h.Set("Content-Type", contentType(format))
	h.Set("X-Content-Type-Options", "nosniff")
}

// contentType names the usual formats; the browser must not guess the others.
func contentType(format string) string {
	switch format {
	case "JSON", "JSONCompact", "JSONStrings":
		return "application/json; charset=UTF-8"
	case "JSONEachRow", "JSONCompactEachRow":
		return "application/x-ndjson; charset=UTF-8"
	case "CSV", "CSVWithNames", "CSVWithNamesAndTypes":
		return "text/csv; charset=UTF-8"
	case "Native", "RowBinary", "Parquet", "Arrow", "ArrowStream":
		return "application/octet-stream"
	default:
		return "text/plain; charset=UTF-8"
	}
}

// Write sends a piece of the result.
func (a *answer) Write(p []byte) (int, error) {
	if a.req.waitForEnd && !a.started {
		if a.held.Len()+len(p) <= maxHeld {
			return a.held.Write(p)
		}
		if err := a.sendHeld(); err != nil {
			return 0, err
		}
	}
	return a.send(p)
}

func (a *answer) send(p []byte) (int, error) {
	a.started = true
	a.allowWrite()
	n, err := a.out.Write(p)
	if err != nil {
		return n, fmt.Errorf("send the result: %w", err)
	}
	return n, nil
}

// allowWrite gives the client time for the next piece. It can only fail when
// the connection is gone, which the write then says.
func (a *answer) allowWrite() { _ = a.control.SetWriteDeadline(time.Now().Add(clientLimit)) }

// timedBody gives the client time for each piece of a body.
type timedBody struct {
	io.Reader
	control *http.ResponseController
}

func (b timedBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(clientLimit))
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		// Behind the body the server watches for the client's departure, which
		// a deadline would look like. After other errors the deadline stays: it
		// keeps the server from waiting for the rest of the body.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

func (a *answer) sendHeld() error {
	if a.held.Len() == 0 {
		return nil
	}
	_, err := a.send(a.held.Bytes())
	a.held = bytes.Buffer{}
	return err
}

// finish ends the response, with an error if there is one.
func (a *answer) finish(err error) {
	if err == nil {
		err = a.sendHeld()
	}
	a.allowWrite()
	switch {
	case err == nil && !a.started:
		a.w.Header().Set("Content-Length", "0")
		a.w.WriteHeader(http.StatusOK)
	case err != nil && !a.started:
		e := asException(err)
		a.setFormat("")
		h := a.w.Header()
		h.Del("X-ClickHouse-Format")
		h.Set("X-ClickHouse-Exception-Code", strconv.Itoa(e.Code))
		if e.Name != "" {
			h.Set("X-ClickHouse-Exception-Name", e.Name)
		}
		a.w.WriteHeader(e.status())
		_, _ = io.WriteString(a.w, e.Error()+"\n")
	case err != nil:
		a.failInside(asException(err))
	}
}

// failInside appends an exception to a result that has begun. It stands outside
// of compressed blocks, where the driver looks for it.
func (a *answer) failInside(e *Exception) {
	const maxMessage = 12 << 10 // the driver reads 16 KiB
	text := e.Error()
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	_, _ = fmt.Fprintf(a.w, "\r\n__exception__\r\n%s\r\n%s\n%d %s\r\n__exception__\r\n", a.tag, text, len(text), a.tag)
}

// asException gives every error the form of a ClickHouse exception.
func asException(err error) *Exception {
	var e *Exception
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &tooLarge):
		return &Exception{Code: codeTooLarge, Name: "TOO_MANY_BYTES", Message: fmt.Sprintf("the request body is larger than %d bytes", tooLarge.Limit)}
	case errors.Is(err, context.Canceled):
		return &Exception{Code: codeCancelled, Name: "QUERY_WAS_CANCELLED", Message: "the client left, or the engine is stopping"}
	case errors.Is(err, context.DeadlineExceeded):
		return &Exception{Code: codeTimeout, Name: "TIMEOUT_EXCEEDED", Message: err.Error()}
	default:
		return &Exception{Code: codeLogical, Name: "LOGICAL_ERROR", Message: err.Error()}
	}
}
