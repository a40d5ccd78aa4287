package wire

import (
	"encoding/json"
	"iter"
	"math"
	"strconv"
	"strings"
)

// value is one JSON value by its text, for random access. The zero value stands
// for a value that is not there. The text may be cut off; then members are seen
// as far as it goes.
type value struct {
	raw  string
	left *int // items that may still be looked at, shared with inner values; nil: any number
}

// maxItems bounds how many list items of one body become records: what a few
// bytes of JSON turn into is much larger than they are.
const maxItems = 100_000

// parse returns the first value of a text. whole is false when the text ends
// inside it, ok is false when it is not JSON.
func parse(s string) (v value, whole, ok bool) {
	c := cursor{s: s}
	v = c.value()
	return v, !c.failed(), !c.bad
}

// kind returns the first byte of the value: one of { [ " t f n, a digit or minus,
// or 0 when there is none.
func (v value) kind() byte {
	if v.raw == "" {
		return 0
	}
	return v.raw[0]
}

func (v value) isObject() bool { return v.kind() == '{' }
func (v value) isArray() bool  { return v.kind() == '[' }
func (v value) isString() bool { return v.kind() == '"' }

// given says that the value is there and not null.
func (v value) given() bool { return v.kind() != 0 && v.kind() != 'n' }

// get returns the member of an object; of several with this name the last.
func (v value) get(name string) value {
	var found value
	for k, m := range v.members() {
		if k == name {
			found = m
		}
	}
	return found
}

// at follows names from object to object.
func (v value) at(names ...string) value {
	for _, n := range names {
		v = v.get(n)
	}
	return v
}

// first returns the first of the named members that is given.
func (v value) first(names ...string) value {
	for _, n := range names {
		if m := v.get(n); m.given() {
			return m
		}
	}
	return value{}
}

// members iterates over an object; other kinds have none.
func (v value) members() iter.Seq2[string, value] {
	return func(yield func(string, value) bool) {
		if !v.isObject() {
			return
		}
		c := cursor{s: v.raw}
		for ok := c.enter('{'); ok; ok = c.more('}') {
			k := c.key()
			if c.failed() || !yield(k, value{c.raw(), v.left}) {
				return
			}
		}
	}
}

// items iterates over an array; other kinds have none.
func (v value) items() iter.Seq[value] {
	return func(yield func(value) bool) {
		if !v.isArray() {
			return
		}
		c := cursor{s: v.raw}
		for ok := c.enter('['); ok; ok = c.more(']') {
			if v.left != nil {
				if *v.left == 0 {
					return
				}
				*v.left--
			}
			if item := (value{c.raw(), v.left}); item.raw == "" || !yield(item) {
				return
			}
		}
	}
}

// text returns a string's text, "" for other kinds.
func (v value) text() string {
	s, _ := v.textOK()
	return s
}

func (v value) textOK() (string, bool) {
	c := cursor{s: v.raw}
	return c.str()
}

// word returns a string's text or the text of a number, true or false, "" for
// everything else: for ids and codes that come as either.
func (v value) word() string {
	switch v.kind() {
	case 0, 'n', '{', '[':
		return ""
	case '"':
		return v.text()
	}
	return v.raw
}

// uint returns a whole number that is not negative, nil for everything else.
func (v value) uint() *uint64 {
	if n, ok := v.number(); ok {
		return &n
	}
	return nil
}

func (v value) number() (n uint64, ok bool) {
	if v.raw == "" || v.raw[0] < '0' || v.raw[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(v.raw, 10, 64)
	if err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(v.raw, 64)
	if err != nil || f >= 1<<63 || f != math.Trunc(f) {
		return 0, false
	}
	return uint64(f), true
}

// isTrue says whether the value is the literal true.
func (v value) isTrue() bool { return v.raw == "true" }

// boolean returns true or false, nil for everything else.
func (v value) boolean() *bool {
	if v.raw != "true" && v.raw != "false" {
		return nil
	}
	b := v.isTrue()
	return &b
}

// verbatim returns the text of the value if it is valid JSON. One that is not
// (cut off, or with NaN in it) comes back as a JSON string of its text.
func (v value) verbatim() string {
	if v.raw == "" || json.Valid([]byte(v.raw)) {
		return v.raw
	}
	b, err := json.Marshal(v.raw)
	if err != nil {
		return ""
	}
	return string(b)
}

// compact is verbatim without the middle of long strings.
func (v value) compact() string {
	if len(v.raw) <= MaxValue {
		return v.verbatim()
	}
	e := NewElider(MaxValue)
	kept := e.Append(make([]byte, 0, MaxValue), []byte(v.raw))
	return value{raw: strings.TrimSpace(string(e.Close(kept)))}.verbatim()
}

// verbatimIf is verbatim of a value that is given, "" of null.
func (v value) verbatimIf() string {
	if !v.given() {
		return ""
	}
	return v.verbatim()
}
