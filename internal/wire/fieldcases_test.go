package wire_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/wire"
)

// TestFieldCases runs every streamed and plain field case against what must be
// recorded of it.
func TestFieldCases(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			d := wire.Decode(c.exchange())
			checkSound(t, d)
			if c.want.Request != nil {
				checkRequest(t, c, d)
				return
			}
			checkRecord(t, c, d)
		})
	}
}

func checkRequest(t *testing.T, c fieldCase, d wire.Decoded) {
	t.Helper()
	if d.Undecodable {
		t.Error("undecodable")
	}
	if d.RequestModel != c.want.Request.Model {
		t.Errorf("model %q, want %q", d.RequestModel, c.want.Request.Model)
	}
	var got []wantMessage
	for i, m := range d.Input {
		got = append(got, requestMessage(m))
		if i < len(c.want.Request.Messages) && c.want.Request.Messages[i].Parts == nil {
			c.want.Request.Messages[i].Parts = []wantPart{}
		}
	}
	if diff := cmp.Diff(c.want.Request.Messages, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// requestMessage puts a message of the normal form into the shape of the
// expectations.
func requestMessage(m record.Message) wantMessage {
	w := wantMessage{Role: m.Role, Parts: []wantPart{}}
	for _, p := range m.Parts {
		switch p.Type {
		case record.PartText, record.PartRefusal:
			w.Parts = append(w.Parts, wantPart{Type: p.Type, Text: &p.Content})
		case record.PartToolCall:
			w.ToolCalls = append(w.ToolCalls, wantCall{ID: idOf(p), Name: p.Name, Arguments: p.Arguments})
		case record.PartToolCallResponse:
			w.ToolCallID = idOf(p)
			if p.Response != nil {
				w.Parts = append(w.Parts, wantPart{Type: "text", Text: p.Response})
			}
		case record.PartBlob, record.PartURI, record.PartFile:
			w.Parts = append(w.Parts, wantPart{Type: p.Modality, URL: p.URI, MediaType: p.MIMEType, Detail: p.Detail, Bytes: p.Bytes, Filename: p.Filename})
		}
	}
	return w
}

func idOf(p record.Part) *string {
	if p.ID == "" {
		return nil
	}
	return &p.ID
}

func checkRecord(t *testing.T, c fieldCase, d wire.Decoded) {
	t.Helper()
	want := *c.want.Record
	got := wantRecord{Status: c.status, Complete: d.Complete, TextSHA256: want.TextSHA256, TextChars: want.TextChars}
	got.Reply.ToolCalls = []wantCall{}
	if len(d.Output) > 0 {
		got.Reply = replyOf(d.Output[0])
	}
	if d.FinishReason != "" {
		got.FinishReason = &d.FinishReason
	}
	if want.Model != "" {
		got.Model = d.ResponseModel
	}
	for _, m := range d.Output {
		if want.Choices != nil {
			got.Choices = append(got.Choices, replyOf(m))
		}
	}
	if want.TextSHA256 != "" {
		text := *got.Reply.Text
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != want.TextSHA256 || utf8.RuneCountInString(text) != want.TextChars {
			t.Errorf("text of %d characters differs", utf8.RuneCountInString(text))
		}
		got.Reply.Text = want.Reply.Text
	}
	got.Usage = usageLike(want.Usage, d.Usage)
	got.Error = errorLike(want.Error, d)
	c.soften(t, &want, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if c.want.RawUsage != nil && !jsonEqual(string(c.want.RawUsage), d.Usage.Raw) {
		t.Errorf("raw usage %s, want %s", d.Usage.Raw, c.want.RawUsage)
	}
}

func replyOf(m record.Message) wantReply {
	r := wantReply{ToolCalls: []wantCall{}}
	join := func(to **string, s string) {
		if *to == nil {
			*to = new(string)
		}
		**to += s
	}
	for _, p := range m.Parts {
		switch p.Type {
		case record.PartText:
			join(&r.Text, p.Content)
		case record.PartRefusal:
			join(&r.Refusal, p.Content)
		case record.PartReasoning:
			join(&r.Reasoning, p.Content)
		case record.PartToolCall:
			r.ToolCalls = append(r.ToolCalls, wantCall{ID: idOf(p), Name: p.Name, Arguments: p.Arguments})
		}
	}
	return r
}

// usageLike sums the disjoint buckets to the counters of the expectation.
func usageLike(want *wantUsage, u record.Usage) *wantUsage {
	if u == (record.Usage{}) {
		return nil
	}
	got := &wantUsage{Prompt: sum(u.Input, u.CacheRead, u.CacheWrite), Completion: sum(u.Output, u.Reasoning), Cached: u.CacheRead, Reasoning: u.Reasoning, Total: u.Total}
	if want == nil {
		return got
	}
	if got.Total == nil {
		got.Total = sum(got.Prompt, got.Completion)
	}
	for _, f := range []struct{ want, got **uint64 }{{&want.Cached, &got.Cached}, {&want.Reasoning, &got.Reasoning}} {
		if *f.want == nil && *f.got != nil && **f.got == 0 {
			*f.got = nil
		}
	}
	return got
}

func sum(ns ...*uint64) *uint64 {
	var total *uint64
	for _, n := range ns {
		if n != nil {
			if total == nil {
				total = new(uint64)
			}
			*total += *n
		}
	}
	return total
}

func errorLike(want *wantError, d wire.Decoded) *wantError {
	if d.ErrorType == "" && d.ErrorMessage == "" {
		return nil
	}
	got := &wantError{Type: &d.ErrorType, Message: &d.ErrorMessage}
	if want != nil && want.Type == nil {
		got.Type = nil
	}
	if want != nil && want.Message == nil {
		got.Message = nil
	}
	return got
}

// soften applies the case's accept, soft and json_equal lists.
func (c fieldCase) soften(t *testing.T, want, got *wantRecord) {
	t.Helper()
	for _, path := range c.want.Soft {
		switch path {
		case "record.error", "record.error.type", "record.error.message":
			got.Error = want.Error
		case "record.reply.text":
			got.Reply = want.Reply
		case "record.status":
		default:
			t.Fatalf("soft path %q is not known", path)
		}
	}
	for path, values := range c.want.Accept {
		to := map[string]**string{"record.finish_reason": &got.FinishReason, "record.reply.text": &got.Reply.Text}[path]
		if to == nil {
			t.Fatalf("accept path %q is not known", path)
		}
		for _, v := range values {
			var s *string
			if err := json.Unmarshal(v, &s); err != nil {
				t.Fatal(err)
			}
			if cmp.Equal(s, *to) {
				*to = map[string]*string{"record.finish_reason": want.FinishReason, "record.reply.text": want.Reply.Text}[path]
			}
		}
	}
	for _, path := range c.want.JSONEqual {
		if path != "record.reply.tool_calls.0.arguments" {
			t.Fatalf("json_equal path %q is not known", path)
		}
		if len(got.Reply.ToolCalls) > 0 && jsonEqual(*want.Reply.ToolCalls[0].Arguments, *got.Reply.ToolCalls[0].Arguments) {
			got.Reply.ToolCalls[0].Arguments = want.Reply.ToolCalls[0].Arguments
		}
	}
}

func jsonEqual(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}

// checkSound checks what holds for every Decoded.
func checkSound(t testing.TB, d wire.Decoded) {
	t.Helper()
	raw, err := json.Marshal([]any{d.Input, d.Output})
	if err != nil {
		t.Errorf("not marshalable: %v", err)
	}
	d.Response = nil
	all, err := json.Marshal(d)
	if err != nil {
		t.Errorf("not marshalable: %v", err)
	}
	var back [2][]record.Message
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Error(err)
	}
	// Marshal replaces bytes that are no UTF-8, so a difference shows them.
	if diff := cmp.Diff([2][]record.Message{d.Input, d.Output}, back); diff != "" {
		t.Errorf("messages do not survive JSON:\n%s", diff)
	}
	for _, s := range []string{d.Tools, d.Usage.Raw} {
		if s != "" && !json.Valid([]byte(s)) {
			t.Errorf("not JSON: %q", s)
		}
	}
	if !utf8.Valid(all) {
		t.Error("not UTF-8")
	}
}
