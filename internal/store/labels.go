package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"docket/internal/record"
)

// WriteLabels stores labels of people. Writing the same again changes nothing; a
// later label of the same person on the same criterion and inference replaces
// the earlier one.
func (s *Store) WriteLabels(ctx context.Context, list []record.Label) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	id := func(r *record.Label) string {
		return fmt.Sprintf("%d|%q|%q|%q|%q|%q|%q|%v", r.Time.UnixMicro(), r.Project, r.Criterion, r.InferenceID, r.Annotator, r.Label, r.Comment, r.SelectionP)
	}
	about := func(r *record.Label) string { return r.InferenceID }
	gone, err := s.deleted(ctx, idsOf(list, about))
	if err != nil {
		return err
	}
	list = withoutDeleted(list, gone, about)
	list = replaceRows(list,
		func(r *record.Label) bool { return storable(r.Time) },
		func(r *record.Label) { r.Time = storableTime(r.Time, "", time.Now()) })
	return insert(ctx, s, labels(), "labels:"+hashOf(list, id), list, id, nil)
}

// Labels returns the label of each person on each criterion and inference,
// newest first, at most the limit.
func (s *Store) Labels(ctx context.Context, f record.LabelFilter) ([]record.Label, error) {
	ctx, cancel := s.page(ctx)
	defer cancel()
	return s.labels(ctx, f, limitOf(f.Limit))
}

// AllLabels returns what Labels does, without a limit.
func (s *Store) AllLabels(ctx context.Context, f record.LabelFilter) ([]record.Label, error) {
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	return s.labels(ctx, f, noLimit)
}

func (s *Store) labels(ctx context.Context, f record.LabelFilter, limit int) ([]record.Label, error) {
	var out []record.Label
	for ids := range chunksOf(f.InferenceIDs) {
		g := f
		g.InferenceIDs = ids
		rows, err := selectRows(ctx, s, labels(), "labels.sql", map[string]any{"F": g},
			named("project", f.Project), named("criterion", f.Criterion), named("inference_ids", ids), named("limit", limit))
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	if len(f.InferenceIDs) > idChunk {
		slices.SortStableFunc(out, func(a, b record.Label) int { return b.Time.Compare(a.Time) })
	}
	return out[:min(len(out), limit)], nil
}

// WriteCalibrationAnswers stores what a judge said about labelled cases. Writing
// the same again changes nothing.
func (s *Store) WriteCalibrationAnswers(ctx context.Context, list []record.CalibrationAnswer) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	id := func(r *record.CalibrationAnswer) string {
		return fmt.Sprintf("%s|%d|%d|%s|%s", r.VerdictID, r.Repeat, r.Time.UnixMicro(), r.Outcome, r.Reason)
	}
	about := func(r *record.CalibrationAnswer) string { return r.CaseID }
	gone, err := s.deleted(ctx, idsOf(list, about))
	if err != nil {
		return err
	}
	list = withoutDeleted(list, gone, about)
	return insert(ctx, s, calibrationAnswers(), "answers:"+hashOf(list, id), list, id, nil)
}

// CalibrationAnswers returns the answers under these verdict ids, each repeat
// once, as it was last written.
func (s *Store) CalibrationAnswers(ctx context.Context, verdictIDs []string) ([]record.CalibrationAnswer, error) {
	ctx, cancel := evaluatorContext(ctx)
	defer cancel()
	var out []record.CalibrationAnswer
	for chunk := range slices.Chunk(verdictIDs, idChunk) {
		rows, err := selectRows(ctx, s, calibrationAnswers(), "calibration_answers.sql", nil, named("ids", chunk))
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// WriteCalibrations stores reports.
func (s *Store) WriteCalibrations(ctx context.Context, list []record.Calibration) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	id := func(r *record.Calibration) string {
		return fmt.Sprintf("%d|%s|%s|%s|%s|%s|%s", r.Time.UnixMicro(), r.Rubric, r.Criterion, r.CriterionVersion, r.JudgeConfig, r.JudgeModel, r.Method)
	}
	return insert(ctx, s, calibrations(), "calibrations:"+hashOf(list, id), list, id, nil)
}

// maxCalibrations bounds the reports of one answer.
const maxCalibrations = 1_000

// Calibrations returns the newest report for each criterion, version, judge
// configuration, model and method of the rubric, or of all rubrics when it is
// "", newest first.
func (s *Store) Calibrations(ctx context.Context, rubric string) ([]record.Calibration, error) {
	ctx, cancel := s.page(ctx)
	defer cancel()
	return selectRows(ctx, s, calibrations(), "calibrations.sql", map[string]any{"Rubric": rubric},
		named("rubric", rubric), named("limit", maxCalibrations))
}
