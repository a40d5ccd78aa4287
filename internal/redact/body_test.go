package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/redact"
)

func event(data string) string { return "data: " + data + "\n\n" }

func delta(text string) string {
	b, _ := json.Marshal(text)
	return event(`{"id":"c1","choices":[{"delta":{"content":` + string(b) + `},"index":0}]}`)
}

func TestBody(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string
		open     bool
	}{
		"json": {in: `{"messages":[{"role":"user","content":"I am ann@example.com"}]}`, want: `{"messages":[{"role":"user","content":"I am [redacted:email]"}]}`},
		"parts": {
			in:   `{"content":[{"type":"text","text":"I am ann@exa"},{"type":"text","text":"mple.com, you?"}]}`,
			want: `{"content":[{"type":"text","text":"I am [redacted:email]"},{"type":"text","text":", you?"}]}`,
		},
		"repeated key": {in: `{"a":"ann@example.com","a":"bob@example.com"}`, want: `{"a":"[redacted:email]","a":"[redacted:email]"}`},
		"escapes":      {in: `{"a":"\u0061nn\u0040example.com\/x \"q\" é"}`, want: `{"a":"[redacted:email]\/x \"q\" é"}`},
		"stream":       {in: delta("I am ") + delta("ann") + delta("@exa") + delta("mple.") + delta("com!") + event("[DONE]"), want: delta("I am ") + delta("[redacted:email]") + delta("") + delta("") + delta("!") + event("[DONE]")},
		"stream with CR LF": {
			in:   strings.ReplaceAll(delta("ann@exa")+delta("mple.com"), "\n", "\r\n"),
			want: strings.ReplaceAll(delta("[redacted:email]")+delta(""), "\n", "\r\n"),
		},
		"data over lines": {
			in:   "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"ann@exa\"},\ndata: \"index\":0}]}\n\n" + delta("mple.com"),
			want: "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"[redacted:email]\"},\ndata: \"index\":0}]}\n\n" + delta(""),
		},
		"two choices": {
			in:   event(`{"choices":[{"index":0,"delta":{"content":"ann@"}},{"index":1,"delta":{"content":"bob@exa"}}]}`) + event(`{"choices":[{"delta":{"content":"mple.com"},"index":1}]}`) + event(`{"choices":[{"delta":{"content":"example.com"},"index":0}]}`),
			want: event(`{"choices":[{"index":0,"delta":{"content":"[redacted:email]"}},{"index":1,"delta":{"content":"[redacted:email]"}}]}`) + event(`{"choices":[{"delta":{"content":""},"index":1}]}`) + event(`{"choices":[{"delta":{"content":""},"index":0}]}`),
		},
		"arguments in pieces": {
			in: event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"to\":\"ann"}}]}}]}`) +
				event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\u0040exa"}}]}}]}`) + event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"mple.com\",\"n\":41111"}}]}}]}`) +
				event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"11111111111}"}}]}}]}`),
			want: event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"to\":\"[redacted:email]"}}]}}]}`) +
				event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}]}}]}`) + event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\",\"n\":\"[redacted:card]\""}}]}}]}`) +
				event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}`),
		},
		"log-probabilities": {
			in:   event(`{"choices":[{"index":0,"delta":{"content":"ann@"},"logprobs":{"content":[{"token":"ann@","bytes":[97,110]}]}}]}`) + event(`{"choices":[{"index":0,"delta":{"content":"example.com"},"logprobs":null}]}`),
			want: event(`{"choices":[{"index":0,"delta":{"content":"[redacted:email]"},"logprobs":null}]}`) + event(`{"choices":[{"index":0,"delta":{"content":""},"logprobs":null}]}`),
		},
		"log-probabilities of servers": {
			in:   `{"content":"ann@example.com","completion_probabilities":[{"token":"ann@","bytes":[97,110],"top_logprobs":[]}]}`,
			want: `{"content":"[redacted:email]","completion_probabilities":null}`,
		},
		"log-probabilities of the request": {in: `{"a":1,"prompt_logprobs":[null,{"12":{"decoded_token":"ann@"}}]}`, want: `{"a":1,"prompt_logprobs":null}`},
		"tokens":                           {in: `{"response":"fine","context":[12, 345],"prompt_token_ids":[]}`, want: `{"response":"fine","context":null,"prompt_token_ids":[]}`},
		"tokens of a request":              {in: `{"input":[[1,2],[3]],"prompt":[4111111111111111]}`, want: `{"input":null,"prompt":null}`},
		"tokens that broke off":            {in: `{"response":"fine","context":[12, 345`, open: true, want: `{"response":"fine","context":null`},
		"no tokens":                        {in: `{"input":["a"],"context":[{"n":1}],"prompt":7,"tokens":12}`, want: `{"input":["a"],"context":[{"n":1}],"prompt":7,"tokens":12}`},
		"asked for log-probabilities":      {in: `{"a":"ann@example.com","logprobs":true,"top_logprobs":5,"prompt_logprobs":1}`, want: `{"a":"[redacted:email]","logprobs":true,"top_logprobs":5,"prompt_logprobs":1}`},
		"index of the event": {
			in:   event(`{"index":1,"token":{"text":"ann@"}}`) + event(`{"index":2,"token":{"text":"example"}}`) + event(`{"index":3,"token":{"text":".com."}}`),
			want: event(`{"index":1,"token":{"text":"[redacted:email]"}}`) + event(`{"index":2,"token":{"text":""}}`) + event(`{"index":3,"token":{"text":"."}}`),
		},
		"index of the line": {in: `{"index":1,"response":"ann@"}` + "\n" + `{"index":2,"response":"example.com"}`, want: `{"index":1,"response":"[redacted:email]"}` + "\n" + `{"index":2,"response":""}`},
		"id of the event": {
			in:   event(`{"type":"response.output_text.delta","item_id":"x1","delta":"ann@"}`) + event(`{"type":"response.output_text.delta","item_id":"x2","delta":"example.com"}`),
			want: event(`{"type":"response.output_text.delta","item_id":"x1","delta":"[redacted:email]"}`) + event(`{"type":"response.output_text.delta","item_id":"x2","delta":""}`),
		},
		"index, cut":  {in: event(`{"index":1,"text":"my card 4111 1111"}`) + `data: {"index":2,"text":" 11`, want: event(`{"index":1,"text":"my card [redacted:cut]"}`) + `data: {"index":2,"text":"`, open: true},
		"form":        {in: "q=4111+1111+1111+1111&phone=%2B49+30+5550+1234&n=1+2", want: "q=[redacted:card]&phone=[redacted:phone]&n=1+2"},
		"JSON lines":  {in: `{"message":{"content":"ann@exa"},"done":false}` + "\n" + `{"message":{"content":"mple.com"},"done":true}` + "\n", want: `{"message":{"content":"[redacted:email]"},"done":false}` + "\n" + `{"message":{"content":""},"done":true}` + "\n"},
		"JSON list":   {in: `[{"candidates":[{"content":{"parts":[{"text":"ann@exa"}]}}]},` + "\n" + `{"candidates":[{"content":{"parts":[{"text":"mple.com"}]}}]}]`, want: `[{"candidates":[{"content":{"parts":[{"text":"[redacted:email]"}]}}]},` + "\n" + `{"candidates":[{"content":{"parts":[{"text":""}]}}]}]`},
		"plain data":  {in: event("ann@exa") + event("mple.com ok"), want: event("[redacted:email]") + event(" ok")},
		"string data": {in: event(`"ann@exa"`) + event(`"mple.com ok"`), want: event(`"[redacted:email]"`) + event(`" ok"`)},
		"comment":     {in: ": ann@example.com\n\n" + event("[DONE]"), want: ": [redacted:email]\n\n" + event("[DONE]")},
		"html":        {in: "<html>ann@example.com</html>", want: "<html>[redacted:email]</html>"},
		"cut value":   {in: `{"messages":[{"content":"mail ann@exam`, want: `{"messages":[{"content":"mail [redacted:cut]`, open: true},
		"cut digits":  {in: delta("my card 4111 1111") + `data: {"choices":[{"delta":{"content":" 11`, want: delta("my card [redacted:cut]") + `data: {"choices":[{"delta":{"content":"`, open: true},
		"cut quietly": {in: delta("and so it") + `data: {"choi`, want: delta("and so it") + `data: {"choi`, open: true},
		"nothing":     {in: delta("quiet ") + delta("text"), want: delta("quiet ") + delta("text")},
	} {
		f := everyPattern(t).Filter("", redact.WhereResponse)
		marks := redact.Marks{}
		in := []byte(c.in)
		got := f.Body(in, c.open, marks)
		if diff := cmp.Diff(c.want, string(got.Bytes)); diff != "" || got.Dropped {
			t.Errorf("%s: dropped %v: %s", name, got.Dropped, diff)
		}
		if got.Changed != (c.in != c.want) || got.Changed != (len(marks) > 0) {
			t.Errorf("%s: changed %v, marks %v", name, got.Changed, marks)
		}
		if string(in) != c.in {
			t.Errorf("%s: the body of the caller was changed", name)
		}
	}
}

