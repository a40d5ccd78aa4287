package evaluate_test

import (
	"reflect"
	"testing"

	"docket/internal/evaluate"
	"docket/internal/record"
)

// Every field that a candidate shares with its inference is taken over, so that
// a rule decides again as it did.
func TestCandidateOfTakesEverything(t *testing.T) {
	var inf record.Inference
	v := reflect.ValueOf(&inf).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Uint8, reflect.Uint16, reflect.Uint64:
			f.SetUint(7)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		}
	}
	inf.Time = inf.Time.AddDate(1, 0, 0)
	score := 0.5
	with := evaluate.FeedbackCandidate(evaluate.CandidateOf(inf), record.Feedback{ID: "f", Label: "up", Score: &score, Source: "web"})
	c := reflect.ValueOf(with)
	for i := range c.NumField() {
		name := c.Type().Field(i).Name
		if c.Field(i).IsZero() && name != "InsertedAt" && name != "Shard" {
			t.Errorf("%s is missing", name)
		}
	}
}
