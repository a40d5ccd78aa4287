package evaluate

import "docket/internal/record"

// inferenceOf is what a candidate tells of its inference.
func inferenceOf(c record.Candidate) record.Inference {
	return record.Inference{
		ID: c.InferenceID, Time: c.Time, Project: c.Project, Environment: c.Environment, TraceID: c.TraceID, SpanID: c.SpanID,
		ConversationID: c.ConversationID, Provider: c.Provider, API: c.API, Operation: c.Operation, RequestModel: c.RequestModel,
		PromptName: c.PromptName, PromptVersion: c.PromptVersion, Tags: c.Tags, ToolNames: c.ToolNames, TerminalState: c.TerminalState,
		Status: c.Status, Complete: c.Complete, CaptureLevel: c.CaptureLevel, Stratum: c.Stratum, SampleValue: c.SampleValue,
	}
}

// CandidateOf is the candidate that an inference is, but for its shard and the
// time it was inserted: what sampling rules need to decide about it again.
func CandidateOf(inf record.Inference) record.Candidate {
	return record.Candidate{
		SampleValue: inf.SampleValue, Time: inf.Time, Project: inf.Project, Environment: inf.Environment, InferenceID: inf.ID,
		ConversationID: inf.ConversationID, TraceID: inf.TraceID, SpanID: inf.SpanID, Stratum: inf.Stratum, Provider: inf.Provider,
		API: inf.API, Operation: inf.Operation, RequestModel: inf.RequestModel, PromptName: inf.PromptName, PromptVersion: inf.PromptVersion,
		Tags: inf.Tags, ToolNames: inf.ToolNames, TerminalState: inf.TerminalState, Status: inf.Status, Complete: inf.Complete,
		CaptureLevel: inf.CaptureLevel, RequestCut: inf.RequestCut, ResponseCut: inf.ResponseCut, Undecodable: inf.Undecodable,
		Internal: inf.Internal, ToolStep: inf.ToolStep,
	}
}

// FeedbackCandidate is the candidate that feedback makes of an inference.
func FeedbackCandidate(c record.Candidate, f record.Feedback) record.Candidate {
	c.FeedbackID, c.FeedbackLabel, c.FeedbackScore, c.FeedbackSource = f.ID, f.Label, f.Score, f.Source
	return c
}
