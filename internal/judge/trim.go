package judge

import (
	"fmt"

	"docket/internal/record"
)

// fit renders the unit so that size is at most limit bytes, leaving out the
// oldest messages if trim allows. System messages, what follows the last user
// message, and the reply are never left out. ok is false when it does not fit.
func (r renderer) fit(limit int, trim string, size func(shown) int) (s shown, ok bool) {
	messages := r.unit.Messages
	s = r.render(messages)
	if limit <= 0 {
		return s, true
	}
	total := size(s)
	if total <= limit {
		return s, true
	}
	if trim != TrimOldest {
		return s, false
	}
	left, bytes := 0, 0
	for total > limit {
		kept, n := withoutOldest(messages, total-limit)
		if n == 0 {
			return s, false
		}
		messages, left = kept, left+n
		s = r.render(messages)
		after := size(s)
		bytes += total - after
		total = after
	}
	s.trimmed = fmt.Sprintf("%d oldest messages (%d bytes)", left, bytes)
	return s, true
}

// withoutOldest leaves out as many of the oldest messages as hold the bytes, at
// least one if there is one that may go. Results of tools go with their call.
func withoutOldest(messages []record.Message, bytes int) (kept []record.Message, left int) {
	end := max(lastUser(messages), 0)
	for i, m := range messages {
		if i >= end || m.Role == "system" || m.Role == "developer" || (bytes <= 0 && !onlyResults(m)) {
			kept = append(kept, m)
			continue
		}
		left++
		for _, p := range m.Parts {
			bytes -= len(p.Content) + len(deref(p.Arguments, "")) + len(deref(p.Response, ""))
		}
	}
	return kept, left
}

// onlyResults says that a message answers tool calls and nothing else.
func onlyResults(m record.Message) bool {
	for _, p := range m.Parts {
		if p.Type != record.PartToolCallResponse {
			return false
		}
	}
	return len(m.Parts) > 0
}
