package judgetest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/judge"
	"docket/internal/record"
)

// contentIsData holds a format to promise 4: whatever a reply, a message or a
// tool result says, the judge's instructions stay the same to the byte, and the
// content arrives as data, whole.
func contentIsData(t *testing.T, f Format) {
	rubric := judge.Rubric{Criteria: Three()[:1]}
	plain := NewServer(t, f)
	judged(t, plain, rubric)
	want := plain.Seen()[0].Instructions
	s := NewServer(t, f)
	j := New(t, s.Backend(), rubric, nil)
	for _, text := range Injections() {
		for _, place := range places() {
			before := len(s.Seen())
			u := UnitOf(place.with(text))
			got := j.Judge(t.Context(), "r", u)
			if len(s.Seen()) != before+1 {
				t.Fatalf("%s: %.60q: %d requests: %s %s", place.name, text, len(s.Seen())-before, got.Reason, got.Detail)
			}
			seen := s.Seen()[before]
			if diff := cmp.Diff(want, seen.Instructions); diff != "" {
				t.Errorf("%s: %.60q changed the instructions:\n%s", place.name, text, diff)
			}
			if !holds(seen.Data, strings.ToValidUTF8(text, "\uFFFD")) {
				t.Errorf("%s: %.60q did not arrive whole as data", place.name, text)
			}
			if v := got.Verdicts[0]; v.Probability == nil || !near(v.Probability, 0.9) {
				t.Errorf("%s: %.60q: p %v, want what the judge said", place.name, text, v.Probability)
			}
		}
	}
}

// place is somewhere in a recorded exchange where others can write.
type place struct {
	name string
	with func(text string) record.Body
}

func places() []place {
	return []place{
		{"reply", func(text string) record.Body {
			b := Body()
			b.Output = []record.Message{Message("assistant", text)}
			return b
		}},
		{"user message", func(text string) record.Body {
			b := Body()
			b.Input[1] = Message("user", text)
			return b
		}},
		{"tool result", func(text string) record.Body {
			b := Body()
			b.Input[4].Parts[0].Response = &text
			return b
		}},
	}
}

// holds says that some string in the data is, or has, the text.
func holds(data any, text string) bool {
	switch v := data.(type) {
	case string:
		if strings.Contains(v, text) {
			return true
		}
		var inner any // data that is JSON in a text, as one backend sends it
		return json.Unmarshal([]byte(v), &inner) == nil && isNested(inner) && holds(inner, text)
	case []any:
		for _, e := range v {
			if holds(e, text) {
				return true
			}
		}
	case map[string]any:
		for k, e := range v {
			if strings.Contains(k, text) || holds(e, text) {
				return true
			}
		}
	}
	// A tool result that is JSON arrives as that JSON.
	var want any
	return json.Unmarshal([]byte(text), &want) == nil && cmp.Equal(want, data)
}

func isNested(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
