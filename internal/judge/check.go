package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Check is what a program can decide about a reply. One key is set.
type Check struct {
	Contains     string         `yaml:"contains" json:"contains,omitempty" doc:"the reply's text has this text in it"`
	NotContains  string         `yaml:"not_contains" json:"not_contains,omitempty" doc:"the reply's text does not have this text in it"`
	Regex        string         `yaml:"regex" json:"regex,omitempty" doc:"the reply's text matches this regular expression (RE2)"`
	NotRegex     string         `yaml:"not_regex" json:"not_regex,omitempty" doc:"the reply's text does not match it"`
	MaxChars     int            `yaml:"max_chars" json:"max_chars,omitempty" doc:"the reply's text has at most this many characters"`
	JSONSchema   map[string]any `yaml:"json_schema" json:"json_schema,omitempty" doc:"the reply's text is JSON that this schema allows"`
	ToolCalled   *ToolCheck     `yaml:"tool_called" json:"tool_called,omitempty" doc:"the turn called this tool"`
	NoToolCalled []string       `yaml:"no_tool_called" json:"no_tool_called,omitempty" doc:"the turn called none of these tools; * is any tool"`
}

// ToolCheck names a tool and arguments the call must have; further arguments do
// not matter.
type ToolCheck struct {
	Name      string         `yaml:"name" json:"name" doc:"name of the tool"`
	Arguments map[string]any `yaml:"arguments" json:"arguments,omitempty" doc:"arguments that the call must have, with these values"`
}

// checked is a compiled Check. It returns whether the reply is as wanted, and a
// sentence about it.
type checked func(u *Unit) (met bool, detail string)

// set lists the keys that are set.
func (c *Check) set() []string {
	var out []string
	for _, k := range []struct {
		key string
		is  bool
	}{
		{"contains", c.Contains != ""},
		{"not_contains", c.NotContains != ""},
		{"regex", c.Regex != ""},
		{"not_regex", c.NotRegex != ""},
		{"max_chars", c.MaxChars != 0},
		{"json_schema", c.JSONSchema != nil},
		{"tool_called", c.ToolCalled != nil},
		{"no_tool_called", len(c.NoToolCalled) > 0},
	} {
		if k.is {
			out = append(out, k.key)
		}
	}
	return out
}

// describe names the check in words, for a criterion without a text.
func (c *Check) describe() string {
	switch {
	case c.Contains != "":
		return "contains " + c.Contains
	case c.NotContains != "":
		return "does not contain " + c.NotContains
	case c.Regex != "":
		return "matches " + c.Regex
	case c.NotRegex != "":
		return "does not match " + c.NotRegex
	case c.MaxChars != 0:
		return fmt.Sprintf("has at most %d characters", c.MaxChars)
	case c.JSONSchema != nil:
		return "is JSON as in the schema"
	case c.ToolCalled != nil:
		return "calls tool " + c.ToolCalled.Name
	case len(c.NoToolCalled) > 0:
		return "does not call " + strings.Join(c.NoToolCalled, " or ")
	}
	return ""
}

func (c *Check) validate(criterion string) error {
	if keys := c.set(); len(keys) != 1 {
		return fmt.Errorf("criterion %q: check: %d keys set: want one of contains, not_contains, regex, not_regex, max_chars, json_schema, tool_called, no_tool_called", criterion, len(keys))
	}
	if _, err := c.compile(); err != nil {
		return fmt.Errorf("criterion %q: check.%s: %w", criterion, c.set()[0], err)
	}
	return nil
}

func (c *Check) compile() (checked, error) {
	switch {
	case c.Contains != "":
		return containsCheck(c.Contains, true), nil
	case c.NotContains != "":
		return containsCheck(c.NotContains, false), nil
	case c.Regex != "":
		return regexCheck(c.Regex, true)
	case c.NotRegex != "":
		return regexCheck(c.NotRegex, false)
	case c.MaxChars != 0:
		return lengthCheck(c.MaxChars)
	case c.JSONSchema != nil:
		return schemaCheck(c.JSONSchema)
	case c.ToolCalled != nil:
		return toolCheck(*c.ToolCalled)
	}
	return noToolCheck(c.NoToolCalled), nil
}

func containsCheck(text string, want bool) checked {
	return func(u *Unit) (bool, string) {
		has := strings.Contains(u.ReplyText(), text)
		return has == want, found(has, fmt.Sprintf("%q", text))
	}
}

func found(has bool, what string) string {
	if has {
		return what + " is in the reply"
	}
	return what + " is not in the reply"
}

func regexCheck(pattern string, want bool) (checked, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", pattern, err)
	}
	return func(u *Unit) (bool, string) {
		has := re.MatchString(u.ReplyText())
		return has == want, found(has, "a match of "+pattern)
	}, nil
}

func lengthCheck(limit int) (checked, error) {
	if limit < 0 {
		return nil, fmt.Errorf("%d: want 1 or more", limit)
	}
	return func(u *Unit) (bool, string) {
		n := utf8.RuneCountInString(u.ReplyText())
		return n <= limit, fmt.Sprintf("the reply has %d characters", n)
	}, nil
}

func schemaCheck(schema map[string]any) (checked, error) {
	// Through JSON, so that numbers from YAML have the types the library knows.
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	const name = "schema.json"
	if err := compiler.AddResource(name, doc); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return nil, err
	}
	return func(u *Unit) (bool, string) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(u.ReplyText()))
		if err != nil {
			return false, "the reply is not JSON"
		}
		if err := compiled.Validate(value); err != nil {
			return false, "the reply is JSON that the schema does not allow"
		}
		return true, "the reply is JSON that the schema allows"
	}, nil
}

// noLoader keeps schemas from reading files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("a schema cannot refer to other documents")
}

func toolCheck(want ToolCheck) (checked, error) {
	if want.Name == "" {
		return nil, errors.New("name: missing: want the name of a tool")
	}
	data, err := json.Marshal(want.Arguments)
	if err != nil {
		return nil, err
	}
	var arguments map[string]any
	if err := json.Unmarshal(data, &arguments); err != nil {
		return nil, err
	}
	return func(u *Unit) (bool, string) {
		called := false
		for _, call := range u.ToolCalls {
			if call.Name != want.Name {
				continue
			}
			called = true
			var got map[string]any
			if len(arguments) == 0 || json.Unmarshal([]byte(call.Arguments), &got) == nil && hasAll(got, arguments) {
				return true, "the turn calls " + want.Name + " as wanted"
			}
		}
		if called {
			return false, "the turn calls " + want.Name + " with other arguments"
		}
		return false, "the turn does not call " + want.Name
	}, nil
}

// hasAll says whether got has every value of want, objects taken in part.
func hasAll(got, want map[string]any) bool {
	for k, w := range want {
		g, ok := got[k]
		if !ok || !sameJSON(g, w) {
			return false
		}
	}
	return true
}

func sameJSON(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && hasAll(g, w)
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(g, w, sameJSON)
	}
	switch got.(type) {
	case map[string]any, []any:
		return false
	}
	return got == want
}

func noToolCheck(tools []string) checked {
	return func(u *Unit) (bool, string) {
		for _, call := range u.ToolCalls {
			if slices.Contains(tools, call.Name) || slices.Contains(tools, "*") {
				return false, "the turn calls " + call.Name
			}
		}
		return true, "the turn calls none of them"
	}
}
