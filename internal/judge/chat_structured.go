package judge

import (
	"context"
	"encoding/json"
	"strings"

	openai "github.com/sashabaranov/go-openai"
	"github.com/tidwall/gjson"

	"docket/internal/record"
)

const (
	almostZero = 1e-6 // a temperature of 0 would be left out of the request
	higherCap  = 4    // times the tokens, when an answer was cut
	repairHint = "An answer that was anything but that one JSON object could not be read. Give the object alone, without a code fence and without any other text."
)

// structured asks for a score with a reason. An answer that is cut is asked for
// once more with room for four times the tokens, one that cannot be read once
// more with a hint.
func (s *session) structured(ctx context.Context) reply {
	content, fail := s.json(ctx, textChatFormatScore, scoreSchema(), func(content string) bool {
		return readScore(content).reason == record.ReasonMalformed
	})
	if fail != nil {
		return *fail
	}
	a := readScore(content)
	if a.reason == record.ReasonMalformed {
		return failed(1, record.MethodStructured, a.reason, a.detail)
	}
	return one(a, record.MethodStructured)
}

// json returns the text of an answer that should be JSON; bad says that it
// cannot be read.
func (s *session) json(ctx context.Context, format string, schema json.RawMessage, bad func(string) bool) (string, *reply) {
	limit, hint := s.chat.config.MaxTokens, ""
	longer, repaired := false, false
	for {
		choice, err := s.completeJSON(ctx, format, schema, limit, hint)
		if err != nil {
			r := s.fail(err, record.MethodStructured)
			return "", &r
		}
		switch {
		case choice.Message.Refusal != "" || choice.FinishReason == openai.FinishReasonContentFilter:
			r := one(refusalAnswer(choice), record.MethodStructured)
			return "", &r
		case choice.FinishReason == openai.FinishReasonLength:
			if longer || ctx.Err() != nil {
				r := failed(1, record.MethodStructured, record.ReasonTruncated, "the answer was cut at the limit of tokens")
				return "", &r
			}
			longer, limit = true, limit*higherCap
		case bad(choice.Message.Content) && !repaired && ctx.Err() == nil:
			repaired, hint = true, repairHint
		default:
			return choice.Message.Content, nil
		}
	}
}

// completeJSON asks with the strictest way to get JSON that the server takes.
func (s *session) completeJSON(ctx context.Context, format string, schema json.RawMessage, limit int, hint string) (openai.ChatCompletionChoice, error) {
	messages, err := s.messages(format, hint)
	if err != nil {
		return openai.ChatCompletionChoice{}, &callError{record.ReasonJudgeError, err.Error()}
	}
	for {
		way := s.chat.ability(s.request.model).format
		req := openai.ChatCompletionRequest{
			Model: s.request.model, Messages: messages, ResponseFormat: responseFormat(way, schema),
			ChatTemplateKwargs: s.chat.config.TemplateArgs,
		}
		if thinks, _ := reasoning(req.Model); !thinks {
			req.Temperature = almostZero
		}
		limitTokens(&req, limit)
		choice, d, err := s.complete(ctx, req)
		if err == nil || way == plainFormat || !d.refuses("response_format", "json_schema", "json_object", "guided", "structured") {
			return choice, err
		}
		s.chat.learn(s.request.model, func(a *ability) { a.format = plainer(way) })
	}
}

func plainer(way string) string {
	if way == schemaFormat {
		return objectFormat
	}
	return plainFormat
}

func responseFormat(way string, schema json.RawMessage) *openai.ChatCompletionResponseFormat {
	switch way {
	case schemaFormat:
		return &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "verdict", Schema: schema, Strict: true},
		}
	case objectFormat:
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	return nil
}

// The reason comes first, so that the score follows from it.
func scoreSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string"},"score":{"type":"number"}},"required":["reason","score"],"additionalProperties":false}`)
}

func reasonSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string"}},"required":["reason"],"additionalProperties":false}`)
}

// readScore reads the object. A text beside it, a second object or a score that
// is not a number make the answer malformed: what is quoted from the judged
// content must not be taken for the judge's answer.
func readScore(content string) answer {
	obj, ok := onlyObject(content)
	if !ok {
		return unanswered(record.ReasonMalformed, "the answer is not one JSON object")
	}
	a := number(obj, "score")
	if a.reason == record.ReasonMissingAnswer {
		return unanswered(record.ReasonMalformed, "the answer has no score")
	}
	if a.p != nil {
		a.detail = short(text(obj, "reason"))
	}
	return a
}

// onlyObject finds the JSON object that is the whole text, apart from spaces, a
// code fence around it, and thoughts before it that are marked as such.
func onlyObject(s string) (gjson.Result, bool) {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "<think>"); ok {
		_, after, closed := strings.Cut(rest, "</think>")
		if !closed {
			return gjson.Result{}, false
		}
		s = strings.TrimSpace(after)
	}
	if rest, ok := strings.CutPrefix(s, "```"); ok {
		body, closed := strings.CutSuffix(rest, "```")
		if !closed {
			return gjson.Result{}, false
		}
		s = strings.TrimSpace(strings.TrimPrefix(body, "json"))
	}
	obj, err := parse([]byte(s))
	return obj, err == nil
}

// explainer is a chat judge that is asked only for a sentence.
type explainer struct{ chat *chat }

func (e explainer) ask(ctx context.Context, r request) reply {
	ctx, cancel := context.WithTimeout(ctx, e.chat.config.Timeout)
	defer cancel()
	s := &session{chat: e.chat, request: r, question: r.questions[0]}
	content, fail := s.json(ctx, textChatFormatReason, reasonSchema(), func(content string) bool {
		_, ok := onlyObject(content)
		return !ok
	})
	if fail != nil {
		return s.finish(*fail)
	}
	obj, ok := onlyObject(content)
	if !ok {
		return s.finish(failed(1, record.MethodStructured, record.ReasonMalformed, "the answer is not one JSON object"))
	}
	return s.finish(one(answer{detail: short(text(obj, "reason"))}, record.MethodStructured))
}
