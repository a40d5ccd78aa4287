package query

import (
	"encoding/json"
	"slices"

	"docket/internal/record"
)

// Parts of what Line writes about an inference, beside the inference itself.
const (
	PartBodies     = "bodies"
	PartVerdicts   = "verdicts"
	PartJudgeCalls = "judge_calls"
	PartLabels     = "labels"
	PartFeedback   = "feedback"
)

// Parts lists all parts.
func Parts() []string {
	return []string{PartBodies, PartVerdicts, PartJudgeCalls, PartLabels, PartFeedback}
}

// Outcomes lists the outcomes of verdicts.
func Outcomes() []string { return slices.Clone(outcomes) }

// Line writes everything about an inference as one line of JSON, in the shape of
// GET /api/v1/inferences/{id}. The keys of parts that are not wanted are left
// out.
func Line(d record.InferenceDetail, parts []string) ([]byte, error) {
	line, err := json.Marshal(newDetailView(d))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(Parts(), func(p string) bool { return !slices.Contains(parts, p) }) {
		return line, nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil {
		return nil, err
	}
	for _, p := range Parts() {
		if slices.Contains(parts, p) {
			continue
		}
		for _, key := range keysOf(p) {
			delete(keys, key)
		}
	}
	return json.Marshal(keys)
}

// keysOf lists the keys of a part.
func keysOf(part string) []string {
	if part == PartBodies {
		return []string{"reply", "choices", "messages", "output", "tools", "body_kept", "request_headers", "response_headers", "request", "response"}
	}
	return []string{part}
}
