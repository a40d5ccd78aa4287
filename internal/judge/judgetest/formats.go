package judgetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"docket/internal/judge"
	"docket/internal/record"
)

// Format is one wire format, with the setting of its backend.
type Format struct {
	Name   string
	Config judge.BackendConfig
	Method string // of its verdicts

	// Batches says that several questions fit one request.
	Batches bool
	// Exact says that probabilities arrive as they were given; those read from
	// log-probabilities are recomputed.
	Exact bool

	parse func(body []byte) (Seen, error)
	write func([]Question, []Answer) string
}

// Formats lists every format that asks over HTTP.
func Formats() []Format {
	return []Format{
		{
			Name: "systemone", Config: judge.BackendConfig{Format: "systemone"}, Method: record.MethodDecision,
			Batches: true, Exact: true, parse: parseSystemOne, write: writeSystemOne,
		},
		{
			Name: "openai", Config: judge.BackendConfig{Format: "openai"}, Method: record.MethodDecision,
			Batches: true, Exact: true, parse: parseOpenAI, write: writeOpenAI,
		},
		{
			Name: "openai-text", Config: judge.BackendConfig{Format: "openai", Input: "text"}, Method: record.MethodDecision,
			Batches: true, Exact: true, parse: parseOpenAI, write: writeOpenAI,
		},
		{
			Name: "sglang", Config: judge.BackendConfig{Format: "sglang"}, Method: record.MethodDecision,
			Batches: true, Exact: true, parse: parseSGLang, write: writeSGLang,
		},
		{
			Name: "http", Config: judge.BackendConfig{Format: "http"}, Method: record.MethodHTTP,
			Batches: true, Exact: true, parse: parseHTTP, write: writeHTTP,
		},
		{
			Name: "chat-structured", Config: judge.BackendConfig{Format: "chat", Method: record.MethodStructured}, Method: record.MethodStructured,
			Exact: true, parse: parseChat, write: writeStructured,
		},
		{
			Name: "chat-logprobs", Config: judge.BackendConfig{Format: "chat", Method: record.MethodLogprobs}, Method: record.MethodLogprobs,
			parse: parseChat, write: writeLogprobs,
		},
	}
}

// strictly decodes JSON and refuses fields that the format does not have.
func strictly(body []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	return dec.Decode(to)
}

// ordered lists the keys of a JSON object in order.
func ordered(object json.RawMessage) ([]string, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var keys []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			return nil, err
		}
		keys = append(keys, fmt.Sprint(key))
	}
	return keys, nil
}

func parseSystemOne(body []byte) (Seen, error) {
	type question struct {
		Type         string            `json:"type"`
		Instructions string            `json:"instructions"`
		Criteria     map[string]string `json:"criteria"`
	}
	var req struct {
		Model     string          `json:"model"`
		State     any             `json:"state"`
		Questions json.RawMessage `json:"questions"`
		Assets    map[string]any  `json:"assets"`
		Images    []string        `json:"images"`
		Template  map[string]any  `json:"chat_template_kwargs"`
	}
	if err := strictly(body, &req); err != nil {
		return Seen{}, err
	}
	var questions map[string]question
	if err := strictly(req.Questions, &questions); err != nil {
		return Seen{}, err
	}
	keys, err := ordered(req.Questions)
	if err != nil {
		return Seen{}, err
	}
	seen := Seen{Data: req.State, Instructions: string(req.Questions)}
	for _, k := range keys {
		q := questions[k]
		if q.Type != "noul" || q.Instructions == "" || q.Criteria["true"] == "" || q.Criteria["false"] == "" || len(q.Criteria) != 2 {
			return Seen{}, fmt.Errorf("question %s: %+v", k, q)
		}
		seen.Questions = append(seen.Questions, Question{Key: k, Text: q.Instructions + "\n" + q.Criteria["true"] + "\n" + q.Criteria["false"]})
	}
	return seen, counted(seen, req.State != nil)
}

