package capture_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"docket/internal/capture"
	"docket/internal/record"
	"docket/internal/redact"
	"docket/internal/wire"
)

// withRules sets redaction rules. Missing actions and places get their defaults.
func withRules(key string, rules ...redact.Rule) func(*capture.Config, *capture.DrainerOptions) {
	return func(c *capture.Config, _ *capture.DrainerOptions) {
		for _, r := range rules {
			d := redact.Rule{}
			d.SetDefaults()
			if r.Action == "" {
				r.Action = d.Action
			}
			if r.Where == "" {
				r.Where = d.Where
			}
			c.Redact.Rules = append(c.Redact.Rules, r)
		}
		c.Redact.HMACKey = record.NewSecret(key)
		c.SpanContent = true
	}
}

func everyPattern() func(*capture.Config, *capture.DrainerOptions) {
	return withRules("", redact.Rule{Pattern: "email"}, redact.Rule{Pattern: "phone"}, redact.Rule{Pattern: "card"},
		redact.Rule{Pattern: "iban"}, redact.Rule{Pattern: "api_key"}, redact.Rule{Pattern: "ssn"})
}

func planted() []string {
	return []string{"ann.lee@example.com", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "+49 30 1234567", "sk-proj-abcdefghij0123456789", "123-45-6789"}
}

// redacted plays calls and returns what is stored of them.
func redacted(t *testing.T, change func(*capture.Config, *capture.DrainerOptions), calls ...call) *memSink {
	t.Helper()
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	for _, c := range calls {
		play(t, r, c)
	}
	if err := newDrainer(s, sink, change).Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sink
}

func withRequest(c call, body string) call {
	c.request, c.begin.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	return c
}

func withAnswer(c call, status int, contentType, body string) call {
	c.status, c.header, c.length, c.chunks = status, http.Header{"Content-Type": {contentType}}, int64(len(body)), []string{body}
	return c
}

// TestRedactionEverywhere plants values in every place that a row is made of.
func TestRedactionEverywhere(t *testing.T) {
	const email = "ann.lee@example.com"
	c := streamCall(chatEvents("mail ", "ann.", "lee@", "exam", "ple.com", " now")...)
	c.begin.Path += "/ann.lee%40example.com"
	c.begin.RawQuery = "to=ann.lee%40example.com"
	c.begin.TraceState = "v=" + email
	c.begin.Header = http.Header{
		"Docket-User": {email}, "Docket-Tags": {"vip," + email}, "Docket-Sources": {`[{"author":"` + email + `"}]`}, "Docket-Metadata-Owner": {email},
		"Docket-Conversation-Id": {"c-" + email}, "Docket-Prompt-Name": {"for " + email}, "Docket-Environment": {email}, "User-Agent": {"app (" + email + ")"},
	}
	c.begin.Baggage = map[string]string{"owner": email}
	c.header.Set("X-Request-Id", email)
	c = withRequest(c, `{"model":"m","user":"`+email+`","metadata":{"owner":"`+email+`"},"tools":[{"type":"function","function":{"name":"f","description":"ask `+email+
		`"}}],"messages":[{"role":"user","content":"I am ann.lee\u0040example.com"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"to\":\"ann.lee\\u0040example.com\"}"}}]},{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"ann.lee"},{"type":"text","text":"@example.com"}]}]}`)
	sink := redacted(t, everyPattern(), c)
	row, body := sink.only()
	all := sink.everything()
	for _, left := range []string{"ann.lee", "lee@example", "exam\"", "ple.com"} {
		if strings.Contains(all, left) {
			t.Errorf("%q is left in %s", left, all)
		}
	}
	if row.Redacted != record.RedactedMasked || row.Redactions["email"] < 10 || row.RequestCRC != 0 || row.ResponseCRC != 0 {
		t.Errorf("marks %q %v, checksums %d %d", row.Redacted, row.Redactions, row.RequestCRC, row.ResponseCRC)
	}
	if text, _ := body.Output[0].Text(); text != "mail [redacted:email] now" {
		t.Errorf("the answer is %q", text)
	}
	if !row.Complete || row.Undecodable || !json.Valid(body.Request) {
		t.Errorf("complete %v, undecodable %v, request %s", row.Complete, row.Undecodable, body.Request)
	}
	if *body.Input[1].Parts[0].Arguments != `{"to":"[redacted:email]"}` || row.UserID != "[redacted:email]" {
		t.Errorf("arguments %s, user %s", *body.Input[1].Parts[0].Arguments, row.UserID)
	}
}

