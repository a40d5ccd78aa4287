package fieldcases

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"docket/internal/record"
)

// check compares what client, upstream and store have with the expectation.
func (p *play) check(t *testing.T, s *suite) {
	id, _ := p.row["id"].(string)
	d := s.detail(t, id)
	got := tree{
		"client":    tree{"status": p.response.Status(), "body_sha256": hash(p.response.Body), "body_bytes": len(p.response.Body)},
		"upstream":  tree{"body_sha256": hash(p.request.Body), "body_bytes": len(p.request.Body)},
		"transport": tree{"truncated": p.response.Cut},
		"record":    recordOf(p.c, d), "raw_usage": d["raw_usage"], "request": requestOf(t, p.c, d), "trace": p.traceOf(t, s, d),
		"client_headers": fields(p.c, "client_headers", p.response.Values), "upstream_headers": fields(p.c, "upstream_headers", p.request.Values),
	}
	k := &comparer{c: p.c}
	for _, section := range compared {
		if want := p.c.at(section); want != nil {
			if got[section] == nil {
				t.Fatalf("%s is not compared for format %s", section, p.c.format())
			}
			k.compare(section, want, asTree(got[section]))
		}
	}
	for _, diff := range k.diffs {
		t.Error(diff)
	}
	if !p.c.has("transport") && !p.feed.hold && !strings.HasSuffix(p.feed.name, "cut") && p.response.Cut {
		t.Error("the client's answer was cut")
	}
	if p.traceID != "" && (d["trace_id"] != p.traceID || d["parent_span_id"] != callerSpan) {
		t.Errorf("trace %v, parent %v: not the caller's", d["trace_id"], d["parent_span_id"])
	}
	s.checkSecrets(t, p.c, p.proxy, d)
}

func fields(c fieldCase, section string, values func(string) []string) tree {
	want, _ := c.at(section).(tree)
	if want == nil {
		return nil
	}
	got := tree{}
	for name := range want {
		got[name] = strings.Join(values(name), ", ")
	}
	return got
}

// recordOf is an inference of the read API in the form of the expectations.
func recordOf(c fieldCase, d tree) tree {
	if !c.has("record") {
		return nil
	}
	reply, _ := d["reply"].(tree)
	got := tree{"reply": reply, "finish_reason": d["finish_reason"], "usage": usageOf(d), "error": d["error"], "status": d["status"], "complete": d["complete"]}
	if c.has("record", "model") {
		got["model"] = d["response_model"]
	}
	if c.has("record", "reply_text_sha256") {
		text, _ := reply["text"].(string)
		got["reply_text_sha256"], got["reply_text_chars"] = hash([]byte(text)), utf8.RuneCountInString(text)
		if !c.has("record", "reply", "text") {
			delete(reply, "text")
		}
	}
	if c.has("record", "choices") {
		choices, _ := d["choices"].([]any)
		for _, v := range choices {
			choice, _ := v.(tree)
			delete(choice, "index")
			delete(choice, "finish_reason")
		}
		got["choices"] = choices
	}
	return got
}

// usageOf leaves out the counter that the expectations do not have, and sums up
// where the provider did not.
func usageOf(d tree) any {
	usage, ok := d["usage"].(tree)
	if !ok {
		return nil
	}
	delete(usage, "cache_write_tokens")
	in, okIn := usage["prompt_tokens"].(float64)
	out, okOut := usage["completion_tokens"].(float64)
	if usage["total_tokens"] == nil && okIn && okOut {
		usage["total_tokens"] = in + out
	}
	return usage
}

func requestOf(t *testing.T, c fieldCase, d tree) tree {
	t.Helper()
	if !c.has("request") {
		return nil
	}
	raw, err := json.Marshal(d["messages"])
	if err != nil {
		t.Fatal(err)
	}
	var messages []record.Message
	if err := json.Unmarshal(raw, &messages); err != nil {
		t.Fatal(err)
	}
	list := []tree{}
	for _, m := range messages {
		list = append(list, messageOf(m))
	}
	capture, _ := d["capture"].(tree)
	got := tree{"model": d["request_model"], "stream": d["stream"], "messages": list, "truncated": capture["request_cut"]}
	if c.has("request", "body_bytes") {
		got["body_bytes"] = d["request_bytes"]
	}
	return got
}

