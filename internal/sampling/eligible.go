package sampling

import (
	"slices"

	"docket/internal/record"
)

// Eligibility says which candidates count as whole replies.
type Eligibility struct {
	ToolSteps bool // also replies that only call tools
	Partial   bool // also replies that broke off
}

// Eligible says why a candidate cannot be judged, as one of the reasons in
// package record, or "" when it can.
func Eligible(c record.Candidate, e Eligibility) (reason string) {
	switch {
	case c.Internal:
		return record.DocketJudge
	case !slices.Contains(generations(), c.Operation):
		return record.NotGeneration
	case c.CaptureLevel != record.CaptureFull:
		return record.BodyOff
	case c.Status >= 400 || c.TerminalState == record.StateUpstreamError:
		return record.CallFailed
	case c.RequestCut || c.ResponseCut:
		return record.BodyCut
	case c.Undecodable:
		return record.Undecodable
	case !c.Complete && !e.Partial:
		return record.Incomplete
	case c.ToolStep && !e.ToolSteps:
		return record.ToolStep
	}
	return ""
}

// generations lists the operations whose replies are judged, as
// gen_ai.operation.name has them.
func generations() []string {
	return []string{"chat", "text_completion", "generate_content"}
}
