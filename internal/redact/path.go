package redact

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxSteps bounds a JSON path: the places reached in it are the bits of a word.
const maxSteps = 32

// step is one step of a JSON path.
type step struct {
	name  string
	index int  // of an array, when isIndex
	any   bool // every member or item
	deep  bool // at any depth below

	isIndex bool
}

// path is a JSON path: $ and then .name, ['name'], [0], [*], .* or ..name.
type path []step

var errPath = errors.New(`must be a JSON path of $, .name, ['name'], [0], [*], .* and ..name, such as $.messages[*].content`)

func parsePath(s string) (path, error) {
	rest, ok := strings.CutPrefix(s, "$")
	if !ok || rest == "" {
		return nil, errPath
	}
	var p path
	for rest != "" {
		var st step
		var err error
		if st.deep = strings.HasPrefix(rest, ".."); st.deep {
			rest = rest[1:]
			if strings.HasPrefix(rest, ".[") {
				rest = rest[1:]
			}
		}
		if rest[0] == '[' {
			rest, err = st.bracket(rest[1:])
		} else {
			rest, err = st.dotted(rest)
		}
		if err != nil {
			return nil, err
		}
		p = append(p, st)
	}
	if len(p) >= maxSteps {
		return nil, fmt.Errorf("%w; of fewer than %d steps", errPath, maxSteps)
	}
	return p, nil
}

// bracket reads a step from behind its bracket and returns what follows it.
func (st *step) bracket(s string) (string, error) {
	if s == "" {
		return "", errPath
	}
	if quote := s[0]; quote == '\'' || quote == '"' {
		end := strings.IndexByte(s[1:], quote)
		if end < 0 || !strings.HasPrefix(s[1+end+1:], "]") {
			return "", errPath
		}
		st.name = s[1 : 1+end]
		return s[end+3:], nil
	}
	inner, rest, ok := strings.Cut(s, "]")
	if !ok {
		return "", errPath
	}
	if inner == "*" {
		st.any = true
		return rest, nil
	}
	n, err := strconv.ParseUint(inner, 10, 31)
	if err != nil {
		return "", errPath
	}
	st.index, st.isIndex = int(n), true
	return rest, nil
}

// dotted reads a step that begins with a dot.
func (st *step) dotted(s string) (string, error) {
	s, ok := strings.CutPrefix(s, ".")
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	st.name = s[:end]
	if !ok || st.name == "" || strings.ContainsAny(st.name, "]'\"()?@, ") {
		return "", errPath
	}
	if st.name == "*" {
		st.name, st.any = "", true
	}
	return s[end:], nil
}

// places is which steps of a path lie behind us: bit n says that n do. With ..
// in a path there can be several.
type places uint64

// member moves to a member of an object, item to one of an array.
func (p path) member(at places, name string) places {
	return p.move(at, func(st *step) bool { return st.any || !st.isIndex && st.name == name })
}

func (p path) item(at places, index int) places {
	return p.move(at, func(st *step) bool { return st.any || st.isIndex && st.index == index })
}

func (p path) move(at places, fits func(*step) bool) places {
	var next places
	for i := range p {
		if at>>i&1 == 0 {
			continue
		}
		if p[i].deep {
			next |= 1 << i
		}
		if fits(&p[i]) {
			next |= 1 << (i + 1)
		}
	}
	return next
}

// reached says whether the path ends here.
func (p path) reached(at places) bool { return at>>len(p)&1 == 1 }
