// Command go sends each request of a JSON list through the official OpenAI
// library for Go, and prints what it got back. Each request is read into the
// library's types, so that what has no place in them would be lost on the way.
//
// It is a module of its own: the library takes long to compile.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

type answer struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Probability *float64 `json:"probability"`
}

type result struct {
	Model       string   `json:"model"`
	InputTokens int64    `json:"input_tokens"`
	Answers     []answer `json:"answers"`
}

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	var requests []json.RawMessage
	if err := json.NewDecoder(in).Decode(&requests); err != nil {
		return err
	}
	client := openai.NewClient(option.WithUnsafeAllowHTTP(), option.WithMaxRetries(0))
	var results []result
	for _, request := range requests {
		p, err := params(request)
		if err != nil {
			return err
		}
		res, err := client.Decisions.New(ctx, p)
		if err != nil {
			return err
		}
		r := result{Model: res.Model, InputTokens: res.Usage.InputTokens}
		for _, a := range res.Answers {
			one := answer{Name: a.Name, Type: a.Type}
			if p, ok := a.AsAny().(openai.DecisionAnswerPredicate); ok {
				one.Probability = &p.Probability
			}
			r.Answers = append(r.Answers, one)
		}
		results = append(results, r)
	}
	return json.NewEncoder(out).Encode(results)
}

// params reads a request. The items are read one by one: the library cannot
// tell by itself which of its types a list of them is.
func params(request []byte) (openai.DecisionNewParams, error) {
	var plain struct {
		Model     string
		Input     []json.RawMessage
		Questions []json.RawMessage
	}
	if err := json.Unmarshal(request, &plain); err != nil {
		return openai.DecisionNewParams{}, err
	}
	p := openai.DecisionNewParams{Model: plain.Model}
	for _, raw := range plain.Input {
		item, err := inputItem(raw)
		if err != nil {
			return p, err
		}
		p.Input.OfDecisionNewsInputArray = append(p.Input.OfDecisionNewsInputArray, item)
	}
	for _, raw := range plain.Questions {
		var question openai.DecisionNewParamsQuestionUnion
		if err := json.Unmarshal(raw, &question); err != nil {
			return p, err
		}
		if question.OfPredicate == nil {
			return p, fmt.Errorf("the library takes this for no predicate: %s", raw)
		}
		p.Questions = append(p.Questions, question)
	}
	return p, nil
}

func inputItem(raw []byte) (u openai.DecisionNewParamsInputArrayItemUnion, err error) {
	var kind struct{ Type, Role string }
	if err := json.Unmarshal(raw, &kind); err != nil {
		return u, err
	}
	switch kind.Type + kind.Role {
	case "user":
		err = json.Unmarshal(raw, &u.OfDecisionInputUserMessage)
	case "system":
		err = json.Unmarshal(raw, &u.OfDecisionInputSystemMessage)
	case "developer":
		err = json.Unmarshal(raw, &u.OfDecisionInputDeveloperMessage)
	case "assistant":
		err = json.Unmarshal(raw, &u.OfDecisionInputAssistantMessage)
	case "function_call":
		err = json.Unmarshal(raw, &u.OfFunctionCall)
	case "function_call_output":
		err = json.Unmarshal(raw, &u.OfFunctionCallOutput)
	default:
		err = fmt.Errorf("the library has no such item: %s", raw)
	}
	return u, err
}