// TestRedactionOfErrors: error answers of any kind, and our own.
func TestRedactionOfErrors(t *testing.T) {
	chat := jsonCall("/v1/chat/completions")
	sink := redacted(t, everyPattern(),
		withAnswer(chat, 400, "application/json", `{"error":{"message":"no user ann.lee@example.com","type":"invalid"}}`),
		withAnswer(chat, 502, "text/html", `<html><title>4111 1111 1111 1111</title></html>`),
		withAnswer(chat, 500, "text/plain", `ask +49 30 1234567`),
	)
	for i, want := range []string{"no user [redacted:email]", "[redacted:card]", "ask [redacted:phone]"} {
		if got := sink.rows[i].ErrorMessage; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, value := range planted() {
		if strings.Contains(sink.everything(), value) {
			t.Errorf("%q is stored", value)
		}
	}
}

// TestRedactionDropsUnsearched: a body that rules cannot be applied to is not
// kept, and the row says so; one with an encoding is kept without it.
func TestRedactionDropsUnsearched(t *testing.T) {
	chat := jsonCall("/v1/chat/completions")
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(strings.Replace(chatAnswer, "hello", "ann.lee@example.com", 1)))
	_ = z.Close()
	encoded := func(name, body string) call {
		c := withAnswer(chat, 200, "application/json", body)
		c.header.Set("Content-Encoding", name)
		return c
	}
	for name, tt := range map[string]struct {
		call     call
		redacted string
		response string
		gaps     uint64
	}{
		"binary":           {withAnswer(chat, 200, "audio/mpeg", "\xff\xfb\x00ann.lee@example.com"), record.RedactedDropped, "", 1},
		"broken JSON":      {withAnswer(chat, 200, "application/json", `{"a" "ann.lee@example.com"}`), record.RedactedDropped, "", 1},
		"unknown encoding": {encoded("snappy", "ann.lee@example.com"), record.RedactedDropped, "", 1},
		"gzip":             {encoded("gzip", zipped.String()), record.RedactedMasked, strings.Replace(chatAnswer, "hello", "[redacted:email]", 1), 0},
		"no rule matches":  {withAnswer(chat, 200, "application/json", chatAnswer), "", chatAnswer, 0},
	} {
		t.Run(name, func(t *testing.T) {
			sink := redacted(t, everyPattern(), tt.call)
			row, body := sink.only()
			if diff := cmp.Diff(tt.response, string(body.Response)); diff != "" || row.Redacted != tt.redacted {
				t.Errorf("redacted %q: %s", row.Redacted, diff)
			}
			if row.Undecodable != (tt.gaps > 0) || sink.gapCounts()[record.GapUndecodable] != tt.gaps || !row.Complete {
				t.Errorf("undecodable %v, complete %v, gaps %v", row.Undecodable, row.Complete, sink.gapCounts())
			}
			if (row.ResponseCRC == 0) != (tt.redacted != "") || string(body.Request) != chatRequest {
				t.Errorf("checksum %d, request %s", row.ResponseCRC, body.Request)
			}
			if strings.Contains(sink.everything(), "ann.lee") {
				t.Error("the value is stored")
			}
		})
	}
}

