package store_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
)

// fieldRow is a row of a field case of storage.
type fieldRow struct {
	N         int        `json:"n"`
	Text      string     `json:"text"`
	TextB64   []byte     `json:"text_b64"`
	JSONText  string     `json:"json_text"`
	StartedAt *time.Time `json:"started_at"`
}

// said is the row's text as bytes, whatever way the case writes it.
func (r fieldRow) said() []byte {
	switch {
	case r.TextB64 != nil:
		return r.TextB64
	case r.JSONText != "":
		return []byte(r.JSONText)
	}
	return []byte(r.Text)
}

func (r fieldRow) time(otherwise time.Time) time.Time {
	if r.StartedAt != nil {
		return *r.StartedAt
	}
	return otherwise
}

func readFieldCase(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "fieldcases", "cases", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// C06, C08: one batch whose rows carry the odd value in every field that takes
// text, and odd times.
func TestOddRowsAreStored(t *testing.T) {
	for _, name := range []string{"C06-poison-row.json", "C08-odd-strings.json"} {
		t.Run(name, func(t *testing.T) {
			var fieldCase struct{ Rows []fieldRow }
			readFieldCase(t, name, &fieldCase)
			s, dsn := open(t)
			first := now()
			b := record.Batch{Token: "x", FirstSent: first}
			for _, row := range fieldCase.Rows {
				text := string(row.said())
				r := inference(row.N, row.time(first))
				r.ErrorMessage, r.UserID, r.RequestModel, r.Project = text, text, text, text
				r.Tags, r.Attributes, r.Usage.Raw = []string{text}, map[string]string{text: text}, text
				b.Inferences = append(b.Inferences, r)
				said := body(row.N, row.time(first), text)
				said.Request, said.Response, said.Tools = row.said(), row.said(), text
				b.Bodies = append(b.Bodies, said)
				sp := span(row.N, row.time(first))
				sp.Name, sp.StatusMessage, sp.Attributes = text, text, map[string]string{"k": text}
				b.Spans = append(b.Spans, sp)
			}
			write(t, s, b)
			b.Resend = true
			write(t, s, b)
			if diff := cmp.Diff(each(len(fieldCase.Rows)), counts(t, dsn)); diff != "" {
				t.Error(diff)
			}
			for _, row := range fieldCase.Rows {
				got, err := s.Inference(t.Context(), id(row.N))
				if err != nil {
					t.Fatal(err)
				}
				checkOddRow(t, row, got, first)
			}
		})
	}
}

func checkOddRow(t *testing.T, row fieldRow, got record.InferenceDetail, first time.Time) {
	t.Helper()
	want := strings.ToValidUTF8(string(row.said()), "\uFFFD")
	r := got.Inference
	for field, text := range map[string]string{
		"error message": r.ErrorMessage, "user": r.UserID, "model": r.RequestModel, "tag": r.Tags[0],
		"attribute": r.Attributes[want], "usage": r.Usage.Raw,
	} {
		if text != want || !utf8.ValidString(text) {
			t.Errorf("row %d, %s: got %q, want %q", row.N, field, text, want)
		}
	}
	if got.Body == nil {
		t.Fatalf("row %d has no body", row.N)
	}
	if string(got.Body.Request) != string(row.said()) || string(got.Body.Response) != string(row.said()) {
		t.Errorf("row %d: raw bodies changed: %q", row.N, got.Body.Request)
	}
	// JSON has one U+FFFD for each bad byte, other text one for each run of them.
	said, _ := got.Body.Output[0].Text()
	if strings.ReplaceAll(said, "\uFFFD\uFFFD\uFFFD", "\uFFFD") != want {
		t.Errorf("row %d: message %q, want %q", row.N, said, want)
	}
	if row.StartedAt != nil {
		if got := r.Attributes[record.AttrOriginalTime]; got != row.StartedAt.Format(time.RFC3339Nano) {
			t.Errorf("row %d: original time %q, want %v", row.N, got, row.StartedAt)
		}
		if age := first.Sub(r.Time); age < 59*time.Minute || age > 2*time.Hour {
			t.Errorf("row %d: time %v, want that of the id", row.N, r.Time)
		}
		if !got.Body.Time.Equal(r.Time) {
			t.Errorf("row %d: body at %v, inference at %v", row.N, got.Body.Time, r.Time)
		}
	}
}

// C11: late rows of 300 days in one batch.
func TestRowsOfManyDays(t *testing.T) {
	var fieldCase struct {
		Steps []struct {
			N    int `json:"n"`
			Days int `json:"started_at_spread_days"`
		}
	}
	readFieldCase(t, "C11-too-many-parts.json", &fieldCase)
	late := fieldCase.Steps[1]
	s, dsn := open(t)
	b := record.Batch{Token: "x", FirstSent: now()}
	for i := range late.N {
		at := now().Add(-time.Duration(i*late.Days/late.N) * 24 * time.Hour)
		b.Inferences = append(b.Inferences, inference(i, at))
	}
	write(t, s, b)
	b.Resend = true
	write(t, s, b)
	for _, table := range []string{"inferences", "candidates"} {
		if got := count(t, dsn, fmt.Sprintf("SELECT count() FROM %s", table)); got != late.N {
			t.Errorf("%s: got %d rows, want %d", table, got, late.N)
		}
	}
	got, err := s.Inferences(t.Context(), record.InferenceFilter{Limit: late.N + 1})
	if err != nil || len(got) != late.N {
		t.Errorf("read %d rows, want %d: %v", len(got), late.N, err)
	}
}
