package store_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
)

// filler sets every field of a value to something that is not zero and not
// twice the same, so that a field that is not stored, or a column that is
// swapped with another, shows.
type filler struct {
	n    int
	base time.Time
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = f.base.Add(time.Duration(f.n) * time.Microsecond)
		return
	case *time.Duration:
		*x = time.Duration(f.n) * time.Microsecond
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(value)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d with 'quotes', \\ and <é>", f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.125)
	case reflect.Uint8:
		v.SetUint(uint64(f.n%250 + 1))
	case reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(f.n))
	case reflect.Uint64:
		v.SetUint(1<<63 + uint64(f.n))
	case reflect.Int64:
		v.SetInt(int64(f.n))
	default:
		panic("filler: " + v.Kind().String())
	}
}

func filled[T any](at time.Time) T {
	var v T
	f := filler{base: at}
	f.fill(reflect.ValueOf(&v).Elem())
	return v
}

func TestEveryFieldOfAnInferenceComesBack(t *testing.T) {
	s, _ := open(t)
	want := filled[record.Inference](now())
	write(t, s, record.Batch{Token: "x", Inferences: []record.Inference{want}})
	got, err := s.Inference(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Inference); diff != "" {
		t.Error(diff)
	}
	list, err := s.InferencesByID(t.Context(), []string{want.ID, "another"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]record.Inference{want.ID: want}, list); diff != "" {
		t.Error(diff)
	}
}

func TestEmptyValuesComeBackEmpty(t *testing.T) {
	s, _ := open(t)
	want := record.Inference{ID: id(1), Time: now()}
	write(t, s, record.Batch{Token: "x", Inferences: []record.Inference{want}, Bodies: []record.Body{{InferenceID: id(1), Time: want.Time}}})
	got, err := s.Inference(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(record.InferenceDetail{Inference: want, Body: &record.Body{InferenceID: id(1), Time: want.Time}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFieldOfABodyComesBack(t *testing.T) {
	s, _ := open(t)
	want := filled[record.Body](now())
	want.Request = []byte("raw \x00\xff bytes")
	write(t, s, record.Batch{Token: "x", Bodies: []record.Body{want}})
	got, err := s.InferenceBodies(t.Context(), []string{want.InferenceID, "another"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]record.Body{want.InferenceID: want}, got); diff != "" {
		t.Error(diff)
	}
	if got, err = s.InferenceMessages(t.Context(), []string{want.InferenceID}); err != nil {
		t.Fatal(err)
	}
	want.Request, want.Response = nil, nil
	if diff := cmp.Diff(map[string]record.Body{want.InferenceID: want}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFieldOfASpanComesBack(t *testing.T) {
	s, _ := open(t)
	want := filled[record.Span](now())
	want.Flags = 0 // not a column of the exporter's layout
	write(t, s, record.Batch{Token: "x", Spans: []record.Span{want}})
	other := span(7, now())
	if err := s.WriteSpans(t.Context(), "y", []record.Span{other}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Spans(t.Context(), want.TraceID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]record.Span{want}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFieldOfAVerdictAndItsCallComesBack(t *testing.T) {
	s, _ := open(t)
	verdict, call := filled[record.Verdict](now()), filled[record.JudgeCall](now())
	call.InferenceID = verdict.InferenceID
	if err := s.WriteVerdicts(t.Context(), []record.JudgeCall{call}, []record.Verdict{verdict}); err != nil {
		t.Fatal(err)
	}
	write(t, s, record.Batch{Token: "x", Inferences: []record.Inference{{ID: verdict.InferenceID, Time: now()}}})
	got, err := s.Inference(t.Context(), verdict.InferenceID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]record.Verdict{verdict}, got.Verdicts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]record.JudgeCall{call}, got.JudgeCalls); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFieldOfAGapComesBack(t *testing.T) {
	s, _ := open(t)
	want := filled[record.Gap](now())
	write(t, s, record.Batch{Token: "x", Gaps: []record.Gap{want}})
	got, err := s.Gaps(t.Context(), now().Add(-time.Minute), now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]record.Gap{want}, got); diff != "" {
		t.Error(diff)
	}
}

// A candidate has every field that its inference has under the same name.
func TestEveryFieldOfACandidateIsThatOfItsInference(t *testing.T) {
	s, _ := open(t)
	inference := filled[record.Inference](now())
	write(t, s, record.Batch{Token: "x", Inferences: []record.Inference{inference}})
	got, err := s.Candidates(t.Context(), record.CandidateQuery{})
	if err != nil || len(got) != 1 {
		t.Fatalf("got %d candidates: %v", len(got), err)
	}
	want := record.Candidate{InferenceID: inference.ID, InsertedAt: got[0].InsertedAt, Shard: got[0].Shard}
	to, from := reflect.ValueOf(&want).Elem(), reflect.ValueOf(inference)
	for i := range to.NumField() {
		name := to.Type().Field(i).Name
		if f := from.FieldByName(name); f.IsValid() {
			to.Field(i).Set(f)
		} else if name != "InferenceID" && name != "InsertedAt" && name != "Shard" && !strings.HasPrefix(name, "Feedback") {
			t.Errorf("field %s of a candidate is none of an inference", name)
		}
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
	if age := time.Since(got[0].InsertedAt); age < -time.Minute || age > time.Minute {
		t.Errorf("inserted %v ago", age)
	}
}
