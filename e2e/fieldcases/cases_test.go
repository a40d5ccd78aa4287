package fieldcases

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tree is a JSON text as encoding/json reads it.
type tree = map[string]any

// fieldCase is a pair of files: an input and what has to come of it.
type fieldCase struct {
	name  string
	input []byte
	want  tree
}

// told are the keys of an expectation that say how to run it or why it is there.
var told = []string{
	"id", "kind", "fault", "must", "source", "input", "feed", "client_closes_after", "capture_limit",
	"accept", "soft", "json_equal", "secrets", "kept",
}

// compared are the keys that hold what has to come of it.
var compared = []string{
	"client", "client_headers", "upstream", "upstream_headers", "record", "raw_usage", "request", "trace", "transport", "store",
}

func readCases(t *testing.T) []fieldCase {
	t.Helper()
	dir := filepath.Join("..", "..", "testdata", "fieldcases", "cases")
	files, err := filepath.Glob(filepath.Join(dir, "*.expect.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no field cases in %s: %v", dir, err)
	}
	seen := map[string]bool{}
	var out []fieldCase
	for _, file := range files {
		c := fieldCase{name: strings.TrimSuffix(filepath.Base(file), ".expect.json")}
		if err := json.Unmarshal(readFile(t, file), &c.want); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		seen[c.text("input", "file")] = true
		if c.want["kind"] == "e" { // judging: package judge
			continue
		}
		c.input = readFile(t, filepath.Join(dir, c.text("input", "file")))
		if n := c.number("input", "bytes"); n != len(c.input) {
			t.Fatalf("%s: input has %d bytes, not %d", c.name, len(c.input), n)
		}
		c.checkKeys(t)
		out = append(out, c)
	}
	checkNoneLeft(t, dir, seen)
	return out
}

// checkNoneLeft fails when an input has no expectation.
func checkNoneLeft(t *testing.T, dir string, seen map[string]bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".expect.json") && !seen[e.Name()] {
			t.Errorf("%s has no expectation", e.Name())
		}
	}
}