// TestRedactionDropsRawBytes: where the pieces of a value are joined by the API
// alone, the messages are redacted and the bytes are not kept.
func TestRedactionDropsRawBytes(t *testing.T) {
	c := streamCall(
		"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}},{\"delta\":{\"content\":\"ann.lee@exa\"}}]}\n\n",
		"data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"mple.com\"},\"finish_reason\":\"stop\"},{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
		"data: [DONE]\n\n",
	)
	sink := redacted(t, everyPattern(), c)
	row, body := sink.only()
	if row.Redacted != record.RedactedRaw || body.Response != nil || row.Redactions["email"] != 1 || row.ResponseCRC != 0 {
		t.Errorf("redacted %q %v, response %q", row.Redacted, row.Redactions, body.Response)
	}
	if text, _ := body.Output[1].Text(); text != "[redacted:email]" || strings.Contains(sink.everything(), "ann.lee") {
		t.Errorf("the answer is %q", text)
	}
}

// TestRedactionInQuarantine: a row that the store refuses is redacted, too.
func TestRedactionInQuarantine(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	sink.before = func(_ int, b record.Batch) error {
		if len(b.Inferences) > 0 {
			return refusedError{"no"}
		}
		return nil
	}
	r := newRecorder(t, s, nil)
	play(t, r, withRequest(streamCall(chatEvents("my card is 4111 11", "11 1111 1111")...), `{"model":"m","messages":[{"role":"user","content":"DE89370400440532013000"}]}`))
	if err := newDrainer(s, sink, everyPattern()).Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(s.aside) != 1 {
		t.Fatalf("%d files in quarantine", len(s.aside))
	}
	for _, file := range s.aside {
		var kept struct{ Bodies []record.Body }
		if err := json.Unmarshal(file, &kept); err != nil || len(kept.Bodies) != 1 {
			t.Fatal(err)
		}
		text := string(file) + string(kept.Bodies[0].Request) + string(kept.Bodies[0].Response)
		for _, left := range []string{"4111", "1111", "DE89"} {
			if strings.Contains(text, left) {
				t.Errorf("%q is in quarantine: %s", left, text)
			}
		}
	}
}

// TestRedactionByPath: what a path names is gone from the messages as well.
func TestRedactionByPath(t *testing.T) {
	sink := redacted(t, withRules("", redact.Rule{Path: "$.messages[*].content", Name: "prompt", Where: "request"}, redact.Rule{Path: "$..usage", Name: "usage", Action: "drop"}),
		jsonCall("/v1/chat/completions"))
	row, body := sink.only()
	if text, _ := body.Input[0].Text(); text != "[redacted:prompt]" || row.Usage.Raw != "" || row.Redactions["prompt"] != 1 || row.Redactions["usage"] != 1 {
		t.Errorf("input %q, usage %q, marks %v", text, row.Usage.Raw, row.Redactions)
	}
	if text, _ := body.Output[0].Text(); text != "hello" {
		t.Errorf("output %q", text)
	}
}

// conversationCalls are two turns of one conversation and the first of another,
// which differs from it only in an address.
func conversationCalls() []call {
	answer := func(text string) string { return strings.Replace(chatAnswer, "hello", text, 1) }
	chat := jsonCall("/v1/chat/completions")
	turn := func(request, reply string) call {
		return withRequest(withAnswer(chat, 200, "application/json", answer(reply)), request)
	}
	return []call{
		turn(`{"model":"m","messages":[{"role":"user","content":"I am ann@example.com"}]}`, "hello ann@example.com"),
		turn(`{"model":"m","messages":[{"role":"user","content":"I am ann@example.com"},{"role":"assistant","content":"hello ann@example.com"},{"role":"user","content":"and now?"}]}`, "that"),
		turn(`{"model":"m","messages":[{"role":"user","content":"I am bob@example.com"}]}`, "hello bob@example.com"),
	}
}

