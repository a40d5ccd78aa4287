package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

const maxUsageHeld = 16 << 10 // no usage event is longer

// usageFilter passes an event stream on without the events that hold nothing but
// usage: those with an empty list of choices. It holds lines back only as long as
// they may belong to one. Everything else passes as it comes, byte for byte.
type usageFilter struct {
	src io.ReadCloser
	err error
	buf []byte
	out []byte // to be read

	held     []byte // whole lines of the event
	comments []byte // of them, those that are no part of it
	data     []byte // of its data lines
	line     []byte // the beginning of a line behind them

	size    int  // of the line so far
	passing bool // the event is none of ours
	comment bool // the line passes alone
	cr      bool // a CR came last: an LF belongs to it
	lf      place
}

// place is where an LF behind a CR goes.
type place int

const (
	toClient place = iota
	toHeld
	toHeldComment
	toNobody
)

func (f *usageFilter) Close() error { return f.src.Close() }

// Read returns what has passed. An error of the source comes after that.
func (f *usageFilter) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(f.out) == 0 {
		f.out = f.out[:0:cap(f.out)]
	}
	for len(f.out) == 0 && f.err == nil {
		if f.buf == nil {
			f.buf = make([]byte, 32<<10)
		}
		var n int
		n, f.err = f.src.Read(f.buf)
		f.write(f.buf[:n])
		if f.err != nil {
			f.flush()
		}
	}
	if len(f.out) == 0 {
		return 0, f.err
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

func (f *usageFilter) write(p []byte) {
	for len(p) > 0 {
		if f.cr && p[0] == '\n' {
			f.addLF()
			p = p[1:]
			continue
		}
		f.cr = false
		n := bytes.IndexAny(p, "\r\n")
		if n < 0 {
			f.part(p)
			return
		}
		f.part(p[:n])
		f.endLine(p[n])
		p = p[n+1:]
	}
}

// addLF puts the LF where the CR before it went.
func (f *usageFilter) addLF() {
	f.cr = false
	switch f.lf {
	case toClient:
		f.out = append(f.out, '\n')
	case toHeldComment:
		f.comments = append(f.comments, '\n')
		fallthrough
	case toHeld:
		f.held = append(f.held, '\n')
	case toNobody:
	}
}

// part takes a part of a line.
func (f *usageFilter) part(p []byte) {
	if len(p) == 0 {
		return
	}
	f.size += len(p)
	if f.passing || f.comment {
		f.out = append(f.out, p...)
		return
	}
	f.line = append(f.line, p...)
	switch {
	case f.line[0] == ':' && len(f.held) == 0:
		f.comment = true
		f.release()
	case !f.mayBeUsage():
		f.passing = true
		f.release()
	}
}

// release passes on what is held.
func (f *usageFilter) release() {
	f.out = append(append(f.out, f.held...), f.line...)
	f.forget()
}

func (f *usageFilter) forget() {
	f.held, f.comments, f.data, f.line = f.held[:0], f.comments[:0], f.data[:0], f.line[:0]
}

// endLine takes the first byte of the end of a line.
func (f *usageFilter) endLine(b byte) {
	blank := f.size == 0
	f.size, f.cr, f.lf = 0, b == '\r', toClient
	switch {
	case f.comment || f.passing:
		f.out = append(f.out, b)
		f.comment, f.passing = false, f.passing && !blank
	case blank && isUsage(f.data):
		f.out = append(f.out, f.comments...)
		f.lf = toNobody
		f.forget()
	case blank:
		f.line = append(f.line, b)
		f.release()
	default:
		f.hold(b)
	}
}

// hold keeps a whole line until its event tells what it is.
func (f *usageFilter) hold(b byte) {
	f.lf = toHeld
	if f.line[0] == ':' {
		f.lf = toHeldComment
		f.comments = append(append(f.comments, f.line...), b)
	}
	if data, ok := dataOf(f.line); ok {
		if len(f.data) > 0 {
			f.data = append(f.data, '\n')
		}
		f.data = append(f.data, data...)
	}
	f.held = append(append(f.held, f.line...), b)
	f.line = f.line[:0]
	if len(f.data) > 0 && json.Valid(f.data) && !isUsage(f.data) {
		f.passing, f.lf = true, toClient
		f.release()
	}
}

// mayBeUsage says whether the line, as far as it has come, may belong to a usage
// event.
func (f *usageFilter) mayBeUsage() bool {
	if len(f.held)+len(f.line) > maxUsageHeld {
		return false
	}
	data, ok := dataOf(f.line)
	data = bytes.TrimLeft(data, " ")
	return !ok || len(f.data) > 0 || len(data) == 0 || data[0] == '{'
}

// flush ends the stream. The beginning of a usage event goes with it.
func (f *usageFilter) flush() {
	data, _ := dataOf(f.line)
	if startsUsage(string(f.data) + string(data)) {
		f.out = append(f.out, f.comments...)
		f.forget()
		return
	}
	f.release()
}

// dataOf is the data in a line, if it is a line of data.
func dataOf(line []byte) (data []byte, ok bool) {
	data, ok = bytes.CutPrefix(bytes.TrimPrefix(line, []byte("\uFEFF")), []byte("data:"))
	return bytes.TrimPrefix(data, []byte(" ")), ok
}

// isUsage says whether the data of an event is a chunk that holds nothing but
// usage.
func isUsage(data []byte) bool {
	if !bytes.Contains(data, []byte(`"usage"`)) || !json.Valid(data) {
		return false
	}
	choices, _ := memberOf(data, "choices")
	usage, _ := memberOf(data, "usage")
	return choices.end > 0 && data[choices.start] == '[' && len(bytes.TrimSpace(data[choices.start+1:choices.end-1])) == 0 &&
		usage.end > 0 && data[usage.start] == '{'
}

// startsUsage says whether data is such a chunk, or breaks off within one.
func startsUsage(data string) bool {
	return strings.Contains(strings.NewReplacer(" ", "", "\t", "", "\n", "").Replace(data), `"choices":[],"usage":{`) || isUsage([]byte(data))
}