func counted(s Seen, hasData bool) error {
	if len(s.Questions) == 0 || !hasData {
		return fmt.Errorf("%d questions, data %v", len(s.Questions), hasData)
	}
	return nil
}

func writeSystemOne(questions []Question, answers []Answer) string {
	var parts []string
	for i, q := range questions {
		if !answers[i].Missing {
			parts = append(parts, systemOneNoul(q, answers[i]))
		}
	}
	return systemOneEnvelope(parts)
}

// systemOneNoul is the answer to a yes/no question, under its id.
func systemOneNoul(q Question, a Answer) string {
	if a.Refuse {
		return quoted(q.Key) + `:{"type":"refusal"}`
	}
	return fmt.Sprintf(`%s:{"type":"noul","noul":%s}`, quoted(q.Key), a.number())
}

func systemOneEnvelope(parts []string) string {
	return `{"model":"fake-judge-7","answers":{` + strings.Join(parts, ",") + `},"usage":{"input_tokens":300,"output_tokens":4}}`
}

func parseOpenAI(body []byte) (Seen, error) {
	var req struct {
		Model     string `json:"model"`
		Input     []any  `json:"input"`
		Questions []struct {
			Type         string `json:"type"`
			Name         string `json:"name"`
			Instructions string `json:"instructions"`
		} `json:"questions"`
	}
	if err := strictly(body, &req); err != nil {
		return Seen{}, err
	}
	seen := Seen{Data: req.Input}
	for _, q := range req.Questions {
		if q.Type != "predicate" || q.Name == "" || q.Instructions == "" {
			return Seen{}, fmt.Errorf("question %+v", q)
		}
		seen.Questions = append(seen.Questions, Question{Key: q.Name, Text: q.Instructions})
		seen.Instructions += q.Instructions + "\n"
	}
	if err := checkItems(req.Input); err != nil {
		return Seen{}, err
	}
	return seen, counted(seen, len(req.Input) > 0)
}

// checkItems holds items to the format: every output follows a call with its
// id, and only users send images.
func checkItems(items []any) error {
	open := map[string]bool{}
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return fmt.Errorf("item %d is no object", i)
		}
		id, _ := m["call_id"].(string)
		switch m["type"] {
		case "function_call":
			open[id] = true
		case "function_call_output":
			if !open[id] {
				return fmt.Errorf("item %d: output of call %q, which is not before it", i, id)
			}
			delete(open, id)
		case nil:
			if err := checkMessage(m); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		default:
			return fmt.Errorf("item %d: type %v", i, m["type"])
		}
	}
	return nil
}

func checkMessage(m map[string]any) error {
	allowed := map[any][]string{
		"user": {"input_text", "input_image", "input_json"}, "system": {"input_text"}, "developer": {"input_text"},
		"assistant": {"output_text", "refusal"},
	}[m["role"]]
	parts, _ := m["content"].([]any)
	if allowed == nil || len(parts) == 0 {
		return fmt.Errorf("role %v with %d parts", m["role"], len(parts))
	}
	for _, p := range parts {
		kind, _ := p.(map[string]any)["type"].(string)
		if !strings.Contains(" "+strings.Join(allowed, " ")+" ", " "+kind+" ") {
			return fmt.Errorf("role %v with a part of type %q", m["role"], kind)
		}
	}
	return nil
}

func writeOpenAI(questions []Question, answers []Answer) string {
	var parts []string
	for i, q := range questions {
		switch a := answers[i]; {
		case a.Missing:
		case a.Refuse:
			parts = append(parts, fmt.Sprintf(`{"type":"refusal","name":%q}`, q.Key))
		default:
			parts = append(parts, fmt.Sprintf(`{"type":"predicate","name":%q,"probability":%s}`, q.Key, a.number()))
		}
	}
	return `{"model":"fake-judge-7","answers":[` + strings.Join(parts, ",") + `],"usage":{"input_tokens":300,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":304}}`
}

