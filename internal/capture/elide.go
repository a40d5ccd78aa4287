package capture

import (
	"bytes"

	"docket/internal/wire"
)

// minElided is the least length from which values are shortened. It is above
// what a shortened value takes, so that shortening never makes a copy longer.
const minElided = 512

// eliding is how a copy goes on that has outgrown its limit: long values of
// inline bytes are shortened to their head and length, so that the structure of
// the text behind them is kept.
type eliding struct {
	*wire.Elider
	out []byte
}

// startEliding shortens what has been copied so far, in place. It returns false
// when the copy is no text in which values can be found.
func (b *buffer) startEliding() bool {
	if b.maxValue == 0 || !hasValues(b.bytes()) {
		return false
	}
	b.cut = cutLimit
	b.elide = &eliding{Elider: wire.NewElider(max(min(b.maxValue, b.limit/2), minElided))}
	have := b.bytes()
	*b.block = b.elide.Append(have[:0], have)
	return true
}

// hasValues says whether a body looks like JSON or an event stream.
func hasValues(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n\ufeff")
	for _, start := range []string{"{", "[", "data:", "event:", ":", "id:"} {
		if bytes.HasPrefix(body, []byte(start)) {
			return true
		}
	}
	return false
}

func (b *buffer) writeElided(p []byte) {
	e := b.elide
	e.out = e.Append(e.out[:0], p)
	b.put(e.out)
}

// finish adds what is still held back, when the body has ended.
func (b *buffer) finish() {
	if f := b.form; f != nil && b.size > 0 && b.limit > 0 {
		b.form = nil
		b.put(f.description())
		b.freeze()
	}
	if e := b.elide; e != nil {
		b.elide = nil
		b.put(e.Close(e.out[:0]))
	}
}

// keep says that what is copied now must stay as it is.
func (b *buffer) keep() { b.maxValue = 0 }
