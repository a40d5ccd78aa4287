package wire

// balance follows brackets and strings of a JSON text byte by byte.
type balance struct {
	depth   int
	quoted  bool
	escaped bool
}

// add takes the next byte. It returns true when this closes the outermost
// object or array.
func (l *balance) add(b byte) bool {
	switch {
	case l.quoted:
		switch {
		case l.escaped:
			l.escaped = false
		case b == '\\':
			l.escaped = true
		case b == '"':
			l.quoted = false
		}
	case b == '"':
		l.quoted = true
	case b == '{' || b == '[':
		l.depth++
	case b == '}' || b == ']':
		l.depth--
		if l.depth <= 0 {
			l.depth = 0
			return true
		}
	}
	return false
}

// lexer follows JSON texts just far enough to see a member "done":true of the
// outermost object. It is EndScanner's part for NDJSON.
type lexer struct {
	balance
	match int  // how much of doneMember was seen, without spaces
	done  bool // the member was seen
}

const doneMember = `"done":true`

// write takes the next bytes. It returns true when they complete a text with
// the member.
func (l *lexer) write(p []byte) bool {
	ended := false
	for _, b := range p {
		if l.depth == 1 {
			l.follow(b)
		} else {
			l.match = 0
		}
		if l.add(b) {
			ended = ended || l.done
			l.match, l.done = 0, false
		}
	}
	return ended
}

// follow matches doneMember. It starts at a quote that opens a string, so that
// the same letters inside a string do not count.
func (l *lexer) follow(b byte) {
	switch {
	case !l.quoted && (b == ' ' || b == '\t'):
	case l.match > 0 && b == doneMember[l.match]:
		l.match++
	case b == '"' && !l.quoted:
		l.match = 1
	default:
		l.match = 0
	}
	if l.match == len(doneMember) {
		l.done, l.match = true, 0
	}
}