// TestRedactionKeepsConversations: calls are linked with redaction on, and with
// a key also told apart where only what is redacted differs.
func TestRedactionKeepsConversations(t *testing.T) {
	const key = "fake-key-of-tests-1"
	for name, tt := range map[string]struct {
		change func(*capture.Config, *capture.DrainerOptions)
		linked bool
		apart  bool
	}{
		"without rules":     {nil, true, true},
		"masked":            {withRules("", redact.Rule{Pattern: "email"}), true, false},
		"masked one way":    {withRules("", redact.Rule{Pattern: "email", Where: "response"}), true, false},
		"masked with a key": {withRules(key, redact.Rule{Pattern: "email", Where: "response"}), true, true},
		"hmac":              {withRules(key, redact.Rule{Pattern: "email", Action: "hmac"}), true, true},
		"path":              {withRules("", redact.Rule{Path: "$.messages[*].content", Name: "x"}), false, false},
		"path with a key":   {withRules(key, redact.Rule{Path: "$.messages[*].content", Name: "x"}), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			sink := redacted(t, tt.change, conversationCalls()...)
			ids := []string{}
			for _, row := range sink.rows {
				ids = append(ids, row.ConversationID)
			}
			if linked := ids[0] != "" && ids[0] == ids[1]; linked != tt.linked {
				t.Errorf("linked %v: %q", linked, ids)
			}
			if apart := ids[0] != ids[2]; tt.linked && apart != tt.apart {
				t.Errorf("apart %v: %q", apart, ids)
			}
		})
	}
}

// TestConversationIDTellsNothing: whoever knows all of a conversation but the
// redacted value cannot try values against the stored id.
func TestConversationIDTellsNothing(t *testing.T) {
	plain := redacted(t, nil, conversationCalls()[0]).rows[0].ConversationID
	for _, key := range []string{"", "fake-key-of-tests-1"} {
		if id := redacted(t, withRules(key, redact.Rule{Pattern: "email"}), conversationCalls()[0]).rows[0].ConversationID; id == plain || id == "" {
			t.Errorf("with key %q the id %q is the hash of what was said", key, id)
		}
	}
}

// TestRulesChangeBetweenAttempts: a batch that may be stored in part comes again
// with other rules. Its rows are compared with what is stored.
func TestRulesChangeBetweenAttempts(t *testing.T) {
	for name, tt := range map[string]struct {
		then  func(*capture.Config, *capture.DrainerOptions)
		piece bool
	}{
		"same rules":  {withRules("", redact.Rule{Pattern: "email"}), false},
		"other rules": {withRules("", redact.Rule{Pattern: "card"}), true},
		"another key": {withRules("fake-key-of-tests-1", redact.Rule{Pattern: "email"}), true},
		"none":        {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, first := newMemSpool(), newMemSink(t)
			played(t, newRecorder(t, s, nil), 1)
			ctx, cancel := context.WithCancel(t.Context())
			first.before = func(int, record.Batch) error { cancel(); return errSink }
			if err := newDrainer(s, first, withRules("", redact.Rule{Pattern: "email"})).Flush(ctx); err == nil {
				t.Fatal("nothing failed")
			}
			second := newMemSink(t)
			if err := newDrainer(s, second, tt.then).Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, b := range second.tokens {
				if b.Piece != tt.piece && len(b.Inferences) > 0 {
					t.Errorf("piece %v, want %v", b.Piece, tt.piece)
				}
			}
			second.only()
		})
	}
}

// TestRedactionOfUpstream: rules of one upstream do not touch the others.
func TestRedactionOfUpstream(t *testing.T) {
	c := conversationCalls()[0]
	row, body := redacted(t, withRules("", redact.Rule{Pattern: "email", Upstreams: []string{"other"}}), c).only()
	if row.Redacted != "" || !bytes.Contains(body.Request, []byte("ann@example.com")) || row.RequestCRC == 0 {
		t.Errorf("redacted %q: %s", row.Redacted, body.Request)
	}
}

