package judge_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

// candidate is a wording of the default question.
type candidate struct {
	Name    string `json:"name"`
	Text    string `json:"text"`
	YesWhen string `json:"yes_when"`
	NoWhen  string `json:"no_when"`
}

// measured is how often a judge was wrong with a wording, on one set of
// conversations that people labelled.
type measured struct {
	Judge     string  `json:"judge"`
	Wording   string  `json:"wording"`
	Set       string  `json:"set"`
	Given     string  `json:"given"` // criterion: its text only; definitions: also when it is met and not met
	Cases     int     `json:"cases"`
	FalsePass int     `json:"false_pass"`
	FalseFail int     `json:"false_fail"`
	Balanced  float64 `json:"balanced_error"` // mean of the shares of wrong passes and of wrong fails, at threshold 0.5
	AUC       float64 `json:"auc"`
}

const wordings = "testdata/wordings"

// TestRule16WordingIsMeasured: the default wording is the least wrong of those
// that were compared. The figures are taken again with
//
//	go test ./internal/judge -run Rule16 -measure URL -labels DIR -cases N
//
// where URL is a System One server, DIR has the labelled conversations, one JSON
// object a line, and N of those that people passed and N of those that they
// failed are taken from each file; 0 takes all. Results of other judges stay.
func TestRule16WordingIsMeasured(t *testing.T) {
	var candidates []candidate
	readJSON(t, filepath.Join(wordings, "candidates.json"), &candidates)
	if url := flag.Lookup("measure").Value.String(); url != "" {
		measure(t, candidates, url, flag.Lookup("labels").Value.String())
	}
	var results []measured
	readJSON(t, filepath.Join(wordings, "results.json"), &results)
	if len(candidates) < 3 {
		t.Errorf("%d wordings were compared, want three or more", len(candidates))
	}
	errorOf := map[string]float64{}
	for _, m := range results {
		errorOf[m.Wording] += m.Balanced
	}
	least := slices.MinFunc(candidates, func(a, b candidate) int {
		return int(math.Copysign(1, errorOf[a.Name]-errorOf[b.Name]))
	})
	for _, c := range candidates {
		if errorOf[c.Name] == 0 {
			t.Errorf("wording %s was not measured", c.Name)
		}
	}
	if got := builtInWording(t); got != (candidate{least.Name, least.Text, least.YesWhen, least.NoWhen}) {
		t.Errorf("the built-in wording is %+v, the least wrong one %+v", got, least)
	}
	docSays(t, "The default wording", least.Name)
}

// builtInWording is what a judge is asked by default, with the candidate's name
// that it has.
func builtInWording(t *testing.T) candidate {
	t.Helper()
	single := judgetest.Body()
	single.Input = single.Input[1:2]
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	r := judge.Rubric{Criteria: []judge.Criterion{{Text: "{{text}}"}}}
	judgetest.New(t, s.Backend(), r, nil).Judge(t.Context(), "r", judgetest.UnitOf(single))
	parts := strings.Split(s.Seen()[0].Questions[0].Text, "\n")
	got := candidate{Text: parts[0], YesWhen: parts[1], NoWhen: parts[2]}
	var candidates []candidate
	readJSON(t, filepath.Join(wordings, "candidates.json"), &candidates)
	for _, c := range candidates {
		if c.Text == got.Text {
			got.Name = c.Name
		}
	}
	return got
}

// labelled is one conversation with what a person said of it.
type labelled struct {
	Criterion struct {
		Text             string `json:"text"`
		SatisfiedWhen    string `json:"satisfied_when"`
		NotSatisfiedWhen string `json:"not_satisfied_when"`
	} `json:"criterion"`
	Messages []struct{ Role, Content string } `json:"messages"`
	Sources  []string                         `json:"sources"`
	Human    string                           `json:"human"`
}

func measure(t *testing.T, candidates []candidate, url, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no labelled conversations in %q: %v", dir, err)
	}
	var old, results []measured
	if _, err := os.Stat(filepath.Join(wordings, "results.json")); err == nil {
		readJSON(t, filepath.Join(wordings, "results.json"), &old)
	}
	for _, file := range files {
		cases := readLabelled(t, file)
		for _, given := range []string{"criterion", "definitions"} {
			for _, c := range candidates {
				m := measureOne(t, c, cases, given, url)
				m.Set = strings.TrimSuffix(filepath.Base(file), ".jsonl")
				results = append(results, m)
			}
		}
	}
	old = slices.DeleteFunc(old, func(m measured) bool { return m.Judge == results[0].Judge })
	results = append(old, results...)
	if err := os.WriteFile(filepath.Join(wordings, "results.json"), indented(t, results), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readLabelled(t *testing.T, file string) []labelled {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	limit, err := strconv.Atoi(flag.Lookup("cases").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	var out []labelled
	taken := map[bool]int{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l labelled
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if taken[l.Human == "pass"]++; limit > 0 && taken[l.Human == "pass"] > limit {
			continue
		}
		out = append(out, l)
	}
	return out
}

func measureOne(t *testing.T, c candidate, cases []labelled, given, url string) measured {
	t.Helper()
	var b judge.BackendConfig
	b.SetDefaults()
	b.Format, b.URL = "systemone", url
	question := judge.Question{
		Text:    c.Text,
		YesWhen: fmt.Sprintf("{{or satisfied_when %q}}", c.YesWhen),
		NoWhen:  fmt.Sprintf("{{or not_satisfied_when %q}}", c.NoWhen),
	}
	j := judgetest.New(t, b, judge.Rubric{Question: &question, Criteria: []judge.Criterion{{Text: "replaced"}}}, nil)
	m := measured{Wording: c.Name, Given: given}
	var good, bad []float64
	for _, l := range cases {
		got := j.Judge(t.Context(), "r", l.unit(given == "definitions"))
		v := got.Verdicts[0]
		if v.Probability == nil {
			t.Fatalf("%s: %s", v.Reason, v.Detail)
		}
		m.Judge, m.Cases = v.JudgeModel, m.Cases+1
		switch met := l.Human == "pass"; {
		case met && v.Outcome == record.OutcomeFail:
			m.FalseFail++
		case !met && v.Outcome == record.OutcomePass:
			m.FalsePass++
		}
		if l.Human == "pass" {
			good = append(good, *v.Probability)
		} else {
			bad = append(bad, *v.Probability) // met in part is not met
		}
	}
	m.Balanced = rounded((float64(m.FalseFail)/float64(len(good)) + float64(m.FalsePass)/float64(len(bad))) / 2)
	m.AUC = rounded(auc(good, bad))
	return m
}

func (l labelled) unit(definitions bool) judge.Unit {
	var body record.Body
	last := len(l.Messages) - 1
	for _, m := range l.Messages[:last] {
		body.Input = append(body.Input, judgetest.Message(m.Role, m.Content))
	}
	body.Output = []record.Message{judgetest.Message("assistant", l.Messages[last].Content)}
	u := judgetest.UnitOf(body)
	u.Sources = l.Sources
	c := judge.Criterion{Text: l.Criterion.Text}
	if definitions {
		c.SatisfiedWhen, c.NotSatisfiedWhen = l.Criterion.SatisfiedWhen, l.Criterion.NotSatisfiedWhen
	}
	u.Criteria = []judge.Criterion{c}
	return u
}

// auc is the share of pairs in which the good reply got the higher probability.
func auc(good, bad []float64) float64 {
	sum := 0.0
	for _, g := range good {
		for _, b := range bad {
			switch {
			case g > b:
				sum++
			case g == b:
				sum += 0.5
			}
		}
	}
	return sum / float64(len(good)*len(bad))
}

func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }
