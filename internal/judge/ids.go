package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// digest is a short hash of a value's JSON.
func digest(v any) string { return fullDigest(v)[:16] }

// fullDigest is for what others may try to make equal.
func fullDigest(v any) string {
	sum := sha256.Sum256(encode(v))
	return hex.EncodeToString(sum[:])
}

// criterionVersion changes with everything that changes the meaning of a
// verdict on the criterion. Its weight changes only the rubric's score.
func criterionVersion(c Criterion) string {
	c.Weight, c.Calibration = nil, nil
	c.Name = c.key()
	return digest(c)
}

// rubricVersion changes with everything that changes a rubric's outcome or
// score, apart from how the judge is asked.
func rubricVersion(r Rubric) string {
	type weighted struct {
		Version string
		Weight  float64
	}
	var out []weighted
	for _, c := range r.Criteria {
		out = append(out, weighted{criterionVersion(c), c.weight()})
	}
	return digest(out)
}

// judgeConfig is the hash over everything that can change an answer to the
// criterion, besides the criterion: the judge as configured, how it is asked,
// what it is shown, and the calibration if it is used. m is nil for criteria
// with a check.
func (p *prepared) judgeConfig(m *member, c Criterion) string {
	if m == nil {
		return p.configs[ruleName]
	}
	if p.rubric.UseCalibrated && m == p.chain[0] {
		return digest([]any{p.configs[m.name], c.Calibration})
	}
	return p.configs[m.name]
}

// configOf is the part of judgeConfig that is the same for all criteria.
func (p *prepared) configOf(m *member) string {
	if m.profile.format == formatRule {
		return digest([]any{formatRule, rendererVersion})
	}
	r, b := p.rubric, m.config
	return digest(map[string]any{
		"format": m.profile.format, "profile": b.Profile, "model": p.model(m), "method": b.Method, "input": b.Input,
		"images": m.profile.images, "template_args": b.TemplateArgs, "min_label_mass": b.MinLabelMass, "static": b.Static,
		"max_questions": m.profile.maxQuestions, "max_input": m.profile.maxInput, "rubric_max_input": r.MaxInput, "trim": r.Trim,
		"isolation": r.Isolation, "media": r.Media, "source_tools": r.SourceTools, "canary": r.Canary,
		"system": r.System, "user": r.User, "wordings": wordings(), "renderer": rendererVersion,
	})
}

// model is the model to ask for: the rubric's for its own judge, else that of
// the backend.
func (p *prepared) model(m *member) string {
	if p.rubric.Model != "" && m == p.chain[0] {
		return p.rubric.Model
	}
	return m.config.Model
}

// verdictID is the same each time the same criterion judges the same unit with
// the same configuration, whoever judges it.
func verdictID(rubric string, u Unit, c Criterion, judgeConfig string) string {
	name := strings.Join([]string{
		"docket verdict", u.kind(), u.id(), strconv.Itoa(int(u.Revision)), rubric, c.key(), criterionVersion(c), judgeConfig,
	}, "\x00")
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String()
}

// id is what identifies the unit among those of its kind.
func (u *Unit) id() string {
	switch u.kind() {
	case "trace":
		return u.Inference.TraceID
	case "conversation":
		return u.Inference.Project + "\x00" + u.Inference.ConversationID
	}
	return u.Inference.ID
}

// hexID takes n hex digits out of a UUID, for trace and span ids.
func hexID(id string, n int) string {
	digits := strings.ReplaceAll(id, "-", "")
	if len(digits) < n {
		digits += strings.Repeat("0", n-len(digits))
	}
	return digits[len(digits)-n:]
}

type traceKey struct{}

// withTraceParent lets the request of a call carry the judge's own trace.
func withTraceParent(ctx context.Context, traceID, spanID string) context.Context {
	return context.WithValue(ctx, traceKey{}, "00-"+traceID+"-"+spanID+"-01")
}

func traceParent(ctx context.Context) string {
	s, _ := ctx.Value(traceKey{}).(string)
	return s
}
