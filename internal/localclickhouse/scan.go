package localclickhouse

import "strings"

// statement is what the bridge has to know of a SQL text before the engine
// sees it. It is a hint for routing; whether a text is allowed is decided by
// the engine's own parser, except for reachesOut.
type statement struct {
	verb   string // first word, in upper case
	format string // the name in the FORMAT clause, if there is one
	head   int    // where the FORMAT clause or the closing semicolon begins
	tail   int    // just behind it: where the data of an INSERT begins

	// reachesOut says that a function is called which reads files, calls other
	// machines, or runs a text as SQL. The engine allows those even in
	// read-only mode.
	reachesOut bool
}

// scan reads a statement. For an INSERT it stops where the data begins.
func scan(sql string) statement {
	st := statement{head: len(sql), tail: len(sql)}
	lx := lexer{src: sql}
	depth := 0
	var prev token
	for tok := lx.next(); tok.kind != tokenEnd; tok = lx.next() {
		switch {
		case tok.is("("):
			depth++
			st.reachesOut = st.reachesOut || outsideFunction(prev)
		case tok.is(")"):
			depth--
		case tok.kind == tokenWord && st.verb == "":
			st.verb = strings.ToUpper(tok.text)
		case depth == 0 && st.verb == "INSERT" && tok.word("VALUES"):
			return st
		case depth == 0 && tok.is(";"):
			st.head = min(st.head, tok.pos)
		case depth == 0 && tok.word("FORMAT") && !prev.word("INTO") && !prev.word("TABLE"):
			if st.formatClause(&lx, tok) {
				return st
			}
		}
		prev = tok
	}
	return st
}

// formatClause reads the name behind FORMAT. A column may be called format, so
// outside of INSERT it counts only at the end of the statement.
func (st *statement) formatClause(lx *lexer, at token) bool {
	ahead := *lx
	name := ahead.next()
	if name.kind != tokenWord {
		return false
	}
	tail := ahead.pos
	if st.verb != "INSERT" {
		after := ahead.next()
		if after.kind != tokenEnd && !after.is(";") && !after.word("SETTINGS") {
			return false
		}
	}
	st.format, st.head, st.tail = name.text, min(st.head, at.pos), tail
	// What follows a SELECT's format is settings, which may call no function.
	return true
}

// outsideFunction says whether a name in front of a parenthesis is a function
// that reaches out of the database. A quoted name with escapes could be any.
func outsideFunction(name token) bool {
	switch name.kind {
	case tokenQuoted:
		if strings.ContainsAny(name.text, "\\`\"") {
			return true
		}
	case tokenWord:
	default:
		return false
	}
	switch lower := strings.ToLower(name.text); lower {
	case "file", "eval", "catboostevaluate":
		return true
	default:
		return aiFunction(lower)
	}
}

// aiFunction says whether a function calls a model over the network.
func aiFunction(lower string) bool {
	switch lower {
	case "aiclassify", "aigenerate", "aiembed", "aiextract", "aitranslate":
		return true
	default:
		return false
	}
}

type tokenKind int

const (
	tokenEnd    tokenKind = iota
	tokenWord             // name or keyword
	tokenQuoted           // `name` or "name", without its quotes, escapes kept
	tokenString           // 'text' or a heredoc
	tokenOther            // number or one character
)

type token struct {
	kind tokenKind
	text string
	pos  int
}

func (t token) is(punctuation string) bool { return t.kind == tokenOther && t.text == punctuation }
func (t token) word(w string) bool         { return t.kind == tokenWord && strings.EqualFold(t.text, w) }

// lexer splits SQL as the engine does. It never fails: an open quote or
// comment reaches to the end.
type lexer struct {
	src string
	pos int
}

func (l *lexer) next() token {
	l.skipBlank()
	start := l.pos
	if start >= len(l.src) {
		return token{kind: tokenEnd, pos: start}
	}
	switch c := l.src[start]; {
	case c == '\'':
		l.quoted(c)
		return token{tokenString, l.src[start:l.pos], start}
	case c == '`' || c == '"':
		l.quoted(c)
		return token{tokenQuoted, strings.Trim(l.src[start:l.pos], string(c)), start}
	case wordStart(c):
		l.skipWhile(wordPart)
		return token{tokenWord, l.src[start:l.pos], start}
	case c >= '0' && c <= '9':
		l.skipWhile(wordPart)
		return token{tokenOther, l.src[start:l.pos], start}
	case c == '$' && l.heredoc():
		return token{tokenString, l.src[start:l.pos], start}
	default:
		l.pos++
		return token{tokenOther, l.src[start:l.pos], start}
	}
}

// skipBlank passes white space and comments.
func (l *lexer) skipBlank() {
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		switch {
		case rest[0] <= ' ':
			l.pos++
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "# "), strings.HasPrefix(rest, "#!"):
			l.skipTo("\n", 2)
		case strings.HasPrefix(rest, "/*"):
			l.skipTo("*/", 2)
		default:
			return
		}
	}
}

// skipTo moves behind the next end, which is looked for after skip bytes.
func (l *lexer) skipTo(end string, skip int) {
	i := strings.Index(l.src[l.pos+skip:], end)
	if i < 0 {
		l.pos = len(l.src)
		return
	}
	l.pos += skip + i + len(end)
}

func (l *lexer) skipWhile(part func(byte) bool) {
	for l.pos < len(l.src) && part(l.src[l.pos]) {
		l.pos++
	}
}

// quoted moves behind a quoted piece, in which a backslash escapes and a
// doubled quote stands for one.
func (l *lexer) quoted(quote byte) {
	for l.pos++; l.pos < len(l.src); l.pos++ {
		switch l.src[l.pos] {
		case '\\':
			l.pos++
		case quote:
			if l.pos+1 >= len(l.src) || l.src[l.pos+1] != quote {
				l.pos++
				return
			}
			l.pos++
		}
	}
	l.pos = len(l.src)
}

// heredoc moves behind $tag$...$tag$, if there is one.
func (l *lexer) heredoc() bool {
	rest := l.src[l.pos:]
	n := 1
	for n < len(rest) && wordPart(rest[n]) {
		n++
	}
	if n >= len(rest) || rest[n] != '$' {
		return false
	}
	tag := rest[:n+1]
	end := strings.Index(rest[len(tag):], tag)
	if end < 0 {
		return false
	}
	l.pos += len(tag) + end + len(tag)
	return true
}

func wordStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func wordPart(c byte) bool { return wordStart(c) || c >= '0' && c <= '9' }
