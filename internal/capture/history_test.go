package capture

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"docket/internal/record"
)

// TestHistoryForms: forms in which clients send the same back, and others.
func TestHistoryForms(t *testing.T) {
	text := func(role string, texts ...string) record.Message {
		m := record.Message{Role: role}
		for _, s := range texts {
			m.Parts = append(m.Parts, record.Part{Type: record.PartText, Content: s})
		}
		return m
	}
	of := func(input ...record.Message) string { return newDigest(nil).historyOf("p", "", input, nil).asked }
	call := func(arguments string) record.Message {
		return record.Message{Role: "assistant", Parts: []record.Part{{Type: record.PartToolCall, Name: "f", Arguments: &arguments}}}
	}
	same := map[string][2]string{
		"parts":     {of(text("user", "a", "b")), of(text("user", "a"), text("user", "b"))},
		"spaces":    {of(text("user", " a\n")), of(text("user", "a"))},
		"system":    {of(text("system", "x"), text("user", "a")), of(text("developer", "y"), text("user", "a"))},
		"arguments": {of(call(`{"a":1,"b":2.0}`)), of(call(`{ "b": 2.0, "a": 1 }`))},
		"no JSON":   {of(call("a  b")), of(call("a b"))},
	}
	for name, s := range same {
		if s[0] != s[1] {
			t.Errorf("%s: not the same", name)
		}
	}
	other := map[string][2]string{
		"text":      {of(text("user", "a")), of(text("user", "b"))},
		"roles":     {of(text("user", "a", "b")), of(text("user", "a"), text("assistant", "b"))},
		"arguments": {of(call(`{"a":1}`)), of(call(`{"a":2}`))},
		"borders":   {of(text("user", "a"), call("{}")), of(text("user", "a4:call1:f2:{}"))},
		"long":      {of(text("user", strings.Repeat("a", 9000))), of(text("user", strings.Repeat("a", 9001)))},
	}
	for name, s := range other {
		if s[0] == s[1] {
			t.Errorf("%s: the same", name)
		}
	}
}

// BenchmarkHistory hashes a chat of three turns, 2 KB in all.
func BenchmarkHistory(b *testing.B) {
	text := func(role string) record.Message {
		return record.Message{Role: role, Parts: []record.Part{{Type: record.PartText, Content: strings.Repeat("some words of a chat ", 20)}}}
	}
	input := []record.Message{text("user"), text("assistant"), text("user"), text("assistant"), text("user")}
	output := []record.Message{text("assistant")}
	d := newDigest(nil)
	b.ReportAllocs()
	b.SetBytes(6 * 420)
	for b.Loop() {
		d.historyOf("p", "u", input, output)
	}
}

// TestLinkerKeepsNoBodies: an id that is remembered for long does not hold on to
// the body that it stood in.
func TestLinkerKeepsNoBodies(t *testing.T) {
	body := strings.Repeat("x", 30<<10) + "conv-1"
	id := body[30<<10:]
	l := newLinker(nil)
	l.note("key", id, time.Time{})
	m, ok := l.get("key")
	if !ok || m.conversation != "conv-1" || unsafe.StringData(m.conversation) == unsafe.StringData(id) {
		t.Errorf("got %+v, %v, in memory of the body: %v", m, ok, unsafe.StringData(m.conversation) == unsafe.StringData(id))
	}
}