func (c fieldCase) checkKeys(t *testing.T) {
	t.Helper()
	if !slices.Contains([]any{"a", "b", "c", "d"}, c.want["kind"]) {
		t.Errorf("%s: kind %v is not known", c.name, c.want["kind"])
	}
	outcomes := 0
	for key := range c.want {
		switch {
		case slices.Contains(compared, key), key == "secrets":
			outcomes++
		case !slices.Contains(told, key):
			t.Errorf("%s: key %q is not known", c.name, key)
		}
	}
	if outcomes == 0 {
		t.Errorf("%s expects nothing", c.name)
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// at follows keys into the expectation, nil when there is nothing.
func (c fieldCase) at(keys ...string) any {
	var v any = c.want
	for _, k := range keys {
		m, _ := v.(tree)
		v = m[k]
	}
	return v
}

func (c fieldCase) has(keys ...string) bool { return c.at(keys...) != nil }

func (c fieldCase) text(keys ...string) string { s, _ := c.at(keys...).(string); return s }

func (c fieldCase) number(keys ...string) int { n, _ := c.at(keys...).(float64); return int(n) }

func (c fieldCase) texts(key string) []string {
	list, _ := c.at(key).([]any)
	var out []string
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

func (c fieldCase) id() string { return c.name }

func (c fieldCase) format() string { return c.text("input", "format") }

// path is where a client sends a call of this format, "" when the format is not
// known.
func (c fieldCase) path() string {
	return map[string]string{
		"openai-chat-sse": "/v1/chat/completions", "openai-chat-json": "/v1/chat/completions", "openai-chat-request": "/v1/chat/completions",
		"openai-responses-sse": "/v1/responses", "openai-responses-json": "/v1/responses", "openai-responses-request": "/v1/responses",
		"anthropic-sse": "/v1/messages", "anthropic-json": "/v1/messages", "anthropic-request": "/v1/messages",
		"ollama-ndjson": "/api/chat", "ollama-json": "/api/chat", "ollama-request": "/api/chat",
		"http-request": "/v1/chat/completions",
	}[c.format()]
}

func (c fieldCase) isRequest() bool { return strings.HasSuffix(c.format(), "-request") }

// feed is one way to bring the upstream's bytes.
type feed struct {
	name  string
	parts []string
	close bool // the connection ends with them
	hold  bool // the upstream then waits until it is left
}

const (
	plainAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 80\r\n\r\n" +
		`{"id":"cc-0","choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}` + "\r\n "
	plainStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" +
		"data: {\"id\":\"cc-0\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	cutAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 80\r\n\r\n" + `{"id":"cc-0","choices":[{`
)

// feeds are all ways in which the input is run.
func (c fieldCase) feeds(t *testing.T) []feed {
	t.Helper()
	if c.path() == "" {
		t.Fatalf("%s: format %q is not known", c.name, c.format())
	}
	if c.isRequest() {
		answer := feed{name: "request", parts: []string{plainAnswer}}
		if c.at("request", "stream") == true {
			answer = feed{name: "request", parts: []string{plainStream}, close: true}
		}
		feeds := []feed{answer}
		if c.has("secrets") {
			feeds = append(feeds, feed{name: "request, answer cut", parts: []string{cutAnswer}, close: true})
		}
		return feeds
	}
	return c.answers(t)
}

// answers are the feeds of an answer's body, or of a whole answer.
func (c fieldCase) answers(t *testing.T) []feed {
	t.Helper()
	input, hold := string(c.input), false
	if n := c.number("client_closes_after"); n > 0 {
		input, hold = input[:n], true
	}
	cuts := map[string][]string{"whole": {input}, "bytes": eachByte(input), "events": cutEvents(input)}
	if splits, ok := c.at("feed", "splits").([]any); ok {
		cuts["splits"] = cutAt(input, splits)
	}
	var feeds []feed
	for name, parts := range cuts {
		switch ext := filepath.Ext(c.text("input", "file")); ext {
		case ".http":
			feeds = append(feeds, feed{name: name, parts: parts, close: true})
		case ".sse", ".ndjson", ".json":
			kind := map[string]string{".sse": "text/event-stream", ".ndjson": "application/x-ndjson", ".json": "application/json"}[ext]
			framed := chunked(kind, parts)
			if !hold {
				framed = append(framed, "0\r\n\r\n")
			}
			open := append([]string{head(kind, "Connection: close")}, parts...)
			feeds = append(feeds, feed{name: name, parts: framed, hold: hold}, feed{name: name + " to the end", parts: open, close: true, hold: hold})
		default:
			t.Fatalf("%s: extension %s is not known", c.name, ext)
		}
	}
	slices.SortFunc(feeds, func(a, b feed) int { return strings.Compare(a.name, b.name) })
	return feeds
}

func head(kind, field string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\n" + field + "\r\n\r\n"
}

func eachByte(s string) []string {
	out := make([]string, len(s))
	for i := range len(s) {
		out[i] = s[i : i+1]
	}
	return out
}

func cutAt(s string, offsets []any) []string {
	var out []string
	begin := 0
	for _, v := range offsets {
		at, _ := v.(float64)
		i := min(int(at), len(s))
		out, begin = append(out, s[begin:i]), i
	}
	return append(out, s[begin:])
}

// cutEvents cuts behind each event, whatever its line ends; lines of NDJSON are
// events too.
func cutEvents(s string) []string {
	ends := []string{"\r\n\r\n", "\n\n", "\r\r"}
	if strings.HasPrefix(strings.TrimSpace(s), "{") {
		ends = []string{"\n"}
	}
	var out []string
	for begin, i := 0, 0; ; i++ {
		if i == len(s) {
			return append(out, s[begin:])
		}
		for _, end := range ends {
			if strings.HasSuffix(s[begin:i+1], end) {
				out, begin = append(out, s[begin:i+1]), i+1
				break
			}
		}
	}
}

// chunked frames an answer, each part as a chunk.
func chunked(kind string, parts []string) []string {
	out := []string{head(kind, "Transfer-Encoding: chunked")}
	for _, p := range parts {
		if p == "" {
			continue
		}
		out = append(out, strconv.FormatInt(int64(len(p)), 16)+"\r\n"+p+"\r\n")
	}
	return out
}