// TestBodyDropped: what is not understood is not kept.
func TestBodyDropped(t *testing.T) {
	patterns := everyPattern(t).Filter("", redact.WhereResponse)
	paths := newRules(t, "", redact.Rule{Path: "$.a", Name: "a"}).Filter("", redact.WhereResponse)
	for in, filters := range map[string][]*redact.Filter{
		`{"a" "ann@example.com"}`:       {patterns, paths},
		`{"a":ann@example.com}`:         {patterns, paths},
		`{"a":1} and more`:              {patterns, paths},
		"\x00\x01binary":                {patterns, paths},
		"caf\xe9 with Latin-1":          {patterns, paths},
		event(`{"a":"ann`) + event("b"): {patterns, paths},
		event("words"):                  {paths},
		"plain words":                   {paths},
	} {
		for _, f := range filters {
			marks := redact.Marks{}
			if got := f.Body([]byte(in), false, marks); !got.Dropped || got.Bytes != nil || marks["undecoded"] != 1 {
				t.Errorf("%q: kept %q, marks %v", in, got.Bytes, marks)
			}
		}
	}
	var none *redact.Filter
	if got := none.Body([]byte("\x00"), false, nil); got.Dropped || got.Changed || string(got.Bytes) != "\x00" {
		t.Error("a filter without rules changed a body")
	}
}

