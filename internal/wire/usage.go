package wire

import (
	"strconv"
	"strings"

	"docket/internal/record"
)

// usageOf reads the counters of any API into disjoint buckets. The key names
// tell the APIs apart: prompt_tokens, promptTokenCount and the input_tokens of
// OpenAI hold the cached part, the input_tokens of Anthropic does not.
func usageOf(v value) record.Usage {
	if !v.isObject() {
		return record.Usage{}
	}
	in := v.first("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count").uint()
	out := v.first("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count").uint()
	u := record.Usage{
		Total: v.first("total_tokens", "totalTokenCount").uint(),
		Raw:   v.verbatim(),
	}
	inDetails := v.first("prompt_tokens_details", "input_tokens_details")
	outDetails := v.first("completion_tokens_details", "output_tokens_details")

	disjoint := v.get("input_tokens").given() && !inDetails.given()
	if disjoint {
		u.Input = in
		u.CacheRead = v.get("cache_read_input_tokens").uint()
		u.CacheWrite = v.get("cache_creation_input_tokens").uint()
	} else {
		u.CacheRead = firstUint(inDetails.get("cached_tokens"), v.get("cachedContentTokenCount"),
			v.get("prompt_cache_hit_tokens"), v.get("cached_tokens"))
		u.CacheWrite = firstUint(inDetails.get("cache_write_tokens"), inDetails.get("cache_creation_tokens"))
		u.Input = without(without(in, u.CacheRead), u.CacheWrite)
	}
	if tool := v.get("toolUsePromptTokenCount").uint(); tool != nil {
		u.Input = plus(u.Input, tool)
	}

	if thoughts := v.get("thoughtsTokenCount").uint(); thoughts != nil {
		u.Reasoning, u.Output = thoughts, out
		return u
	}
	u.Reasoning = firstUint(outDetails.get("reasoning_tokens"), outDetails.get("thinking_tokens"))
	u.Output = out
	if !reasoningApart(in, out, u.Reasoning, u.Total) {
		u.Output = without(out, u.Reasoning)
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

func firstUint(vs ...value) *uint64 {
	for _, v := range vs {
		if n := v.uint(); n != nil {
			return n
		}
	}
	return nil
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
	if !later.isObject() {
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
	return value{"{" + strings.Join(kept, ",") + "}"}
}

func statusText(status int) string { return strconv.Itoa(status) }
