package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds nesting, which aliases can make endless.
const maxDepth = 64

// decoder lays YAML nodes over Go values and collects what is wrong.
type decoder struct {
	file   string // "" while the environment is read
	getenv func(string) string
	named  map[string]bool // variables that the file names as {env: NAME}, in any section
	errs   []error
}

// secret is a value that must not be printed.
type secret interface {
	Reveal() string
	encoding.TextUnmarshaler
}

// fail notes an error at a node. A node without a line belongs to a variable,
// whose name is then its anchor.
func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	where := fmt.Sprintf("%s:%d", d.file, n.Line)
	if n.Line == 0 {
		where = n.Anchor
	}
	if path != "" {
		where += ": " + path
	}
	d.errs = append(d.errs, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

func (d *decoder) unknown(n *yaml.Node, path, what string, allowed []string) {
	slices.Sort(allowed)
	d.fail(n, path, "unknown %s; allowed: %s", what, strings.Join(slices.Compact(allowed), ", "))
}

// pairs calls f for each key of a mapping, once.
func (d *decoder) pairs(n *yaml.Node, path string, f func(key, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			d.fail(key, path, "want a plain key, found %s", kindName(key))
			continue
		}
		if first, ok := seen[key.Value]; ok {
			d.fail(key, join(path, key.Value), "repeated key; first on line %d", first)
			continue
		}
		seen[key.Value] = key.Line
		f(key, value)
	}
}

// decode lays a node over a settable value. Only what the node names changes.
func (d *decoder) decode(n *yaml.Node, v reflect.Value, path string, depth int) {
	if depth > maxDepth {
		d.fail(n, path, "nested too deep")
		return
	}
	if n.Kind == yaml.AliasNode {
		d.decode(n.Alias, v, path, depth+1)
		return
	}
	if n.ShortTag() == "!!null" {
		return
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			p.Elem().Set(v.Elem())
		}
		d.decode(n, p.Elem(), path, depth+1)
		v.Set(p)
		return
	}
	if d.special(n, v, path) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, v, path, depth)
	case reflect.Map:
		d.mapping(n, v, path, depth)
	case reflect.Slice:
		d.list(n, v, path, depth)
	default:
		d.scalar(n, v, path)
	}
}

// special handles values that read themselves.
func (d *decoder) special(n *yaml.Node, v reflect.Value, path string) bool {
	switch target := v.Addr().Interface().(type) {
	case *yaml.Node:
		*target = *n
	case *any:
		d.plain(n, target, path)
	case secret, encoding.TextUnmarshaler:
		d.text(n, target.(encoding.TextUnmarshaler), path)
	case yaml.Unmarshaler:
		d.plain(n, target, path)
	default:
		return false
	}
	return true
}

func (d *decoder) plain(n *yaml.Node, target any, path string) {
	if err := n.Decode(target); err != nil {
		d.fail(n, path, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "want keys, found %s", kindName(n))
		return
	}
	fields := structFields(v.Type())
	d.pairs(n, path, func(key, value *yaml.Node) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
		if i < 0 {
			d.unknown(key, join(path, key.Value), "key", keys(fields))
			return
		}
		d.decode(value, v.FieldByIndex(fields[i].index), join(path, key.Value), depth+1)
	})
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "want names with values, found %s", kindName(n))
		return
	}
	out := reflect.MakeMap(v.Type())
	for iter := v.MapRange(); iter.Next(); {
		out.SetMapIndex(iter.Key(), iter.Value())
	}
	d.pairs(n, path, func(key, value *yaml.Node) {
		k := reflect.ValueOf(key.Value).Convert(v.Type().Key())
		if value.ShortTag() == "!!null" {
			out.SetMapIndex(k, reflect.Value{})
			return
		}
		entry := newEntry(v.Type().Elem())
		if old := out.MapIndex(k); old.IsValid() {
			entry.Set(old)
		}
		d.decode(value, entry, join(path, key.Value), depth+1)
		out.SetMapIndex(k, entry)
	})
	v.Set(out)
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, path, "want a list, found %s", kindName(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(n.Content))
	for i, item := range n.Content {
		entry := newEntry(v.Type().Elem())
		d.decode(item, entry, fmt.Sprintf("%s[%d]", path, i), depth+1)
		out = reflect.Append(out, entry)
	}
	v.Set(out)
}

// newEntry makes a settable entry of a map or list, with its defaults.
func newEntry(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	if def, ok := p.Interface().(Defaulter); ok {
		def.SetDefaults()
	}
	return p.Elem()
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "one value"
	}
}
