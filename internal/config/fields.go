package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Field is one line of the settings table.
type Field struct {
	Key     string // dotted, from the section on; <name> stands for a map's key, [] for a list's entry
	Env     string // variable, "" if the key has none
	Type    string
	Default string // as the file would write it, "" if there is none
	Doc     string // from the doc tag
}

// Fields lists the settings of a section in the order of its struct. cfg is the
// section with its defaults, or a pointer to it.
func Fields(section string, cfg any) []Field {
	var out []Field
	walk(&out, field{key: section}, section, envPrefix+upper(section), reflect.Indirect(reflect.ValueOf(cfg)), true)
	for i, f := range out {
		for alias, long := range aliases() {
			if f.Env == long {
				out[i].Env = alias
			}
		}
	}
	return out
}

// walk adds the settings below a value. set says that its zero is a default and
// not the lack of one.
func walk(out *[]Field, f field, key, env string, v reflect.Value, set bool) {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		if v.IsNil() {
			v, set = reflect.New(t.Elem()), false
		}
		v, t = v.Elem(), t.Elem()
	}
	switch {
	case t.Kind() == reflect.Struct && !isText(t):
		for _, sub := range structFields(t) {
			subEnv := env
			if env != "" {
				subEnv += "_" + upper(sub.key)
			}
			walk(out, sub, join(key, sub.key), subEnv, v.FieldByIndex(sub.index), set)
		}
		return
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct && !isText(t.Elem()):
		walk(out, f, key+".<name>", "", newEntry(t.Elem()), true)
		return
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && !isText(t.Elem()):
		walk(out, f, key+"[]", "", newEntry(t.Elem()), true)
		return
	}
	if !fromEnvironment(t) {
		env = ""
	}
	entry := Field{Key: key, Env: env, Type: typeName(t), Doc: f.doc}
	if set {
		entry.Default = format(v)
	}
	*out = append(*out, entry)
}

// field is one key of a struct.
type field struct {
	key, doc string
	index    []int
}

// structFields lists the keys of a struct. Inlined structs add theirs.
func structFields(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, opts, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		if name == "-" || !sf.IsExported() {
			continue
		}
		if opts == "inline" {
			for _, sub := range structFields(sf.Type) {
				sub.index = append([]int{i}, sub.index...)
				out = append(out, sub)
			}
			continue
		}
		if name == "" {
			name = strings.ToLower(sf.Name)
		}
		out = append(out, field{key: name, doc: sf.Tag.Get("doc"), index: []int{i}})
	}
	return out
}

func keys(fields []field) []string {
	out := make([]string, 0, len(fields))
	for _, f := range fields {
		out = append(out, f.key)
	}
	return out
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func typeName(t reflect.Type) string {
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[secret]()):
		return "secret"
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case isText(t):
		return strings.ToLower(strings.TrimPrefix(t.Name(), "Byte"))
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "number"
	case reflect.Float32, reflect.Float64:
		return "decimal"
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		return "map to " + typeName(t.Elem())
	case reflect.Interface:
		return "any"
	default:
		return t.Kind().String()
	}
}

// format prints a default as the file would write it.
func format(v reflect.Value) string {
	if v.IsZero() && v.Kind() != reflect.Bool && !isNumber(v.Kind()) {
		return ""
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return formatDuration(x)
	case encoding.TextMarshaler:
		b, err := x.MarshalText()
		if err != nil {
			return ""
		}
		return string(b)
	}
	if v.Kind() == reflect.Slice {
		items := make([]string, v.Len())
		for i := range items {
			items[i] = format(v.Index(i))
		}
		return strings.Join(items, ", ")
	}
	return fmt.Sprint(v.Interface())
}

func isNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

func formatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	if day := 24 * time.Hour; d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
