package wire

import (
	"strconv"
	"strings"

	"docket/internal/record"
)

// maxUsage bounds a usage object: a longer one is something else.
const maxUsage = 64 << 10

// counters are the members of a usage object, whatever API wrote it.
type counters struct {
	in, out, total        *uint64
	cached, written       *uint64 // part of in
	cacheRead, cacheWrite *uint64 // beside in
	reasoning             *uint64 // part of out, mostly
	thoughts, toolPrompt  *uint64 // beside out, beside in
	plainInput, inDetails bool    // input_tokens, or details of the input, are given
}

// countersOf reads a usage object in one pass.
func countersOf(v value) (c counters) {
	for k, m := range v.members() {
		switch k {
		case "prompt_tokens", "promptTokenCount", "prompt_eval_count":
			c.in = m.uint()
		case "input_tokens":
			if m.given() {
				c.plainInput = true
				if c.in == nil {
					c.in = m.uint()
				}
			}
		case "completion_tokens", "candidatesTokenCount", "eval_count":
			c.out = m.uint()
		case "output_tokens":
			if c.out == nil {
				c.out = m.uint()
			}
		case "total_tokens", "totalTokenCount":
			c.total = m.uint()
		case "prompt_tokens_details", "input_tokens_details":
			if m.given() {
				c.inDetails = true
				c.cached = orUint(c.cached, m.get("cached_tokens"))
				c.written = orUint(c.written, m.first("cache_write_tokens", "cache_creation_tokens"))
			}
		case "completion_tokens_details", "output_tokens_details":
			c.reasoning = orUint(c.reasoning, m.first("reasoning_tokens", "thinking_tokens"))
		case "cachedContentTokenCount", "prompt_cache_hit_tokens", "cached_tokens":
			c.cached = orUint(c.cached, m)
		case "cache_read_input_tokens":
			c.cacheRead = m.uint()
		case "cache_creation_input_tokens":
			c.cacheWrite = m.uint()
		case "thoughtsTokenCount":
			c.thoughts = m.uint()
		case "toolUsePromptTokenCount":
			c.toolPrompt = m.uint()
		}
	}
	return c
}

// usageOf reads the counters of any API into disjoint buckets. The key names
// tell the APIs apart: prompt_tokens, promptTokenCount and the input_tokens of
// OpenAI hold the cached part, the input_tokens of Anthropic does not.
func usageOf(v value) record.Usage {
	if !v.isObject() || len(v.raw) > maxUsage {
		return record.Usage{}
	}
	c := countersOf(v)
	u := record.Usage{Input: c.in, Output: c.out, Total: c.total, Raw: v.verbatim()}
	if c.plainInput && !c.inDetails {
		u.CacheRead, u.CacheWrite = c.cacheRead, c.cacheWrite
	} else {
		u.CacheRead, u.CacheWrite = c.cached, c.written
		u.Input = without(without(c.in, c.cached), c.written)
	}
	if c.toolPrompt != nil {
		u.Input = plus(u.Input, c.toolPrompt)
	}
	switch {
	case c.thoughts != nil:
		u.Reasoning = c.thoughts
	case c.reasoning != nil:
		u.Reasoning = c.reasoning
		if !reasoningApart(c.in, c.out, c.reasoning, c.total) {
			u.Output = without(c.out, c.reasoning)
		}
	}
	return u
}

// reasoningApart says whether a total shows that reasoning is not part of the
// output counter, as some servers count.
func reasoningApart(in, out, reasoning, total *uint64) bool {
	if in == nil || out == nil || reasoning == nil || total == nil || *reasoning == 0 {
		return false
	}
	return *in+*out+*reasoning == *total
}

// orUint returns n, or when it is nil the number that v is.
func orUint(n *uint64, v value) *uint64 {
	if n != nil {
		return n
	}
	return v.uint()
}

// without takes a part off a counter. A part larger than the whole was never in
// it.
func without(whole, part *uint64) *uint64 {
	if whole == nil || part == nil || *part > *whole {
		return whole
	}
	n := *whole - *part
	return &n
}

func plus(a, b *uint64) *uint64 {
	if a == nil {
		return b
	}
	n := *a + *b
	return &n
}

// mergeUsage returns the counters of later over those of earlier, each as it
// was written.
func mergeUsage(earlier, later value) value {
	if !later.isObject() || len(later.raw) > maxUsage {
		return earlier
	}
	var kept []string
	for k, m := range earlier.members() {
		if m.given() && !later.get(k).given() {
			kept = append(kept, strconv.Quote(k)+":"+m.raw)
		}
	}
	if len(kept) == 0 {
		return later
	}
	for k, m := range later.members() {
		if m.given() {
			kept = append(kept, strconv.Quote(k)+":"+m.raw)
		}
	}
	return value{raw: "{" + strings.Join(kept, ",") + "}"}
}

func statusText(status int) string { return strconv.Itoa(status) }
