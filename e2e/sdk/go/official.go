package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// officialLibrary runs a scenario with openai/openai-go.
func officialLibrary(ctx context.Context, s *session) error {
	client := openai.NewClient(option.WithMaxRetries(0), option.WithHeader("traceparent", s.Traceparent))
	run := map[string]func(context.Context, openai.Client) error{
		"chat": s.officialChat, "responses": s.officialResponses, "embeddings": s.officialEmbeddings,
	}[s.api()]
	err := run(ctx, client)
	var refused *openai.Error
	switch {
	case errors.As(err, &refused):
		s.saw(refused.Type, call{Status: refused.StatusCode, Error: refused.Message, RetryAfter: refused.Response.Header.Get("Retry-After")})
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		s.saw(nil, call{Broken: true})
		return nil
	}
	return err
}

func (s *session) officialChat(ctx context.Context, client openai.Client) error {
	params := openai.ChatCompletionNewParams{Model: s.model(), Messages: []openai.ChatCompletionMessageParamUnion{
		openai.SystemMessage(system), openai.UserMessage(s.question()),
	}}
	tools := []openai.ChatCompletionToolUnionParam{officialTool("weather"), officialTool("clock")}
	switch s.Scenario {
	case "chat.tools":
		params.Tools = tools
		reply, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return err
		}
		s.sawCompletion(reply, json.RawMessage(reply.RawJSON()))
		message := reply.Choices[0].Message
		params.Messages = append(params.Messages, message.ToParam())
		for _, c := range message.ToolCalls {
			params.Messages = append(params.Messages, openai.ToolMessage(rain, c.ID))
		}
	case "chat.parallel_tools":
		params.Tools, params.ParallelToolCalls = tools, openai.Bool(true)
		return s.officialStream(ctx, client, params)
	case "chat.stream", "chat.cut":
		return s.officialStream(ctx, client, params)
	}
	reply, err := client.Chat.Completions.New(ctx, params)
	if err != nil {
		return err
	}
	s.sawCompletion(reply, json.RawMessage(reply.RawJSON()))
	return nil
}

func officialTool(name string) openai.ChatCompletionToolUnionParam {
	return openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name: name, Description: openai.String("Looks something up."), Parameters: parameters(),
	})
}

func (s *session) sawCompletion(reply *openai.ChatCompletion, whole any) {
	choice := reply.Choices[0]
	c := call{ID: reply.ID, Text: choice.Message.Content, FinishReason: choice.FinishReason, TotalTokens: reply.Usage.TotalTokens}
	for _, t := range choice.Message.ToolCalls {
		c.ToolCalls = append(c.ToolCalls, toolCall{t.ID, t.Function.Name, t.Function.Arguments})
	}
	s.saw(whole, c)
}

func (s *session) officialStream(ctx context.Context, client openai.Client, params openai.ChatCompletionNewParams) error {
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	var whole []json.RawMessage
	for stream.Next() {
		all.AddChunk(stream.Current())
		whole = append(whole, json.RawMessage(stream.Current().RawJSON()))
	}
	if err := stream.Err(); err != nil {
		return err
	}
	s.sawCompletion(&all.ChatCompletion, whole)
	return nil
}

func (s *session) officialEmbeddings(ctx context.Context, client openai.Client) error {
	reply, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: s.model(), Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{s.question(), second}},
	})
	if err != nil {
		return err
	}
	c := call{TotalTokens: reply.Usage.TotalTokens, Vectors: len(reply.Data), Dimensions: len(reply.Data[0].Embedding)}
	s.saw(json.RawMessage(reply.RawJSON()), c)
	return nil
}
