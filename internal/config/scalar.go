package config

import (
	"encoding"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const durationHint = `a duration such as "250ms", "5s", "24h" or "30d"`

// scalar lays one plain value over a bool, number, string or duration.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	if v.Kind() == reflect.String {
		if s, ok := d.reference(n, path); ok {
			v.SetString(s)
		}
		return
	}
	if n.Kind != yaml.ScalarNode {
		d.fail(n, path, "want one value, found %s", kindName(n))
		return
	}
	if want := setScalar(v, n.Value); want != "" {
		d.fail(n, path, "%q: want %s", n.Value, want)
	}
}

// setScalar parses s into v. It returns what was wanted when s is not that.
func setScalar(v reflect.Value, s string) (want string) {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		dur, err := parseDuration(s)
		if err != nil {
			return durationHint
		}
		v.SetInt(int64(dur))
		return ""
	}
	switch v.Kind() {
	case reflect.Bool:
		if s != "true" && s != "false" {
			return "true or false"
		}
		v.SetBool(s == "true")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(s, 10, v.Type().Bits())
		if err != nil {
			return "a whole number"
		}
		v.SetInt(i)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		u, err := strconv.ParseUint(s, 10, v.Type().Bits())
		if err != nil {
			return "a whole number, 0 or more"
		}
		v.SetUint(u)
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(s, v.Type().Bits())
		if err != nil || f-f != 0 { // not NaN, not infinite
			return "a number"
		}
		v.SetFloat(f)
	default:
		return "something else: this type cannot be set"
	}
	return ""
}

// parseDuration reads Go's durations, and whole days.
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 32)
		if err != nil || n < 0 || n > 36500 {
			return 0, fmt.Errorf("%q is not a number of days", days)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	return time.ParseDuration(s)
}

// text lays a value over a type that parses itself. The value of a secret is
// not shown in errors.
func (d *decoder) text(n *yaml.Node, target encoding.TextUnmarshaler, path string) {
	var s string
	_, hidden := target.(secret)
	if hidden {
		var ok bool
		if s, ok = d.reference(n, path); !ok {
			return
		}
	} else if n.Kind != yaml.ScalarNode {
		d.fail(n, path, "want one value, found %s", kindName(n))
		return
	} else {
		s = n.Value
	}
	if err := target.UnmarshalText([]byte(s)); err != nil {
		if hidden {
			d.fail(n, path, "not a usable secret")
			return
		}
		d.fail(n, path, "%s", err)
	}
}

// reference returns the value of a string: itself, or what {env: NAME} or
// {file: PATH} points at.
func (d *decoder) reference(n *yaml.Node, path string) (string, bool) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, true
	}
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[1].Kind != yaml.ScalarNode {
		d.fail(n, path, "want one value, {env: NAME} or {file: PATH}")
		return "", false
	}
	kind, name := n.Content[0].Value, n.Content[1].Value
	switch kind {
	case "env":
		s := d.getenv(name)
		if s == "" {
			d.fail(n, path, "environment variable %s is not set", name)
		}
		return s, s != ""
	case "file":
		data, err := os.ReadFile(d.relative(name))
		if err != nil {
			d.fail(n, path, "%s", err)
			return "", false
		}
		s := strings.TrimSuffix(string(data), "\n")
		return strings.TrimSuffix(s, "\r"), true
	default:
		d.unknown(n, join(path, kind), "key", []string{"env", "file"})
		return "", false
	}
}

// references notes the variables that the file names, also in sections that are
// not read here: they mean something, whatever they are called.
func (d *decoder) references(n *yaml.Node) {
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "env" {
		d.named[n.Content[1].Value] = true
	}
	for _, child := range n.Content {
		d.references(child)
	}
}