func messageOf(m record.Message) tree {
	parts, calls := []tree{}, []tree{}
	out := tree{"role": m.Role}
	for _, p := range m.Parts {
		switch p.Type {
		case record.PartText, record.PartRefusal:
			parts = append(parts, tree{"type": p.Type, "text": p.Content})
		case record.PartToolCall:
			calls = append(calls, tree{"id": orNull(p.ID), "name": p.Name, "arguments": p.Arguments})
		case record.PartToolCallResponse:
			out["tool_call_id"] = orNull(p.ID)
			if p.Response != nil {
				parts = append(parts, tree{"type": "text", "text": *p.Response})
			}
		default:
			part := tree{"type": p.Modality, "url": orNull(p.URI), "media_type": orNull(p.MIMEType), "detail": p.Detail, "filename": orNull(p.Filename)}
			if p.Bytes > 0 {
				part["bytes"] = p.Bytes
			}
			parts = append(parts, part)
		}
	}
	out["parts"], out["tool_calls"] = parts, calls
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// traceOf checks what holds for every trace, and returns what the expectation
// asks for.
func (p *play) traceOf(t *testing.T, s *suite, d tree) tree {
	t.Helper()
	trace, _ := d["trace_id"].(string)
	span, _ := d["span_id"].(string)
	sent, _ := d["upstream_span_id"].(string)
	if len(trace) != 32 || strings.Trim(trace, "0") == "" {
		t.Errorf("trace id %q", trace)
	}
	flags := "00"
	if d["trace_sampled"] == true {
		flags = "01"
	}
	parents := p.request.Values("traceparent")
	if want := "00-" + trace + "-" + sent; len(parents) != 1 || !strings.HasPrefix(parents[0], want) || p.c.has("trace", "sampled") && parents[0] != want+"-"+flags {
		t.Errorf("the upstream got traceparent %q, want %s", parents, want)
	}
	if !p.c.has("trace") {
		return nil
	}
	state, _ := d["trace_state"].(string)
	if got := strings.Join(p.request.Values("tracestate"), ","); got != state || state != p.c.text("trace", "tracestate") {
		t.Errorf("tracestate %q upstream and %q recorded, want %q", got, state, p.c.text("trace", "tracestate"))
	}
	spans := s.sql(t, "SELECT SpanId, ParentSpanId, TraceState FROM otel_traces WHERE TraceId = '"+trace+"' AND SpanId IN ('"+span+"', '"+sent+"') ORDER BY SpanKind = 'Client'")
	parent, _ := d["parent_span_id"].(string)
	if want := span + "\t" + parent + "\t" + state + "\n" + sent + "\t" + span + "\t" + state + "\n"; spans != want {
		t.Errorf("spans %q, want %q", spans, want)
	}
	caller := ""
	for line := range strings.Lines(string(p.c.input)) {
		if v, ok := strings.CutPrefix(strings.ToLower(line), "traceparent: "); ok && caller == "" {
			caller = v
		}
	}
	got := tree{
		"adopted": strings.Contains(caller, "-"+trace+"-"), "record_has_trace_id": trace != "", "trace_id": trace,
		"parent_span_id": d["parent_span_id"], "sampled": d["trace_sampled"],
	}
	if state != "" {
		got["tracestate"] = state
	}
	if not, ok := strings.CutPrefix(p.c.text("trace", "upstream_span_id"), "not "); ok && !strings.Contains(parents[0], not) {
		got["upstream_span_id"] = "not " + not
	}
	if got["adopted"] == false && parent != "" {
		t.Errorf("a new trace has the parent %s", parent)
	}
	return got
}
