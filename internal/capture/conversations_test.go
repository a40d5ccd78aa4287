package capture_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"docket/internal/capture"
	"docket/internal/record"
)

// said is one message of a chat: its role and text, or a whole message as JSON.
type said struct{ role, text string }

func (m said) json() string {
	if strings.HasPrefix(m.text, "{") {
		return m.text
	}
	text, _ := json.Marshal(m.text) //nolint:errchkjson // a string
	return fmt.Sprintf(`{"role":%q,"content":%s}`, m.role, text)
}

func user(text string) said      { return said{"user", text} }
func assistant(text string) said { return said{"assistant", text} }
func system(text string) said    { return said{"system", text} }

const toolCall = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Oslo\"}"}}]}`

// toolEcho is toolCall as some clients send it back.
const toolEcho = `{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`

const toolResult = `{"role":"tool","tool_call_id":"c1","content":"rain"}`

// chat is one call: what was said before, and the answer.
func chat(answer said, input ...said) call {
	var list []string
	for _, m := range input {
		list = append(list, m.json())
	}
	c := jsonCall("/v1/chat/completions")
	c.begin.Header = http.Header{}
	c.begin.ContentLength = -1
	c.request = io.NopCloser(strings.NewReader(`{"model":"m-small","messages":[` + strings.Join(list, ",") + `]}`))
	c.chunks = []string{`{"id":"chatcmpl-` + answer.text + `","choices":[{"index":0,"message":` + answer.json() + `,"finish_reason":"stop"}]}`}
	if strings.HasPrefix(answer.text, "{") {
		c.chunks = []string{`{"id":"chatcmpl-tool","choices":[{"index":0,"message":` + answer.json() + `,"finish_reason":"tool_calls"}]}`}
	}
	c.length = int64(len(c.chunks[0]))
	return c
}

func from(c call, name, value string) call {
	c.begin.Header.Set(name, value)
	return c
}

// linked plays calls and says which belong together: the same letter for the
// same conversation, - for none.
func linked(t *testing.T, between func(sink *memSink, s *memSpool), calls ...call) (groups string, rows []record.Inference) {
	t.Helper()
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, nil)
	drainer := newDrainer(s, sink, nil)
	for _, c := range calls {
		play(t, r, c)
		if between == nil {
			continue
		}
		if err := drainer.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		between(sink, s)
		drainer = newDrainer(s, sink, func(_ *capture.Config, o *capture.DrainerOptions) { o.Conversations = stored{sink} })
	}
	if err := drainer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return groupsOf(sink.rows), sink.rows
}

func groupsOf(rows []record.Inference) string {
	letters := map[string]byte{"": '-'}
	var out []byte
	for _, r := range rows {
		if _, ok := letters[r.ConversationID]; !ok {
			letters[r.ConversationID] = byte('A' + len(letters) - 1)
		}
		out = append(out, letters[r.ConversationID])
	}
	return string(out)
}

// stored answers for what a sink has.
type stored struct{ sink *memSink }

func (s stored) KnownConversations(_ context.Context, since time.Time, ids []string) (map[string]bool, error) {
	known := map[string]bool{}
	for _, id := range ids {
		for _, r := range s.sink.rows {
			known[id] = known[id] || r.ConversationID == id && r.Time.After(since)
		}
	}
	return known, nil
}

func (s stored) ConversationsOfResponses(_ context.Context, _ time.Time, answers []record.ResponseKey) (map[record.ResponseKey]string, error) {
	found := map[record.ResponseKey]string{}
	for _, a := range answers {
		for _, r := range s.sink.rows {
			if r.Project == a.Project && r.ResponseID == a.ResponseID {
				found[a] = r.ConversationID
			}
		}
	}
	return found, nil
}

// TestHistoryLinksCalls: calls without an id belong together by what they say,
// in one process and over restarts.
func TestHistoryLinksCalls(t *testing.T) {
	turn1 := func() call { return chat(assistant("a1"), system("it is ten"), user("q1")) }
	turn2 := func(answer string) call {
		return chat(assistant(answer), system("it is eleven"), user("q1"), assistant(" a1\n"), user("q2"))
	}
	shots := []said{user("2+2"), assistant("4")}
	tests := map[string]struct {
		calls []call
		want  string
	}{
		"turns":         {[]call{turn1(), turn2("a2"), chat(assistant("a3"), user("q1"), assistant("a1"), user("q2"), assistant("a2"), user("q3"))}, "AAA"},
		"answered anew": {[]call{turn1(), turn2("a2"), turn2("other")}, "AAA"},
		"turn edited":   {[]call{turn1(), turn2("a2"), chat(assistant("a3"), user("q1"), assistant("a1"), user("edited"))}, "AAA"},
		"tool loop": {[]call{
			chat(said{text: toolCall}, user("weather?")),
			chat(assistant("rain"), user("weather?"), said{text: toolEcho}, said{text: toolResult}),
			chat(assistant("yes"), user("weather?"), said{text: toolEcho}, said{text: toolResult}, assistant("rain"), user("sure?")),
		}, "AAA"},
		"others":                  {[]call{turn1(), chat(assistant("a1"), user("p1")), chat(assistant("a9"), user("q1"))}, "ABC"},
		"examples in each prompt": {[]call{chat(assistant("6"), append(shots, user("3+3"))...), chat(assistant("8"), append(shots, user("4+4"))...)}, "AB"},
		"turns behind examples":   {[]call{chat(assistant("6"), append(shots, user("3+3"))...), chat(assistant("8"), append(shots, user("3+3"), assistant("6"), user("and 4+4"))...)}, "AA"},
		"begun before Docket":     {[]call{turn2("a2"), chat(assistant("a3"), user("q1"), assistant("a1"), user("q2"), assistant("a2"), user("q3"))}, "AA"},
		"other users":             {[]call{from(turn1(), "Docket-User", "u1"), from(turn1(), "Docket-User", "u2"), from(turn2("a2"), "Docket-User", "u1")}, "ABA"},
		"other projects":          {[]call{from(turn1(), "Docket-Project", "p1"), from(turn1(), "Docket-Project", "p2")}, "AB"},
		"a user's first anew":     {[]call{from(turn1(), "Docket-User", "u"), from(chat(assistant("other"), user("q1")), "Docket-User", "u")}, "AA"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, rows := linked(t, nil, tt.calls...)
			if got != tt.want {
				t.Errorf("groups %s, want %s", got, tt.want)
			}
			for _, r := range rows {
				if r.ConversationSource != record.ConversationHistory {
					t.Errorf("source %q", r.ConversationSource)
				}
			}
		})
	}
	t.Run("over restarts", func(t *testing.T) {
		got, _ := linked(t, func(*memSink, *memSpool) {}, turn1(), turn2("a2"), chat(assistant("x"), user("new")), turn2("b"))
		if got != "AABA" {
			t.Errorf("groups %s", got)
		}
	})
}

// TestHistoryIsNotExported: the id is Docket's, no attribute of the spans.
func TestHistoryIsNotExported(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	play(t, newRecorder(t, s, nil), chat(assistant("a"), user("q")))
	drain(t, s, sink)
	if inf := sink.rows[0]; !strings.HasPrefix(inf.ConversationID, "h-") {
		t.Errorf("conversation %q", inf.ConversationID)
	}
	for _, span := range sink.spans {
		if id, ok := span.Attributes[record.AttrConversationID]; ok {
			t.Errorf("span %s has conversation %s", span.Name, id)
		}
	}
}

// TestClientsIDWins: what the client says is not overruled, and calls without an
// answer begin nothing.
func TestClientsIDWins(t *testing.T) {
	failed := chat(assistant("x"), user("q1"))
	failed.status, failed.chunks, failed.length = 500, []string{"{}"}, 2
	got, rows := linked(t, nil, from(chat(assistant("a1"), user("q1")), "Docket-Conversation-Id", "mine"), failed)
	if got != "A-" || rows[0].ConversationID != "mine" || rows[0].ConversationSource != record.ConversationHeader || rows[1].ConversationSource != record.ConversationNone {
		t.Errorf("groups %s, %q from %s, %s", got, rows[0].ConversationID, rows[0].ConversationSource, rows[1].ConversationSource)
	}
}

func responsesCall(id, previous string) call {
	c := jsonCall("/v1/responses")
	c.begin.ContentLength = -1
	field := ""
	if previous != "" {
		field = `,"previous_response_id":"` + previous + `"`
	}
	c.request = io.NopCloser(strings.NewReader(`{"model":"m-small","input":"hi"` + field + `}`))
	c.chunks = []string{`{"id":"` + id + `","object":"response","status":"completed","model":"m-small","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"answer ` + id + `"}]}]}`}
	c.length = int64(len(c.chunks[0]))
	return c
}

// TestResponseChains: an answer that is named as the one before links the calls,
// also as branches, also when it was never recorded.
func TestResponseChains(t *testing.T) {
	calls := func() []call {
		return []call{
			responsesCall("r1", ""), responsesCall("r2", "r1"), responsesCall("r3", "r2"), responsesCall("r2b", "r1"),
			responsesCall("s1", ""), responsesCall("x1", "unseen"), responsesCall("x2", "unseen"), responsesCall("x3", "x2"),
		}
	}
	for name, between := range map[string]func(*memSink, *memSpool){"one process": nil, "over restarts": func(*memSink, *memSpool) {}} {
		got, rows := linked(t, between, calls()...)
		if got != "AAAABCCC" {
			t.Errorf("%s: groups %s", name, got)
		}
		if rows[0].ConversationSource != record.ConversationHistory || rows[1].ConversationSource != record.ConversationPreviousResponse {
			t.Errorf("%s: sources %s and %s", name, rows[0].ConversationSource, rows[1].ConversationSource)
		}
	}
}

// itemsCall is a call whose input is a question, and before it items of earlier
// answers by their ids.
func itemsCall(item string, named ...string) call {
	c := responsesCall("r-"+item, "")
	var input []string
	for _, id := range named {
		input = append(input, `{"role":"user","content":"before"},{"type":"item_reference","id":"`+id+`"}`)
	}
	input = append(input, `{"role":"user","content":"then"}`)
	c.request = io.NopCloser(strings.NewReader(`{"model":"m-small","input":[` + strings.Join(input, ",") + `]}`))
	c.chunks[0] = strings.Replace(c.chunks[0], `"type":"message"`, `"type":"message","id":"`+item+`"`, 1)
	c.length = int64(len(c.chunks[0]))
	return c
}

// TestNamedItems: some clients name what was said by the ids of its items
// instead of repeating it. Calls that name the same item belong together, also
// when its answer was never recorded.
func TestNamedItems(t *testing.T) {
	got, rows := linked(t, nil,
		itemsCall("m1"), itemsCall("m2", "m1"), itemsCall("m3", "m1", "m2"),
		itemsCall("n1"), itemsCall("n2", "n1"), itemsCall("m4", "m2"),
		itemsCall("x1", "unseen"), itemsCall("x2", "unseen", "x1"), itemsCall("x3", "never", "x2"),
	)
	if got != "AAABBACCC" {
		t.Errorf("groups %s", got)
	}
	if rows[1].ConversationSource != record.ConversationPreviousResponse {
		t.Errorf("source %s", rows[1].ConversationSource)
	}
}

// failing is a store that cannot be asked.
type failing struct{ calls int }

func (f *failing) KnownConversations(context.Context, time.Time, []string) (map[string]bool, error) {
	f.calls++
	return nil, errors.New("no such table")
}

func (f *failing) ConversationsOfResponses(context.Context, time.Time, []record.ResponseKey) (map[record.ResponseKey]string, error) {
	return nil, errors.New("no such table")
}

// TestLookUpFails: the batch waits for the store, but not for ever.
func TestLookUpFails(t *testing.T) {
	s, sink, f := newMemSpool(), newMemSink(t), &failing{}
	play(t, newRecorder(t, s, nil), chat(assistant("a2"), user("q1"), assistant("a1"), user("q2")))
	d := newDrainer(s, sink, func(_ *capture.Config, o *capture.DrainerOptions) { o.Conversations = f })
	failed := 0
	for d.Flush(t.Context()) != nil {
		failed++
	}
	if failed != 2 || f.calls != 3 || len(sink.rows) != 1 {
		t.Errorf("%d errors, %d questions, %d rows", failed, f.calls, len(sink.rows))
	}
}
