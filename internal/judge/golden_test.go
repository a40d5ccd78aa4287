package judge_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

// pixel is a tiny image with its raw request.
func pixelBody(detail *string) record.Body {
	data := []byte("not really a PNG, but bytes of one image")
	sum := sha256.Sum256(data)
	body := judgetest.Body()
	body.Input = []record.Message{
		judgetest.Message("system", "You describe pictures."),
		{Role: "user", Parts: []record.Part{
			{Type: record.PartText, Content: "What is on this picture?"},
			{Type: record.PartBlob, Modality: record.ModalityImage, MIMEType: "image/png", Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Detail: detail},
			{Type: record.PartText, Content: "One word, please."},
		}},
	}
	body.Output = []record.Message{judgetest.Message("assistant", "A lamp.")}
	body.Tools = ""
	body.Request = []byte(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
		base64.StdEncoding.EncodeToString(data) + `"}}]}]}`)
	return body
}

// requestCase is one unit with what is asked about it.
type requestCase struct {
	name   string
	unit   judge.Unit
	rubric judge.Rubric
}

func requestCases() []requestCase {
	single := judgetest.Body()
	single.Input, single.Tools = []record.Message{judgetest.Message("user", "How long does a bulb last?")}, ""
	single.Output = []record.Message{judgetest.Message("assistant", "About \"2 years\" <at 3 h a day> & more.\nIt depends.")}
	sourced := judgetest.UnitOf(single)
	sourced.Sources, sourced.Expected = []string{"Bulbs last 2,000 hours."}, "Names 2,000 hours."
	return []requestCase{
		{"single", judgetest.UnitOf(single), judge.Rubric{Criteria: judgetest.Three()}},
		{"tools", judgetest.Unit(), judge.Rubric{Criteria: judgetest.Three()[:2]}},
		{"sources", sourced, judge.Rubric{Criteria: judgetest.Three()[:1]}},
		{"image", judgetest.UnitOf(pixelBody(nil)), judge.Rubric{Criteria: judgetest.Three()[:1]}},
		{"applies_and_canary", judgetest.UnitOf(single), judge.Rubric{Canary: true, Criteria: []judge.Criterion{
			{Text: "The reply names a duration.", AppliesWhen: "the user asks how long something lasts"},
		}}},
		{"own_question", judgetest.UnitOf(single), judge.Rubric{Criteria: []judge.Criterion{{
			Name: "short", Text: "The reply is short.", SatisfiedWhen: "it has at most two sentences",
			Question: &judge.Question{Text: "Would a busy reader call `response` short? ({{name}})", YesWhen: "{{satisfied_when}}", NoWhen: `{{or not_satisfied_when "it has more"}}`},
		}}}},
	}
}

// TestRequests compares every request with its file: what a judge is asked and
// shown is reviewed like code.
func TestRequests(t *testing.T) {
	for _, f := range judgetest.Formats() {
		for _, c := range requestCases() {
			t.Run(f.Name+"/"+c.name, func(t *testing.T) {
				s := judgetest.NewServer(t, f)
				b := s.Backend()
				if strings.HasPrefix(f.Name, "chat") {
					b.Images = "items"
				}
				judgetest.New(t, b, c.rubric, nil).Judge(t.Context(), "r", c.unit)
				requests := s.Seen() // one criterion each, they go out together
				slices.SortFunc(requests, func(a, b judgetest.Seen) int { return bytes.Compare(a.Body, b.Body) })
				var all bytes.Buffer
				for _, seen := range requests {
					fmt.Fprintf(&all, "POST %s\n", seen.Path)
					if err := json.Indent(&all, seen.Body, "", "  "); err != nil {
						t.Fatal(err)
					}
					all.WriteByte('\n')
				}
				golden(t, filepath.Join("testdata", "requests", f.Name, c.name+".txt"), all.Bytes())
			})
		}
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if update() {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (run with -update to accept):\n%s", file, diff)
	}
}
