package config

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const envPrefix = "DOCKET_"

// aliases are short names of variables for keys that nearly everybody sets.
func aliases() map[string]string {
	return map[string]string{
		"DOCKET_STORE":     "DOCKET_STORE_DSN",
		"DOCKET_API_TOKEN": "DOCKET_EVALUATOR_API_TOKEN",
	}
}

// ownVariables are read by the commands themselves, or by tests and tools.
func ownVariables() []string {
	return []string{
		"DOCKET_CONFIG", "DOCKET_LIBCHDB", "DOCKET_UPSTREAM", "DOCKET_UPSTREAM_KEY", "DOCKET_ENVIRONMENT",
		"DOCKET_JUDGE_BACKEND", "DOCKET_JUDGE_URL", "DOCKET_JUDGE_MODEL", "DOCKET_JUDGE_KEY",
	}
}

// serviceLink matches the variables that Kubernetes adds to every container for
// a service, whatever the container asks for.
var serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// environment lays variables over the sections and finds those that mean
// nothing. A key's own variable goes before its alias.
func (d *decoder) environment(environ []string, sections map[string]any, known []string) {
	settable := map[string]bool{}
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		v := reflect.ValueOf(sections[section]).Elem()
		d.variables(v, envPrefix+upper(section), section, settable)
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, envPrefix) || settable[name] || d.named[name] || unread(name, sections, known) {
			continue
		}
		d.unknown(&yaml.Node{Anchor: name}, "", "variable", slices.Collect(maps.Keys(settable)))
	}
}

// unread says whether a variable that no decoded section has is still no error.
func unread(name string, sections map[string]any, known []string) bool {
	if slices.Contains(ownVariables(), name) || strings.HasPrefix(name, "DOCKET_TEST_") || serviceLink.MatchString(name) {
		return true
	}
	if _, ok := aliases()[name]; ok {
		return true
	}
	return slices.ContainsFunc(known, func(section string) bool {
		_, decoded := sections[section]
		return !decoded && strings.HasPrefix(name, envPrefix+upper(section)+"_")
	})
}

// variables sets what the environment has for a value and, if it is a struct,
// for its fields.
func (d *decoder) variables(v reflect.Value, name, path string, settable map[string]bool) {
	if v.Kind() == reflect.Struct && !isText(v.Type()) {
		for _, f := range structFields(v.Type()) {
			d.variables(v.FieldByIndex(f.index), name+"_"+upper(f.key), join(path, f.key), settable)
		}
		return
	}
	if !fromEnvironment(v.Type()) {
		return
	}
	settable[name] = true
	value := d.getenv(name)
	for alias, long := range aliases() {
		if long == name && value == "" {
			value, name = d.getenv(alias), alias
		}
	}
	if value == "" {
		return
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Anchor: name}
	if v.Kind() == reflect.Slice {
		n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Anchor: name}
		for item := range strings.SplitSeq(value, ",") {
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.TrimSpace(item), Anchor: name})
		}
	}
	d.decode(n, v, path, 0)
}

// fromEnvironment says whether one variable can hold a value of the type.
func fromEnvironment(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		return isText(t)
	case reflect.Slice:
		return t.Elem().Kind() == reflect.String
	case reflect.Map, reflect.Interface, reflect.Func, reflect.Chan, reflect.Array:
		return false
	default:
		return true
	}
}

func upper(key string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(key))
}
