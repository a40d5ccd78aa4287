package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/sashabaranov/go-openai"
)

// tracing adds the traceparent of a scenario to every request, since the
// library has no place for header fields.
type tracing struct{ traceparent string }

func (t tracing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Traceparent", t.traceparent)
	return http.DefaultTransport.RoundTrip(r)
}

// communityLibrary runs a scenario with sashabaranov/go-openai.
func communityLibrary(ctx context.Context, s *session) error {
	config := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	config.BaseURL = os.Getenv("OPENAI_BASE_URL")
	config.HTTPClient = &http.Client{Transport: tracing{s.Traceparent}}
	err := s.community(ctx, openai.NewClientWithConfig(config))
	var refused *openai.APIError
	switch {
	case errors.As(err, &refused):
		s.saw(refused.Type, call{Status: refused.HTTPStatusCode, Error: refused.Message})
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		s.saw(nil, call{Broken: true})
		return nil
	}
	return err
}

func (s *session) community(ctx context.Context, client *openai.Client) error {
	req := openai.ChatCompletionRequest{Model: s.model(), Messages: []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: system}, {Role: openai.ChatMessageRoleUser, Content: s.question()},
	}}
	tools := []openai.Tool{communityTool("weather"), communityTool("clock")}
	switch s.Scenario {
	case "embeddings.float":
		return s.communityEmbeddings(ctx, client)
	case "chat.tools":
		req.Tools = tools
		message, err := s.communityCall(ctx, client, req)
		if err != nil {
			return err
		}
		req.Messages = append(req.Messages, message)
		for _, c := range message.ToolCalls {
			req.Messages = append(req.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: c.ID, Content: rain})
		}
		_, err = s.communityCall(ctx, client, req)
		return err
	case "chat.parallel_tools":
		req.Tools, req.ParallelToolCalls = tools, true
		return s.communityStream(ctx, client, req)
	case "chat.stream", "chat.cut":
		return s.communityStream(ctx, client, req)
	}
	_, err := s.communityCall(ctx, client, req)
	return err
}

func communityTool(name string) openai.Tool {
	return openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
		Name: name, Description: "Looks something up.", Parameters: parameters(),
	}}
}

func (s *session) communityCall(ctx context.Context, client *openai.Client, req openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error) {
	reply, err := client.CreateChatCompletion(ctx, req)
	if err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	choice := reply.Choices[0]
	c := call{ID: reply.ID, Text: choice.Message.Content, FinishReason: string(choice.FinishReason), TotalTokens: int64(reply.Usage.TotalTokens)}
	for _, t := range choice.Message.ToolCalls {
		c.ToolCalls = append(c.ToolCalls, toolCall{t.ID, t.Function.Name, t.Function.Arguments})
	}
	s.saw(reply, c)
	return choice.Message, nil
}

func (s *session) communityStream(ctx context.Context, client *openai.Client, req openai.ChatCompletionRequest) error {
	req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	stream, err := client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return err
	}
	defer stream.Close()
	var whole []openai.ChatCompletionStreamResponse
	var c call
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			s.saw(whole, c)
			return nil
		}
		if err != nil {
			return err
		}
		whole = append(whole, chunk)
		c.ID = chunk.ID
		if chunk.Usage != nil {
			c.TotalTokens = int64(chunk.Usage.TotalTokens)
		}
		for _, choice := range chunk.Choices {
			c.Text += choice.Delta.Content
			c.FinishReason += string(choice.FinishReason)
			for _, part := range choice.Delta.ToolCalls {
				if part.ID != "" {
					c.ToolCalls = append(c.ToolCalls, toolCall{ID: part.ID, Name: part.Function.Name})
				}
				c.ToolCalls[*part.Index].Arguments += part.Function.Arguments
			}
		}
	}
}

func (s *session) communityEmbeddings(ctx context.Context, client *openai.Client) error {
	reply, err := client.CreateEmbeddings(ctx, openai.EmbeddingRequest{Model: openai.EmbeddingModel(s.model()), Input: []string{s.question(), second}})
	if err != nil {
		return err
	}
	s.saw(reply, call{TotalTokens: int64(reply.Usage.TotalTokens), Vectors: len(reply.Data), Dimensions: len(reply.Data[0].Embedding)})
	return nil
}
