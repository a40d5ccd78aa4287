package judgetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// parseChat reads a chat request. The system message and the criterion at the
// end of the user message are instructions; the rest of the user message must
// be headings and lines of JSON, which are the data.
func parseChat(body []byte) (Seen, error) {
	var req struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		MaxTokens           int            `json:"max_tokens"`
		MaxCompletionTokens int            `json:"max_completion_tokens"`
		Temperature         float64        `json:"temperature"`
		Stream              bool           `json:"stream"`
		LogProbs            bool           `json:"logprobs"`
		TopLogProbs         int            `json:"top_logprobs"`
		ResponseFormat      any            `json:"response_format"`
		ReasoningEffort     string         `json:"reasoning_effort"`
		Template            map[string]any `json:"chat_template_kwargs"`
	}
	if err := strictly(body, &req); err != nil {
		return Seen{}, err
	}
	if len(req.Messages) != 2 || req.Messages[0].Role != "system" || req.Messages[1].Role != "user" {
		return Seen{}, errors.New("want one system and one user message")
	}
	if req.Stream || req.MaxTokens+req.MaxCompletionTokens == 0 {
		return Seen{}, fmt.Errorf("stream %v, no limit of tokens", req.Stream)
	}
	system, err := contentText(req.Messages[0].Content)
	if err != nil {
		return Seen{}, err
	}
	user, err := contentText(req.Messages[1].Content)
	if err != nil {
		return Seen{}, err
	}
	data, criterion, ok := cutLast(user, "\nCriterion:\n")
	if !ok {
		return Seen{}, errors.New("the user message has no criterion")
	}
	values, err := dataLines(data)
	if err != nil {
		return Seen{}, err
	}
	return Seen{
		Questions:    []Question{{Key: "q1", Text: criterion}},
		Instructions: system + "\n" + criterion,
		Data:         values,
	}, nil
}

// contentText is a content that is a text, or the text parts of one with
// images.
func contentText(content json.RawMessage) (string, error) {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s, nil
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(content, &parts); err != nil || len(parts) == 0 {
		return "", fmt.Errorf("content %.80s", content)
	}
	return parts[0].Text, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// dataLines decodes the lines between the headings. A line that is neither a
// heading nor JSON would be content that got out of its section.
func dataLines(data string) ([]any, error) {
	var out []any
	heading := false
	for line := range strings.Lines(data) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
			heading = false
		case !heading && strings.HasSuffix(line, ":") && !strings.ContainsAny(line, `"{}[]`):
			heading = true
		default:
			value, err := dataLine(line)
			if err != nil {
				return nil, fmt.Errorf("line %q is neither a heading nor JSON: %w", line, err)
			}
			out = append(out, value...)
		}
	}
	return out, nil
}

// dataLine decodes a JSON value, or the line of a tool call:
//
//  1. "name" {arguments} -> result|failed value
func dataLine(line string) ([]any, error) {
	_, call, numbered := strings.Cut(line, ". ")
	if !numbered || line[0] < '0' || line[0] > '9' {
		var v any
		err := json.Unmarshal([]byte(line), &v)
		return []any{v}, err
	}
	dec := json.NewDecoder(strings.NewReader(call))
	var name, arguments any
	if err := dec.Decode(&name); err != nil {
		return nil, err
	}
	if err := dec.Decode(&arguments); err != nil {
		return nil, err
	}
	rest := strings.TrimSpace(call[dec.InputOffset():])
	word, value, _ := strings.Cut(strings.TrimPrefix(rest, "-> "), " ")
	if word != "result" && word != "failed" {
		return nil, fmt.Errorf("a tool call that ends in %q", word)
	}
	var result any
	err := json.Unmarshal([]byte(value), &result)
	return []any{name, arguments, result}, err
}

func writeStructured(_ []Question, answers []Answer) string {
	a := answers[0]
	content := fmt.Sprintf(`{"reason":%s,"score":%s}`, quoted(a.Reason), a.number())
	if a.Missing {
		content = `{"reason":"none"}`
	}
	if a.Refuse {
		return chatAnswer("null", `"refusal":"will not say",`, "null")
	}
	return chatAnswer(quoted(content), "", "null")
}

func writeLogprobs(_ []Question, answers []Answer) string {
	a := answers[0]
	switch {
	case a.Refuse:
		return chatAnswer("null", `"refusal":"will not say",`, "null")
	case a.Missing:
		return chatAnswer(`"Yes"`, "", "null")
	}
	yes, no := Answer{P: logprob(a.P * 0.98)}.number(), Answer{P: logprob((1 - a.P) * 0.98)}.number()
	if a.Raw != "" {
		yes = a.Raw
	}
	word, own := "Yes", yes
	if a.P < 0.5 {
		word, own = "No", no
	}
	return chatAnswer(quoted(word), "", fmt.Sprintf(
		`{"content":[{"token":%q,"logprob":%s,"top_logprobs":[{"token":"Yes","logprob":%s},{"token":"No","logprob":%s},{"token":"Well","logprob":-5}]}]}`,
		word, own, yes, no))
}

func chatAnswer(content, more, logprobs string) string {
	return fmt.Sprintf(`{"id":"x","object":"chat.completion","model":"fake-judge-7","choices":[{"index":0,"message":{"role":"assistant",%s"content":%s},"logprobs":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":300,"completion_tokens":4,"total_tokens":304}}`,
		more, content, logprobs)
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
