package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DefaultFile is the settings file that is read when none is named.
const DefaultFile = "docket.yaml"

// Validator is a section that can check itself. Its error names key, value and
// what is allowed.
type Validator interface{ Validate() error }

// Defaulter is an entry of a map or list that starts with defaults.
type Defaulter interface{ SetDefaults() }

// File returns the settings file to read: the named one, else DOCKET_CONFIG,
// else DefaultFile if it exists, else "".
func File(named string, getenv func(string) string) string {
	if named != "" {
		return named
	}
	if f := getenv("DOCKET_CONFIG"); f != "" {
		return f
	}
	if _, err := os.Stat(DefaultFile); err == nil {
		return DefaultFile
	}
	return ""
}

// Load lays the file (none if file is "") and then the environment over
// sections, which maps a section's name to a pointer to its value. Sections
// that are only in known are accepted unread. environ lists the environment as
// os.Environ does; it is used to find variables that mean nothing, and may be
// nil.
func Load(file string, getenv func(string) string, environ []string, sections map[string]any, known []string) error {
	d := &decoder{file: file, getenv: getenv, named: map[string]bool{}}
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read settings: %w", err)
		}
		d.document(data, sections, known)
	}
	if len(d.errs) > 0 {
		return errors.Join(d.errs...)
	}
	d.file = ""
	d.environment(environ, sections, known)
	return errors.Join(d.errs...)
}

// Validate runs the Validate method of every section that has one, in order of
// names. Each error begins with the whole key, whether the section put its own
// name there or not.
func Validate(sections map[string]any) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		if v, ok := sections[name].(Validator); ok {
			errs = append(errs, named(name, v.Validate())...)
		}
	}
	return errors.Join(errs...)
}

// named puts the section's name before each of the errors that err joins.
func named(section string, err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range joined.Unwrap() {
			out = append(out, named(section, e)...)
		}
		return out
	}
	if strings.HasPrefix(err.Error(), section+".") {
		return []error{err}
	}
	return []error{fmt.Errorf("%s.%w", section, err)}
}

// document decodes the whole file.
func (d *decoder) document(data []byte, sections map[string]any, known []string) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return
	} else if err != nil {
		d.errs = append(d.errs, fmt.Errorf("%s: %s", d.file, strings.TrimPrefix(err.Error(), "yaml: ")))
		return
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		d.errs = append(d.errs, fmt.Errorf("%s: more than one YAML document", d.file))
		return
	}
	root := doc.Content[0]
	if root.ShortTag() == "!!null" {
		return
	}
	if root.Kind != yaml.MappingNode {
		d.fail(root, "", "want sections, found %s", kindName(root))
		return
	}
	d.references(root)
	allowed := slices.Concat(slices.Collect(maps.Keys(sections)), known)
	d.pairs(root, "", func(key, value *yaml.Node) {
		target, ok := sections[key.Value]
		switch {
		case ok:
			d.decode(value, reflect.ValueOf(target).Elem(), key.Value, 0)
		case !slices.Contains(known, key.Value):
			d.unknown(key, key.Value, "section", allowed)
		}
	})
}

// relative resolves a path that the settings file names.
func (d *decoder) relative(path string) string {
	if d.file == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(d.file), path)
}
