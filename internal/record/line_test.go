package record_test

import (
	"testing"

	"docket/internal/record"
)

func TestVerdictLine(t *testing.T) {
	p := 0.899
	tests := map[string]struct {
		verdict record.Verdict
		want    string
	}{
		"pass with a reason": {
			record.Verdict{Outcome: "pass", Criterion: "apology", CriterionText: "the reply apologises.", Probability: &p, Threshold: 0.5, Detail: "says\nsorry"},
			"PASS judge: the reply apologises: scored 0.90, needed 0.50 — says sorry",
		},
		"fail without a reason": {
			record.Verdict{Outcome: "fail", Criterion: "apology", Probability: &p, Threshold: 0.95},
			"FAIL judge: apology: scored 0.90, needed 0.95",
		},
		"inconclusive": {
			record.Verdict{Outcome: "inconclusive", CriterionText: "the reply apologises", Reason: "rate_limited", Detail: "HTTP 429"},
			"INCONCLUSIVE judge: the reply apologises: rate_limited — HTTP 429",
		},
		"not applicable": {
			record.Verdict{Outcome: "not_applicable", CriterionText: "the reply cites the order"},
			"NOT_APPLICABLE judge: the reply cites the order",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.verdict.Line(); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}
