package fieldcases

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"docket/internal/record"
)

// conversation: turns without an id that go through different proxies are
// linked by what they say, since the second proxy finds the first turn in the
// store.
func (s *suite) conversation(t *testing.T) {
	turns := []struct {
		proxy    *program
		messages []string
		answer   string
	}{
		{s.main, []string{"Where is Oslo?"}, "In Norway."},
		{s.chained, []string{"Where is Oslo?", "In Norway.", "And Bergen?"}, "There too."},
		{s.main, []string{"Where is Oslo?", "In Norway.", "And Bergen?", "There too.", "And Malmö?"}, "In Sweden."},
	}
	ids := map[any]bool{}
	for i, turn := range turns {
		name := fmt.Sprintf("conversation/%d", i)
		var messages []tree
		for k, text := range turn.messages {
			messages = append(messages, tree{"role": []string{"user", "assistant"}[k%2], "content": text})
		}
		body, err := json.Marshal(tree{"model": "m-small", "messages": messages})
		if err != nil {
			t.Fatal(err)
		}
		answer := fmt.Sprintf(`{"id":"conv-%d","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, i, turn.answer)
		s.script.add(name, feed{parts: []string{head("application/json", fmt.Sprintf("Content-Length: %d", len(answer))), answer}}.answer)
		trace := hash([]byte(name))[:32]
		c := dial(t, turn.proxy.addr)
		c.send(t, post("/v1/chat/completions", string(body), caseHeader+": "+name, "traceparent: 00-"+trace+"-"+callerSpan+"-01"))
		c.answer(t)
		_ = c.Close()
		var rows []tree
		await(t, "the row of a turn", patience, func() bool {
			rows = s.list(t, url.Values{"trace_id": {trace}})
			return len(rows) == 1
		})
		ids[rows[0]["conversation_id"]] = true
		if rows[0]["conversation_source"] != record.ConversationHistory {
			t.Errorf("source %v", rows[0]["conversation_source"])
		}
	}
	if len(ids) != 1 {
		t.Errorf("the turns are in %d conversations", len(ids))
	}
}
