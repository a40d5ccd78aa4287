package redact

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"docket/internal/record"
)

// What a rule does with what it finds.
const (
	ActionMask = "mask" // [redacted:NAME] in its place
	ActionHMAC = "hmac" // [hmac:NAME:...]: the same for equal values, under one key
	ActionDrop = "drop" // nothing in its place; null where a path names it
)

// Where a rule applies.
const (
	WhereAll      = "all"
	WhereRequest  = "request"
	WhereResponse = "response"
)

const (
	maxRules   = 100
	maxRegexp  = 1 << 10
	minHMACKey = 16
)

// Config is what the settings say must not be stored.
type Config struct {
	HMACKey record.Secret `yaml:"hmac_key" doc:"key of the action hmac, at least 16 bytes; the same on every proxy"`
	Rules   []Rule        `yaml:"rules"`
}

// Rule says what is to be found, and what becomes of it. Exactly one of Pattern,
// Regex and Path is set.
type Rule struct {
	Pattern   string   `yaml:"pattern" doc:"a built-in kind of value: email, phone, card, iban, api_key, ip or ssn"`
	Regex     string   `yaml:"regex" doc:"regular expression (RE2) of the value; needs a name"`
	Path      string   `yaml:"path" doc:"JSON path of the value: $, .name, ['name'], [0], [*], .* and ..name; it may lead into a string that holds JSON; needs a name"`
	Name      string   `yaml:"name" doc:"what the mark says; that of the pattern by default"`
	Action    string   `yaml:"action" doc:"mask, hmac or drop"`
	Where     string   `yaml:"where" doc:"request, response or all"`
	Upstreams []string `yaml:"upstreams" doc:"upstreams whose calls it applies to; all when empty"`
}

// SetDefaults fills a new rule before its settings are read.
func (r *Rule) SetDefaults() { r.Action, r.Where = ActionMask, WhereAll }

// Validate says which setting is wrong and what is allowed.
func (c Config) Validate() error {
	if n := len(c.Rules); n > maxRules {
		return fmt.Errorf("rules: %d of them: must be %d at most", n, maxRules)
	}
	keyed := false
	for i, r := range c.Rules {
		if _, err := r.compile(); err != nil {
			return fmt.Errorf("rules[%d].%w", i, err)
		}
		keyed = keyed || r.Action == ActionHMAC
	}
	key := c.HMACKey.Reveal()
	if keyed && key == "" {
		return errors.New("hmac_key: must be set when a rule has the action hmac")
	}
	if key != "" && len(key) < minHMACKey {
		return fmt.Errorf("hmac_key: %d bytes: must be at least %d", len(key), minHMACKey)
	}
	return nil
}

// ValidateUpstreams checks that the upstreams of all rules exist: a rule for a
// name that is none would redact nothing.
func (c Config) ValidateUpstreams(exists func(string) bool) error {
	for i, r := range c.Rules {
		for _, name := range r.Upstreams {
			if !exists(name) {
				return fmt.Errorf("rules[%d].upstreams: %q: must be names of proxy.upstreams", i, name)
			}
		}
	}
	return nil
}

// rule is a Rule that is ready for use.
type rule struct {
	label  string
	action string
	find   detector // nil when path is set
	plain  func(string) string
	path   path
	key    []byte
}

func (r Rule) compile() (*rule, error) {
	given := 0
	for _, s := range []string{r.Pattern, r.Regex, r.Path} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return nil, errors.New("pattern: exactly one of pattern, regex and path must be set")
	}
	if !slices.Contains([]string{ActionMask, ActionHMAC, ActionDrop}, r.Action) {
		return nil, fmt.Errorf("action: %q: must be mask, hmac or drop", r.Action)
	}
	if !slices.Contains([]string{WhereAll, WhereRequest, WhereResponse}, r.Where) {
		return nil, fmt.Errorf("where: %q: must be request, response or all", r.Where)
	}
	out := &rule{label: r.Name, action: r.Action}
	if err := r.fill(out); err != nil {
		return nil, err
	}
	if !isLabel(out.label) {
		return nil, fmt.Errorf("name: %q: must be 1 to 32 small letters, digits, _ and -, and is needed beside regex and path", r.Name)
	}
	return out, nil
}

// fill says how a rule finds its values.
func (r Rule) fill(out *rule) (err error) {
	switch {
	case r.Pattern != "":
		p, ok := patternNamed(r.Pattern)
		if !ok {
			return fmt.Errorf("pattern: %q: must be one of %s", r.Pattern, patternNames())
		}
		out.find, out.plain = p.find, p.plain
		if out.label == "" {
			out.label = p.name
		}
	case r.Regex != "":
		if len(r.Regex) > maxRegexp {
			return fmt.Errorf("regex: %d bytes: must be %d at most", len(r.Regex), maxRegexp)
		}
		re, err := regexp.Compile(r.Regex)
		if err != nil {
			return fmt.Errorf("regex: %w", err)
		}
		if re.MatchString("") {
			return fmt.Errorf("regex: %q: must not match the empty text", r.Regex)
		}
		out.find = expression(re)
	default:
		if out.path, err = parsePath(r.Path); err != nil {
			return fmt.Errorf("path: %q: %w", r.Path, err)
		}
	}
	return nil
}

func isLabel(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// expression makes a detector of a regular expression. Empty matches, which
// its place may cause, are none.
func expression(re *regexp.Regexp) detector {
	return func(s string, found []span) []span {
		for _, at := range re.FindAllStringIndex(s, -1) {
			if at[1] > at[0] {
				found = append(found, span{at[0], at[1]})
			}
		}
		return found
	}
}