// TestPathInStream: a text that a path names is replaced where it begins.
func TestPathInStream(t *testing.T) {
	in := delta("all ") + delta("of it") + event("[DONE]")
	for action, want := range map[string]string{
		"mask": delta("[redacted:p]") + delta("") + event("[DONE]"),
		"drop": strings.NewReplacer(`"all "`, "null", `"of it"`, "null").Replace(in),
	} {
		f := newRules(t, "", redact.Rule{Path: "$.choices[*].delta.content", Name: "p", Action: action}).Filter("", redact.WhereResponse)
		if diff := cmp.Diff(want, string(f.Body([]byte(in), false, redact.Marks{}).Bytes)); diff != "" {
			t.Errorf("%s: %s", action, diff)
		}
	}
}

// planted are values of which nothing may be left.
func planted() []string {
	return []string{"ann.lee@example.com", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "+49 30 1234567", "sk-proj-abcdefghij0123456789", "123-45-6789"}
}

// TestSplits: however a text is divided into events, and whatever is escaped in
// it, a planted value is in none of them and not in what they say together.
func TestSplits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	f := everyPattern(t).Filter("", redact.WhereResponse)
	frames := []func(string) string{
		func(s string) string { return event(`{"choices":[{"index":0,"delta":{"content":` + s + `}}]}`) },
		func(s string) string {
			return "event: content_block_delta\r\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":" + s + "}}\r\n\r\n"
		},
		func(s string) string {
			return event(`{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":` + s + `}`)
		},
		func(s string) string { return `{"response":` + s + `,"done":false}` + "\n" },
		func(s string) string {
			return "data: {\"opaque\":\ndata: {\"words\":[" + s + "]}}\n\n"
		},
	}
	for round := range 3000 {
		value := planted()[rng.IntN(len(planted()))]
		text := "before it " + value + " behind it"
		frame := frames[rng.IntN(len(frames))]
		var in strings.Builder
		for rest := text; rest != ""; {
			n := 1 + rng.IntN(min(len(rest), 8))
			in.WriteString(frame(escaped(rng, rest[:n])))
			rest = rest[n:]
		}
		got := f.Body([]byte(in.String()), false, redact.Marks{})
		said := everyString(got.Bytes)
		if got.Dropped || !got.Changed || strings.Contains(said, value) || bytes.Contains(got.Bytes, []byte(value)) {
			t.Fatalf("round %d: %q is left in %s", round, value, got.Bytes)
		}
		if !strings.HasPrefix(said, "before it [redacted:") || !strings.HasSuffix(said, "] behind it") {
			t.Fatalf("round %d: more than the value is gone: %q", round, said)
		}
	}
}

