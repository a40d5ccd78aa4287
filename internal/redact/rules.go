package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Rules are the rules of the settings, ready for use. A nil Rules has none. It
// is safe for concurrent use.
type Rules struct {
	rules []*rule
	specs []Rule
	key   []byte
}

// NewRules makes rules of settings that are valid. It returns nil when there are
// none.
func NewRules(c Config) (*Rules, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(c.Rules) == 0 {
		return nil, nil //nolint:nilnil // nil is a Rules without rules
	}
	out := &Rules{specs: c.Rules, key: []byte(c.HMACKey.Reveal())}
	for _, spec := range c.Rules {
		r, err := spec.compile()
		if err != nil { // it was valid
			return nil, err
		}
		r.key = out.key
		out.rules = append(out.rules, r)
	}
	return out, nil
}

// Key is the secret of the HMACs, nil when there is none.
func (r *Rules) Key() []byte {
	if r == nil || len(r.key) == 0 {
		return nil
	}
	return r.key
}

// Version is the same as long as the rules and their key are, "" without rules. It
// tells nothing of the key.
func (r *Rules) Version() string {
	if r == nil {
		return ""
	}
	mac := hmac.New(sha256.New, r.key)
	_, _ = fmt.Fprintf(mac, "%q", r.specs) // a hash takes everything
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// OneWay says whether a rule applies to requests or answers alone: then what an
// answer said looks different when a later request repeats it.
func (r *Rules) OneWay() bool {
	return r != nil && slices.ContainsFunc(r.specs, func(s Rule) bool { return s.Where != WhereAll })
}

// Filter returns the rules that apply to the calls of an upstream, or of any when
// it is "", one way (WhereRequest, WhereResponse) or both (WhereAll: those of
// either). It is nil when there are none.
func (r *Rules) Filter(upstream, where string) *Filter {
	if r == nil {
		return nil
	}
	f := &Filter{answers: where == WhereResponse}
	for i, spec := range r.specs {
		if upstream != "" && len(spec.Upstreams) > 0 && !slices.Contains(spec.Upstreams, upstream) {
			continue
		}
		if where != WhereAll && spec.Where != WhereAll && spec.Where != where {
			continue
		}
		if r.rules[i].path != nil {
			f.paths = append(f.paths, r.rules[i])
		} else {
			f.patterns = append(f.patterns, r.rules[i])
		}
	}
	if len(f.paths)+len(f.patterns) == 0 {
		return nil
	}
	return f
}

// Marks counts what was redacted, by the names of the rules.
type Marks map[string]uint32

// Undecoded counts a body that could not be understood.
func (m Marks) Undecoded() { m[markDropped]++ }

// Filter finds and replaces. A nil Filter changes nothing. It is safe for
// concurrent use.
type Filter struct {
	patterns []*rule
	paths    []*rule
	answers  bool // what it is given are answers, which may be streams
}

// ByPath says whether marks count something that was named by its path.
func (f *Filter) ByPath(marks Marks) bool {
	return f != nil && slices.ContainsFunc(f.paths, func(r *rule) bool { return marks[r.label] > 0 })
}

// Text returns a text with every value replaced that a pattern finds in it,
// also in escapes, in JSON inside it, and in base64, and counts them in marks.
// Rules with a path do not apply to it.
func (f *Filter) Text(s string, marks Marks) string {
	if f == nil || len(f.patterns) == 0 {
		return s
	}
	out := ""
	if !fenced(func() { out = f.text(s, marks) }) {
		marks.Undecoded()
		return undecoded
	}
	return out
}

func (f *Filter) text(s string, marks Marks) string {
	found := f.find(s, 0, nil)
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, m := range found {
		b.WriteString(s[at:m.start])
		b.WriteString(m.text)
		at = m.end
		marks[m.rule.label]++
	}
	b.WriteString(s[at:])
	return b.String()
}

// Pieces is Text for a text that comes in pieces: a value that is spread over
// several is replaced in the first of them, and cut out of the others. It
// changes the pieces in place and says whether it found any.
func (f *Filter) Pieces(pieces []*string, marks Marks) bool {
	if f == nil || len(f.patterns) == 0 {
		return false
	}
	found := false
	if fenced(func() { found = f.pieces(pieces, marks) }) {
		return found
	}
	marks.Undecoded()
	for i, p := range pieces {
		if *p = ""; i == 0 {
			*p = undecoded
		}
	}
	return true
}

func (f *Filter) pieces(pieces []*string, marks Marks) bool {
	var c channel
	at := 0
	for _, p := range pieces {
		c.add(piece{start: at, view: view{text: *p}})
		at += len(*p)
	}
	var e edits
	e.channel(&c, f.find(c.text(), 0, nil), false)
	e.sort()
	if len(e) == 0 {
		return false
	}
	e.count(marks)
	at = 0
	for _, p := range pieces {
		end := at + len(*p)
		*p = e.apply(*p, at)
		at = end
	}
	return true
}

// replacement is what stands in the place of a value.
func (r *rule) replacement(value string) string {
	switch r.action {
	case ActionDrop:
		return ""
	case ActionHMAC:
		if r.plain != nil {
			value = r.plain(value)
		}
		mac := hmac.New(sha256.New, r.key)
		_, _ = mac.Write([]byte(r.label + "\x00" + value)) // a hash takes everything
		return "[hmac:" + r.label + ":" + hex.EncodeToString(mac.Sum(nil)[:8]) + "]"
	}
	return "[redacted:" + r.label + "]"
}
