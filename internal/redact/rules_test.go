package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/redact"
)

func newRules(t testing.TB, key string, rules ...redact.Rule) *redact.Rules {
	t.Helper()
	for i := range rules {
		d := redact.Rule{}
		d.SetDefaults()
		if rules[i].Action == "" {
			rules[i].Action = d.Action
		}
		if rules[i].Where == "" {
			rules[i].Where = d.Where
		}
	}
	out, err := redact.NewRules(redact.Config{HMACKey: record.NewSecret(key), Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// everyPattern has a rule for each built-in pattern.
func everyPattern(t testing.TB) *redact.Rules {
	t.Helper()
	var rules []redact.Rule
	for _, p := range []string{"email", "phone", "card", "iban", "api_key", "ip", "ssn"} {
		rules = append(rules, redact.Rule{Pattern: p})
	}
	return newRules(t, "", rules...)
}

func TestText(t *testing.T) {
	f := everyPattern(t).Filter("any", redact.WhereAll)
	for in, want := range map[string]string{
		"nothing here":                              "nothing here",
		"ann@example.com, 4111 1111 1111 1111":      "[redacted:email], [redacted:card]",
		`{"to":"ann@example.com","n":[1,2]}`:        `{"to":"[redacted:email]","n":[1,2]}`,
		`{"to":"ann\u0040example.com"}`:             `{"to":"[redacted:email]"}`,
		`{"ann@example.com":1}`:                     `{"[redacted:email]":1}`,
		`{"card":4111111111111111}`:                 `{"card":"[redacted:card]"}`,
		`{"card":4.111111111111111e15}`:             `{"card":"[redacted:card]"}`,
		`{"card":4111111111111111.0}`:               `{"card":"[redacted:card]"}`,
		`{"a":"{\"b\":\"ann\\u0040example.com\"}"}`: `{"a":"{\"b\":\"[redacted:email]\"}"}`,
		`{"a":"{\"b\":4111111111111111}"}`:          `{"a":"{\"b\":\"[redacted:card]\"}"}`,
		`code: "ann\u0040example.com"`:              `code: "[redacted:email]"`,
		`https://x.example/?to=ann%40example.com&n`: `https://x.example/?to=[redacted:email]&n`,
		"to=1+2&card=4111+1111+1111+1111&n":         "to=1+2&card=[redacted:card]&n",
		"to=ann%40example.com&t=%2B1+415+555+2671":  "to=[redacted:email]&t=[redacted:phone]",
		"ann+7%40example.com+4111+1111+1111+1111":   "[redacted:email]+[redacted:card]",
		"data YW5uQGV4YW1wbGUuY29tLCBub3c= end":     "data [redacted:email] end",
		`[see ann@example.com`:                      `[see [redacted:email]`,
		// Rows of base64 over two lines, of which too little is left behind a slash.
		strings.Repeat("-", 60) + "/aaa\nbbbbbbbbbbbb": strings.Repeat("-", 60) + "/aaa\nbbbbbbbbbbbb",
		`<a>ann&#64;example&period;com</a> & &x; &`:    `<a>[redacted:email]</a> & &x; &`,
		`{"a":"ann&#x40;example.com"}`:                 `{"a":"[redacted:email]"}`,
		"http://x.example/f/YW5uQGV4YW1wbGUuY29tLA":    "http://x.example/f/[redacted:email]",
		"TG9uZyBsaW5lcyBhcmUgd3JhcHBlZCBhZnRlciBzaXh0eSBjaGFyYWN0ZXJzIGFubkBleGFt\ncGxlLmNvbSwgbm93IQ==\nend": "[redacted:email]\nend",
		`{"a":"ann@example.com"} {"b":"10.0.0.1"}`:                                                            `{"a":"[redacted:email]"} {"b":"[redacted:ip]"}`,
		`{"a":"ann@example.com","b":"cut off`:                                                                 `{"a":"[redacted:email]","b":"cut off`,
	} {
		marks := redact.Marks{}
		if got := f.Text(in, marks); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
		if found := len(marks) > 0; found != (in != want) {
			t.Errorf("%s: marks %v", in, marks)
		}
	}
}

func TestActions(t *testing.T) {
	const key = "fake-key-of-tests-1"
	rules := newRules(t, key, redact.Rule{Pattern: "email", Action: "hmac"}, redact.Rule{Pattern: "card", Action: "drop"},
		redact.Rule{Regex: `T-\d{5}`, Name: "ticket"}, redact.Rule{Pattern: "ip", Upstreams: []string{"other"}},
		redact.Rule{Pattern: "ssn", Where: "response"})
	marks := redact.Marks{}
	f := rules.Filter("openai", redact.WhereRequest)
	got := f.Text("Ann@Example.com ann@example.com bob@example.com <4111111111111111> T-12345 10.0.0.1 123-45-6789", marks)
	words := strings.Fields(got)
	if words[0] != words[1] || words[0] == words[2] || !strings.HasPrefix(words[0], "[hmac:email:") || len(words[0]) != len("[hmac:email:0123456789abcdef]") {
		t.Errorf("equal values must be equal, others not: %s", got)
	}
	if diff := cmp.Diff([]string{"<>", "[redacted:ticket]", "10.0.0.1", "123-45-6789"}, words[3:]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(redact.Marks{"email": 3, "card": 1, "ticket": 1}, marks); diff != "" {
		t.Error(diff)
	}
	if other := newRules(t, key+"2", redact.Rule{Pattern: "email", Action: "hmac"}).Filter("openai", redact.WhereAll).Text("ann@example.com", redact.Marks{}); other == words[0] {
		t.Error("another key gives the same")
	}
	if got := rules.Filter("openai", redact.WhereResponse).Text("123-45-6789", redact.Marks{}); got != "[redacted:ssn]" {
		t.Errorf("got %s", got)
	}
	if rules.Filter("other", redact.WhereRequest).Text("10.0.0.1", redact.Marks{}) != "[redacted:ip]" {
		t.Error("a rule of an upstream does not apply to it")
	}
	if newRules(t, "", redact.Rule{Pattern: "ip", Upstreams: []string{"other"}}).Filter("openai", redact.WhereAll) != nil {
		t.Error("a filter without rules")
	}
}

// TestPaths: a path names values of any kind, also in JSON inside a string.
func TestPaths(t *testing.T) {
	const doc = `{"user":"ann","n":[{"a":1,"b":"x"},{"a":[2],"b":null}],"deep":{"er":{"b":"y"}},"call":"{\"b\":\"z\",\"c\":2}","odd.name":true}`
	for path, want := range map[string]string{
		"$.user":         `{"user":"[redacted:p]","n":[{"a":1,"b":"x"},{"a":[2],"b":null}],"deep":{"er":{"b":"y"}},"call":"{\"b\":\"z\",\"c\":2}","odd.name":true}`,
		"$.n[*].a":       `{"user":"ann","n":[{"a":"[redacted:p]","b":"x"},{"a":"[redacted:p]","b":null}],"deep":{"er":{"b":"y"}},"call":"{\"b\":\"z\",\"c\":2}","odd.name":true}`,
		"$.n[1]":         `{"user":"ann","n":[{"a":1,"b":"x"},"[redacted:p]"],"deep":{"er":{"b":"y"}},"call":"{\"b\":\"z\",\"c\":2}","odd.name":true}`,
		"$..b":           `{"user":"ann","n":[{"a":1,"b":"[redacted:p]"},{"a":[2],"b":"[redacted:p]"}],"deep":{"er":{"b":"[redacted:p]"}},"call":"{\"b\":\"[redacted:p]\",\"c\":2}","odd.name":true}`,
		"$.call.c":       `{"user":"ann","n":[{"a":1,"b":"x"},{"a":[2],"b":null}],"deep":{"er":{"b":"y"}},"call":"{\"b\":\"z\",\"c\":\"[redacted:p]\"}","odd.name":true}`,
		"$['odd.name']":  `{"user":"ann","n":[{"a":1,"b":"x"},{"a":[2],"b":null}],"deep":{"er":{"b":"y"}},"call":"{\"b\":\"z\",\"c\":2}","odd.name":"[redacted:p]"}`,
		"$.deep.*":       `{"user":"ann","n":[{"a":1,"b":"x"},{"a":[2],"b":null}],"deep":{"er":"[redacted:p]"},"call":"{\"b\":\"z\",\"c\":2}","odd.name":true}`,
		"$.nothing[0].b": doc,
	} {
		marks := redact.Marks{}
		got := newRules(t, "", redact.Rule{Path: path, Name: "p"}).Filter("", redact.WhereRequest).Body([]byte(doc), false, marks)
		if diff := cmp.Diff(want, string(got.Bytes)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		if !json.Valid(got.Bytes) || int(marks["p"]) != strings.Count(want, "redacted:p") {
			t.Errorf("%s: %v", path, marks)
		}
	}
	drop := newRules(t, "", redact.Rule{Path: "$.n", Name: "p", Action: "drop"}).Filter("", redact.WhereRequest).Body([]byte(`{"n":[1,{"a":2}],"m":3}`), false, redact.Marks{})
	if string(drop.Bytes) != `{"n":null,"m":3}` {
		t.Errorf("drop: %s", drop.Bytes)
	}
}

func TestConfigErrors(t *testing.T) {
	rule := func(r redact.Rule) redact.Config {
		if r.Action == "" {
			r.Action = "mask"
		}
		if r.Where == "" {
			r.Where = "all"
		}
		return redact.Config{Rules: []redact.Rule{r}}
	}
	for want, c := range map[string]redact.Config{
		`rules[0].pattern: "mail": must be one of email, phone, card, iban, api_key, ip, ssn`:                                      rule(redact.Rule{Pattern: "mail"}),
		`rules[0].pattern: exactly one of pattern, regex and path must be set`:                                                     rule(redact.Rule{Pattern: "email", Path: "$.a"}),
		`rules[0].regex: error parsing regexp: missing closing ): ` + "`(a`":                                                       rule(redact.Rule{Regex: "(a", Name: "x"}),
		`rules[0].regex: "a*": must not match the empty text`:                                                                      rule(redact.Rule{Regex: "a*", Name: "x"}),
		`rules[0].name: "": must be 1 to 32 small letters, digits, _ and -, and is needed beside regex and path`:                   rule(redact.Rule{Regex: "a"}),
		`rules[0].name: "A b": must be 1 to 32 small letters, digits, _ and -, and is needed beside regex and path`:                rule(redact.Rule{Path: "$.a", Name: "A b"}),
		`rules[0].action: "hide": must be mask, hmac or drop`:                                                                      rule(redact.Rule{Pattern: "email", Action: "hide"}),
		`rules[0].where: "here": must be request, response or all`:                                                                 rule(redact.Rule{Pattern: "email", Where: "here"}),
		`hmac_key: must be set when a rule has the action hmac`:                                                                    rule(redact.Rule{Pattern: "email", Action: "hmac"}),
		`hmac_key: 5 bytes: must be at least 16`:                                                                                   {HMACKey: record.NewSecret("short")},
		`rules[0].path: "a.b": must be a JSON path of $, .name, ['name'], [0], [*], .* and ..name, such as $.messages[*].content`:  rule(redact.Rule{Path: "a.b", Name: "x"}),
		`rules[0].path: "$[?]": must be a JSON path of $, .name, ['name'], [0], [*], .* and ..name, such as $.messages[*].content`: rule(redact.Rule{Path: "$[?]", Name: "x"}),
	} {
		if err := c.Validate(); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	c := rule(redact.Rule{Pattern: "email", Upstreams: []string{"opennai"}})
	if err := c.ValidateUpstreams(func(name string) bool { return name == "openai" }); err == nil {
		t.Error("an upstream that does not exist is accepted")
	}
}