// TestRedactionOfFieldCases: streams of all APIs, as they are and with a value
// planted over two of their texts. Nothing is redacted of the first, nothing is
// left of the second.
func TestRedactionOfFieldCases(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "fieldcases", "cases")
	names, err := filepath.Glob(filepath.Join(dir, "A*.*s*"))
	if err != nil {
		t.Fatal(err)
	}
	texts := regexp.MustCompile(`"(content|text|delta|thinking|arguments|partial_json|response)": ?"((?:[^"\\]|\\.)*)"`)
	rng, seen, planting := rand.New(rand.NewPCG(3, 4)), 0, 0
	for _, name := range names {
		path := pathOf(filepath.Base(name))
		if path == "" {
			continue
		}
		seen++
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sink := redacted(t, everyPattern(), caseCall(path, raw, rng))
		row, body := sink.only()
		if row.Redacted != "" && row.TerminalState == record.StateComplete && utf8.Valid(raw) && !row.Undecodable {
			t.Errorf("%s: redacted %q %v: %s", name, row.Redacted, row.Redactions, body.Response)
		}
		at := texts.FindAllSubmatchIndex(raw, -1)
		for range min(2*len(at)-2, 24) {
			value := planted()[rng.IntN(len(planted()))]
			k, n := rng.IntN(len(at)-1), 1+rng.IntN(len(value)-1)
			if string(raw[at[k][2]:at[k][3]]) != string(raw[at[k+1][2]:at[k+1][3]]) {
				continue
			}
			planting++
			spoiled := string(raw[:at[k][5]]) + " " + value[:n] + string(raw[at[k][5]:at[k+1][4]]) + value[n:] + " " + string(raw[at[k+1][4]:])
			before, err := json.Marshal(wire.Decode(wire.Exchange{Method: "POST", Path: path, Response: []byte(spoiled), Status: 200}).Output)
			if err != nil {
				t.Fatal(err)
			}
			sink := redacted(t, everyPattern(), caseCall(path, []byte(spoiled), rng))
			checkGone(t, name, value, sink, strings.Contains(string(before), value))
		}
	}
	if seen < 15 || planting < 50 {
		t.Errorf("%d cases, %d values", seen, planting)
	}
}

func pathOf(name string) string {
	switch {
	case strings.HasSuffix(name, ".json"), strings.Contains(name, "rune-split"):
		return ""
	case strings.Contains(name, "responses"):
		return "/v1/responses"
	case strings.Contains(name, "anthropic"):
		return "/v1/messages"
	case strings.HasSuffix(name, ".ndjson"):
		return "/api/chat"
	}
	return "/v1/chat/completions"
}

// caseCall streams a body in pieces of any size.
func caseCall(path string, body []byte, rng *rand.Rand) call {
	c := streamCall()
	c.begin.Path, c.begin.UpstreamPath = path, path
	for len(body) > 0 {
		n := 1 + rng.IntN(min(len(body), 200))
		c.chunks = append(c.chunks, string(body[:n]))
		body = body[n:]
	}
	return c
}

// checkGone looks for a value in all that is stored, and in what the stored
// bytes say when they are decoded again. When the value was in one text of the
// answer, the row says that something was redacted.
func checkGone(t *testing.T, name, value string, sink *memSink, said bool) {
	t.Helper()
	row, body := sink.only()
	again := wire.Decode(wire.Exchange{Method: "POST", Path: row.Path, Response: body.Response, Status: 200, RequestHeader: map[string]string{}, ResponseHeader: map[string]string{}})
	left, err := json.Marshal(again.Output)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{sink.everything(), string(left), fmt.Sprint(again.ErrorMessage)} {
		if strings.Contains(text, value) {
			t.Errorf("%s: %q is left in %s", name, value, text)
		}
	}
	if said && row.Redacted == "" {
		t.Errorf("%s: %q was not found in %s", name, value, body.Response)
	}
}
