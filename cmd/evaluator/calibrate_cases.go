package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/google/uuid"

	"docket/internal/judge"
	"docket/internal/record"
	"docket/internal/store"
)

// labelledCase is a unit with what people say about some of its criteria.
type labelledCase struct {
	name  string // of the label file, or the id of the inference
	unit  judge.Unit
	human map[string]bool // by criterion: pass

	partial bool // met in part; human says fail
}

// skippedLabels counts labels that say neither pass nor fail.
type skippedLabels struct{ unsure, partial, disputed, gone, without int }

func (s skippedLabels) String() string {
	out := fmt.Sprintf("labels left out: %d unsure, %d partial, %d disputed, %d whose bodies are not kept", s.unsure, s.partial, s.disputed, s.gone)
	if s.without > 0 {
		out += fmt.Sprintf("; %d exported calls have no label on a criterion of the rubric", s.without)
	}
	return out
}

// labelPartial is a label of files: the criterion is met in part.
const labelPartial = "partial"

// What to do with such labels.
const (
	partialFails = "fail" // what is met in part is not met, as the judge is told too
	partialSkip  = "skip"
)

const maxLabelLine = 64 << 20

// casesOfFile reads a file of labels: one JSON object a line, with messages,
// human (pass, fail, partial or unsure), and a criterion unless the rubric has
// only one; or with labels, as evaluator export writes it.
func casesOfFile(path, partial string, rubric judge.Rubric) (cases []labelledCase, skipped skippedLabels, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, skipped, fmt.Errorf("--labels: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLabelLine)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		c, err := caseOfLine(line, rubric)
		switch {
		case errors.Is(err, errUnsure):
			skipped.unsure++
		case errors.Is(err, errUnlabelled):
			skipped.without++
		case err == nil && c.partial && partial == partialSkip:
			skipped.partial++
		case err != nil:
			return nil, skipped, fmt.Errorf("%s:%d: %w", path, n, err)
		default:
			cases = append(cases, c)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, skipped, fmt.Errorf("%s: %w", path, err)
	}
	return cases, skipped, nil
}

var (
	errUnsure     = errors.New("the label is unsure")
	errUnlabelled = errors.New("there is no label")
)

func caseOfLine(line []byte, rubric judge.Rubric) (labelledCase, error) {
	var c conversation // further keys, such as source and licence, are for people
	if err := json.Unmarshal(line, &c); err != nil {
		return labelledCase{}, err
	}
	if c.Human == "" && c.Labels != nil {
		return caseOfExport(c, rubric)
	}
	switch c.Human {
	case record.LabelPass, record.LabelFail, labelPartial:
	case record.LabelUnsure:
		return labelledCase{}, errUnsure
	default:
		return labelledCase{}, fmt.Errorf("human: %q: want pass, fail, partial or unsure", c.Human)
	}
	switch {
	case c.Criterion != nil:
		c.Criteria = named(rubric, []judge.Criterion{*c.Criterion})
	case len(rubric.Criteria) == 1:
		c.Criteria = rubric.Criteria
	default:
		return labelledCase{}, errors.New("criterion: missing: want a name of the rubric's, a sentence or an object")
	}
	name, u, err := caseUnit(&c)
	if err != nil {
		return labelledCase{}, err
	}
	criterion := judge.Rubric{Criteria: c.Criteria}.CriterionNames()[0]
	return labelledCase{name: name, unit: u, human: map[string]bool{criterion: c.Human == record.LabelPass}, partial: c.Human == labelPartial}, nil
}

// caseOfExport is an exported call with what people said about the rubric's
// criteria: the majority counts, and a tie for nothing.
func caseOfExport(c conversation, rubric judge.Rubric) (labelledCase, error) {
	votes, unsure := map[string]int{}, false
	for _, l := range c.Labels {
		switch {
		case !slices.Contains(rubric.CriterionNames(), l.Criterion):
		case l.Label == record.LabelUnsure:
			unsure = true
		default:
			votes[l.Criterion] += vote(l.Label)
		}
	}
	human := map[string]bool{}
	for criterion, n := range votes {
		if n != 0 {
			human[criterion] = n > 0
		}
	}
	switch {
	case len(human) == 0 && (unsure || len(votes) > 0):
		return labelledCase{}, errUnsure
	case len(human) == 0:
		return labelledCase{}, errUnlabelled
	}
	for i, name := range rubric.CriterionNames() {
		if _, ok := human[name]; ok {
			c.Criteria = append(c.Criteria, rubric.Criteria[i])
		}
	}
	name, u, err := caseUnit(&c)
	return labelledCase{name: name, unit: u, human: human}, err
}

// caseUnit builds what is judged.
func caseUnit(c *conversation) (name string, u judge.Unit, err error) {
	c.Criterion = nil
	// The content makes the id: an answer belongs to what was asked about, also
	// when the file is edited.
	content, err := json.Marshal([]any{c.Messages, c.Output, c.Tools, c.Sources, c.Expected})
	if err != nil {
		return "", u, err
	}
	name = c.ID
	c.ID = uuid.NewSHA1(uuid.NameSpaceOID, content).String()
	if name == "" {
		name = c.ID
	}
	u, err = c.unit()
	return name, u, err
}

// casesOfStore reads what people said about the rubric's criteria. Of several
// people the majority counts; a tie counts for nothing.
func casesOfStore(ctx context.Context, db *store.Store, project string, rubric judge.Rubric) (cases []labelledCase, skipped skippedLabels, err error) {
	votes := map[string]map[string]int{} // by inference and criterion: passes less failures
	for _, criterion := range rubric.CriterionNames() {
		labels, err := db.AllLabels(ctx, record.LabelFilter{Project: project, Criterion: criterion})
		if err != nil {
			return nil, skipped, err
		}
		for _, l := range labels {
			if l.Label == record.LabelUnsure {
				skipped.unsure++
				continue
			}
			if votes[l.InferenceID] == nil {
				votes[l.InferenceID] = map[string]int{}
			}
			votes[l.InferenceID][criterion] += vote(l.Label)
		}
	}
	ids := sortedNames(votes)
	inferences, err := db.InferencesByID(ctx, ids)
	if err != nil {
		return nil, skipped, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { _, ok := inferences[id]; return !ok })
	list := make([]record.Inference, len(ids))
	for i, id := range ids {
		list[i] = inferences[id]
	}
	units, err := unitsOf(ctx, db, list)
	if err != nil {
		return nil, skipped, err
	}
	skipped.gone = len(votes) - len(ids)
	for i, u := range units {
		human := map[string]bool{}
		for criterion, n := range votes[ids[i]] {
			if n == 0 {
				skipped.disputed++
				continue
			}
			human[criterion] = n > 0
		}
		if u.Problem == record.ReasonNotCaptured {
			skipped.gone++
			continue
		}
		if len(human) > 0 {
			cases = append(cases, labelledCase{name: ids[i], unit: u, human: human})
		}
	}
	return cases, skipped, nil
}

func vote(label string) int {
	if label == record.LabelPass {
		return 1
	}
	return -1
}
