package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func (s *session) officialResponses(ctx context.Context, client openai.Client) error {
	params := responses.ResponseNewParams{Model: s.model(), Input: text(s.question())}
	switch s.Scenario {
	case "responses.tools":
		return s.responseTools(ctx, client, params)
	case "responses.chain":
		reply, err := s.responseCall(ctx, client, params)
		if err != nil {
			return err
		}
		params.Input, params.PreviousResponseID = text("What is your name?"), openai.String(reply.ID)
	case "responses.hosted", "responses.hosted_stream":
		params.Tools = []responses.ToolUnionParam{
			responses.ToolParamOfWebSearch(responses.WebSearchToolTypeWebSearch),
			responses.ToolParamOfFileSearch([]string{"vs_1"}),
			responses.ToolParamOfCodeInterpreter(responses.ToolCodeInterpreterContainerCodeInterpreterContainerAutoParam{}),
		}
	case "responses.incomplete", "responses.incomplete_stream":
		params.MaxOutputTokens = openai.Int(16)
	default:
		params.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffortLow, Summary: shared.ReasoningSummaryAuto}
	}
	var err error
	switch s.Scenario {
	case "responses.hosted_stream", "responses.incomplete_stream", "responses.stream", "responses.failed":
		_, err = s.responseStream(ctx, client, params)
	default:
		_, err = s.responseCall(ctx, client, params)
	}
	return err
}

func text(s string) responses.ResponseNewParamsInputUnion {
	return responses.ResponseNewParamsInputUnion{OfString: openai.String(s)}
}

// responseTools repeats the whole history in its second call.
func (s *session) responseTools(ctx context.Context, client openai.Client, params responses.ResponseNewParams) error {
	params.Instructions = openai.String(system)
	for _, name := range []string{"weather", "clock"} {
		tool := responses.ToolParamOfFunction(name, parameters(), false)
		tool.OfFunction.Description = openai.String("Looks something up.")
		params.Tools = append(params.Tools, tool)
	}
	first, err := s.responseStream(ctx, client, params)
	if err != nil {
		return err
	}
	history := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(s.question(), responses.EasyInputMessageRoleUser)}
	var results responses.ResponseInputParam
	for _, item := range first.Output {
		c := item.AsFunctionCall().ToParam()
		history = append(history, responses.ResponseInputItemUnionParam{OfFunctionCall: &c})
		result := responses.ResponseInputItemParamOfFunctionCallOutput(item.Name + ": rain, noon")
		result.OfFunctionCallOutput.CallID = openai.String(item.CallID)
		results = append(results, result)
	}
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: append(history, results...)}
	_, err = s.responseCall(ctx, client, params)
	return err
}

func (s *session) responseCall(ctx context.Context, client openai.Client, params responses.ResponseNewParams) (*responses.Response, error) {
	reply, err := client.Responses.New(ctx, params)
	if err != nil {
		return nil, err
	}
	s.sawResponse(reply, json.RawMessage(reply.RawJSON()))
	return reply, nil
}

func (s *session) responseStream(ctx context.Context, client openai.Client, params responses.ResponseNewParams) (*responses.Response, error) {
	stream := client.Responses.NewStreaming(ctx, params)
	defer stream.Close()
	var whole []json.RawMessage
	var reply *responses.Response
	for stream.Next() {
		event := stream.Current()
		whole = append(whole, json.RawMessage(event.RawJSON()))
		switch event.Type {
		case "response.completed", "response.incomplete", "response.failed":
			reply = &event.Response
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if reply == nil {
		return nil, errors.New("the stream has no last event")
	}
	s.sawResponse(reply, whole)
	return reply, nil
}

func (s *session) sawResponse(reply *responses.Response, whole any) {
	c := call{ID: reply.ID, Text: reply.OutputText(), FinishReason: string(reply.Status), TotalTokens: reply.Usage.TotalTokens}
	if reply.IncompleteDetails.Reason != "" {
		c.FinishReason = reply.IncompleteDetails.Reason
	}
	for _, item := range reply.Output {
		if item.Type == "function_call" {
			f := item.AsFunctionCall()
			c.ToolCalls = append(c.ToolCalls, toolCall{f.CallID, f.Name, f.Arguments})
		}
	}
	s.saw(whole, c)
}