func parseSGLang(body []byte) (Seen, error) {
	var req struct {
		Model     string `json:"model"`
		Input     string `json:"input"`
		Questions []struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Question string `json:"question"`
			Yes      string `json:"yes"`
			No       string `json:"no"`
		} `json:"questions"`
		Images   []string       `json:"images"`
		Template map[string]any `json:"chat_template_kwargs"`
	}
	if err := strictly(body, &req); err != nil {
		return Seen{}, err
	}
	var seen Seen
	if err := json.Unmarshal([]byte(req.Input), &seen.Data); err != nil {
		return Seen{}, fmt.Errorf("input: %w", err)
	}
	for _, q := range req.Questions {
		if q.ID == "" || q.Type != "yes_no" || q.Question == "" || q.Yes == "" || q.No == "" {
			return Seen{}, fmt.Errorf("question %+v", q)
		}
		seen.Questions = append(seen.Questions, Question{Key: q.ID, Text: q.Question + "\n" + q.Yes + "\n" + q.No})
		seen.Instructions += q.Question + "\n" + q.Yes + "\n" + q.No + "\n"
	}
	return seen, counted(seen, req.Input != "")
}

func writeSGLang(questions []Question, answers []Answer) string {
	var parts []string
	for i, q := range questions {
		switch a := answers[i]; {
		case a.Missing:
		case a.Refuse:
			parts = append(parts, fmt.Sprintf(`%q:{"type":"yes_no","probabilities":{"yes":0.5,"no":0.5},"label_mass":0.01}`, q.Key))
		default:
			parts = append(parts, fmt.Sprintf(`%q:{"type":"yes_no","probabilities":{"yes":%s,"no":%s},"label_mass":0.99}`,
				q.Key, a.number(), Answer{P: 1 - a.P}.number()))
		}
	}
	return `{"model":"fake-judge-7","prompt_format_version":1,"answers":{` + strings.Join(parts, ",") + `},"usage":{"prompt_tokens":300,"total_tokens":300}}`
}

func parseHTTP(body []byte) (Seen, error) {
	var req struct {
		Version   int    `json:"version"`
		Model     string `json:"model"`
		State     any    `json:"state"`
		Questions []struct {
			ID        string `json:"id"`
			Criterion string `json:"criterion"`
			Question  string `json:"question"`
			Statement string `json:"statement"`
			YesWhen   string `json:"yes_when"`
			NoWhen    string `json:"no_when"`
		} `json:"questions"`
	}
	if err := strictly(body, &req); err != nil {
		return Seen{}, err
	}
	seen := Seen{Data: req.State}
	for _, q := range req.Questions {
		if req.Version != 1 || q.ID == "" || q.Question == "" || q.Statement == "" || q.YesWhen == "" || q.NoWhen == "" {
			return Seen{}, fmt.Errorf("question %+v", q)
		}
		all := strings.Join([]string{q.Criterion, q.Question, q.Statement, q.YesWhen, q.NoWhen}, "\n")
		seen.Questions = append(seen.Questions, Question{Key: q.ID, Text: all})
		seen.Instructions += all + "\n"
	}
	return seen, counted(seen, req.State != nil)
}

func writeHTTP(questions []Question, answers []Answer) string {
	var parts []string
	for i, q := range questions {
		switch a := answers[i]; {
		case a.Missing:
		case a.Refuse:
			parts = append(parts, fmt.Sprintf(`%q:{"inconclusive":"will not say"}`, q.Key))
		default:
			parts = append(parts, fmt.Sprintf(`%q:{"probability":%s,"reason":%q}`, q.Key, a.number(), a.Reason))
		}
	}
	return `{"model":"fake-judge-7","answers":{` + strings.Join(parts, ",") + `},"usage":{"input_tokens":300,"output_tokens":4}}`
}

// logprob is the natural logarithm, with a number that means nothing at 0.
func logprob(p float64) float64 {
	if p <= 0 {
		return -9999
	}
	return math.Log(p)
}
