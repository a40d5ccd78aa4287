package judge

import (
	"testing"

	"docket/internal/record"
)

// A label mass says whether an answer can be trusted: without a sane one it cannot.
func TestLabelMassThatIsNoShare(t *testing.T) {
	for mass, want := range map[string]string{
		"null": "", "0.9": "", "1.0000002": "", "0.1": record.ReasonLowLabelMass,
		`"0.9"`: record.ReasonMalformed, "1.5": record.ReasonOutOfRange, "-1": record.ReasonOutOfRange,
	} {
		questions := []question{{key: "q1"}}
		sgLang := decodeSGLang([]byte(`{"answers":{"q1":{"type":"yes_no","probabilities":{"yes":0.9,"no":0.1},"label_mass":`+mass+`}}}`), questions, 0.5)
		systemOne := decodeSystemOne([]byte(`{"answers":{"q1":{"noul":0.9}},"diagnostics":{"q1":{"label_mass":`+mass+`}}}`), "", questions, 0.5)
		for _, d := range []decoded{sgLang, systemOne} {
			if a := d.answers[0]; a.reason != want || (a.p == nil) != (want != "") {
				t.Errorf("label mass %s: p %v, reason %q, want %q", mass, a.p, a.reason, want)
			}
		}
	}
}

// What is given twice has no one meaning, so none is chosen.
func TestWhatIsGivenTwiceIsMalformed(t *testing.T) {
	questions := []question{{key: "q1"}}
	systemOne := func(body string) decoded { return decodeSystemOne([]byte(body), "", questions, 0) }
	sgLang := func(body string) decoded { return decodeSGLang([]byte(body), questions, 0) }
	http := func(body string) decoded { return decodeHTTP([]byte(body), questions) }
	tests := []struct {
		name   string
		decode func(string) decoded
		body   string
	}{
		{"systemone answers", systemOne, `{"answers":{"q1":{"noul":0.1}},"answers":{"q1":{"noul":0.9}}}`},
		{"systemone type", systemOne, `{"answers":{"q1":{"type":"refusal","type":"noul","noul":0.9}}}`},
		{"systemone type is no text", systemOne, `{"answers":{"q1":{"type":1,"noul":0.9}}}`},
		{"sglang answers", sgLang, `{"answers":{},"answers":{"q1":{"type":"yes_no","probabilities":{"yes":0.9,"no":0.1}}}}`},
		{"sglang probabilities", sgLang, `{"answers":{"q1":{"type":"yes_no","probabilities":{"yes":0.1,"no":0.9},"probabilities":{"yes":0.9,"no":0.1}}}}`},
		{"http answers", http, `{"answers":{"q1":{"probability":0.1}},"answers":{"q1":{"probability":0.9}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.decode(tt.body).reply(1, record.MethodDecision).answers[0]
			if a.p != nil || a.reason != record.ReasonMalformed {
				t.Errorf("p %v, reason %q: want malformed", a.p, a.reason)
			}
		})
	}
}
