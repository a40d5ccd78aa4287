package sampling_test

import (
	"strings"
	"testing"

	"docket/internal/record"
	"docket/internal/sampling"
)

func ptr[T any](v T) *T { return &v }

func TestFeedbackFilter(t *testing.T) {
	said := func(label, source string, score *float64) record.Candidate {
		return record.Candidate{SampleValue: 1<<56 - 1, Stratum: record.StratumOK, FeedbackID: "f", FeedbackLabel: label, FeedbackSource: source, FeedbackScore: score}
	}
	for name, c := range map[string]struct {
		filter    *sampling.Feedback
		candidate record.Candidate
		want      bool
	}{
		"any":                          {&sampling.Feedback{}, said("up", "web", nil), true},
		"none is there":                {&sampling.Feedback{}, record.Candidate{}, false},
		"not about feedback":           {nil, said("up", "web", nil), false},
		"nothing asked, nothing there": {nil, record.Candidate{}, true},
		"label":                        {&sampling.Feedback{Labels: []string{"down", "wrong*"}}, said("wrong_answer", "", nil), true},
		"other label":                  {&sampling.Feedback{Labels: []string{"down"}}, said("up", "", nil), false},
		"source":                       {&sampling.Feedback{Sources: []string{"web"}}, said("up", "app", nil), false},
		"score at the bound":           {&sampling.Feedback{MaxScore: ptr(0.25)}, said("", "", ptr(0.25)), true},
		"score above":                  {&sampling.Feedback{MaxScore: ptr(0.25)}, said("", "", ptr(0.26)), false},
		"score below":                  {&sampling.Feedback{MinScore: ptr(0.25)}, said("", "", ptr(0.24)), false},
		"no score":                     {&sampling.Feedback{MinScore: ptr(0.0)}, said("up", "", nil), false},
		"score and label, label fails": {&sampling.Feedback{Labels: []string{"down"}, MaxScore: ptr(0.5)}, said("up", "", ptr(0.1)), false},
	} {
		r := sampling.Rule{Name: "r", Rubric: "x", Rate: 1, Match: sampling.Filters{Feedback: c.filter}}
		if err := r.Validate([]string{"x"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		d := r.Decide(c.candidate)
		if d.Matched != c.want {
			t.Errorf("%s: matched %t", name, d.Matched)
		}
		if why := r.Match.Mismatch(c.candidate); (why == "") != c.want {
			t.Errorf("%s: mismatch %q", name, why)
		}
		if want := record.StratumFeedback; c.want && c.filter != nil && d.Stratum != want {
			t.Errorf("%s: stratum %q", name, d.Stratum)
		}
	}
}

func TestBadFeedbackFilters(t *testing.T) {
	for want, f := range map[string]sampling.Feedback{
		`match.feedback.labels "": want a text`:                       {Labels: []string{""}},
		`match.feedback.min_score -1: want a number from 0 to 1`:      {MinScore: ptr(-1.0)},
		`match.feedback.max_score 2: want a number from 0 to 1`:       {MaxScore: ptr(2.0)},
		`match.feedback.min_score 0.5: want at most max_score (0.25)`: {MinScore: ptr(0.5), MaxScore: ptr(0.25)},
	} {
		r := sampling.Rule{Name: "r", Rubric: "x", Rate: 1, Match: sampling.Filters{Feedback: &f}}
		if err := r.Validate([]string{"x"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