// escaped writes a JSON string in which some characters are escaped.
func escaped(rng *rand.Rand, s string) string {
	var b strings.Builder
	for _, r := range s {
		if rng.IntN(4) == 0 {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// everyString joins the strings of the deltas of a stream, decoded.
func everyString(stream []byte) string {
	text := strings.NewReplacer("\r", "", "\ndata: {\"words\"", "{\"words\"").Replace(string(stream))
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		var v map[string]any
		if json.Unmarshal([]byte(line), &v) == nil {
			collect(v, &out)
		}
	}
	return out.String()
}

func collect(v any, out *strings.Builder) {
	switch v := v.(type) {
	case string:
		out.WriteString(v)
	case []any:
		for _, item := range v {
			collect(item, out)
		}
	case map[string]any:
		for k, item := range v {
			if k != "type" && k != "item_id" {
				collect(item, out)
			}
		}
	}
}

// FuzzBody: a body stays what it is, JSON stays JSON, and going over it again
// finds nothing.
func FuzzBody(f *testing.F) {
	for _, s := range []string{`{"a":"ann@example.com"}`, delta("ann@exa") + delta("mple.com"), "data: x\n\ndata: {", `[{"a":[1,"x"]}]`, "text 4111 1111 1111 1111", `{"a":"\u0040\"\\"}`, strings.Repeat("-", 60) + "/aaa\nbbbbbbbbbbbb"} {
		f.Add([]byte(s), true)
	}
	rules := everyPattern(f)
	f.Fuzz(func(t *testing.T, in []byte, open bool) {
		for _, where := range []string{redact.WhereRequest, redact.WhereResponse} {
			filter := rules.Filter("", where)
			before := bytes.Clone(in)
			got := filter.Body(in, open, redact.Marks{})
			if !bytes.Equal(before, in) {
				t.Fatal("the body of the caller was changed")
			}
			if got.Dropped {
				continue
			}
			if json.Valid(in) && bytes.ContainsAny(in, "{[") && !json.Valid(got.Bytes) {
				t.Errorf("%q is JSON, %q is not", in, got.Bytes)
			}
			isJSON := bytes.HasPrefix(in, []byte("{")) // other text may begin with a mark now
			if again := filter.Body(got.Bytes, false, redact.Marks{}); isJSON && again.Dropped && !open {
				t.Errorf("%q was understood, %q is not", in, got.Bytes)
			}
		}
	})
}

func BenchmarkBody(b *testing.B) {
	words := strings.Repeat("It is a plain answer of some words, with order 12345 of 2024-01-02 in it. ", 30)
	stream := strings.Builder{}
	for i := 0; i < len(words); i += 6 {
		stream.WriteString(delta(words[i:min(len(words), i+6)]))
	}
	doc, _ := json.Marshal(map[string]any{"model": "m", "messages": []any{map[string]any{"role": "user", "content": strings.Repeat(words, 10)}}})
	image, _ := json.Marshal(map[string]any{"image": strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 1<<20/24)})
	for name, body := range map[string][]byte{"json": doc, "stream": []byte(stream.String()), "image": image} {
		filter := everyPattern(b).Filter("", redact.WhereResponse)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				filter.Body(body, false, redact.Marks{})
			}
		})
	}
}
