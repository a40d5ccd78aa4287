package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"docket/internal/wire"
)

// fieldCase is one pair of files under testdata/fieldcases/cases.
type fieldCase struct {
	name   string
	want   expectation
	status int
	header map[string]string
	body   []byte
}

type expectation struct {
	Input struct {
		File   string
		Format string
	}
	ClientClosesAfter int                          `json:"client_closes_after"`
	CaptureLimit      int                          `json:"capture_limit"`
	Path              string                       // of the request; by default that of the format
	Record            *wantRecord                  `json:"record"`
	RawUsage          json.RawMessage              `json:"raw_usage"`
	Request           *wantRequest                 `json:"request"`
	Accept            map[string][]json.RawMessage `json:"accept"`
	Soft              []string                     `json:"soft"`
	JSONEqual         []string                     `json:"json_equal"`
	Feed              struct{ Splits []int }       `json:"feed"`
}

type wantRecord struct {
	Reply        wantReply
	FinishReason *string `json:"finish_reason"`
	Usage        *wantUsage
	Error        *wantError
	Status       int
	Complete     bool
	Model        string
	TextSHA256   string `json:"reply_text_sha256"`
	TextChars    int    `json:"reply_text_chars"`
	Choices      []wantReply
}

type wantReply struct {
	Text      *string
	ToolCalls []wantCall `json:"tool_calls"`
	Refusal   *string
	Reasoning *string
}

type wantCall struct {
	ID        *string
	Name      string
	Arguments *string
}

type wantUsage struct {
	Prompt     *uint64 `json:"prompt_tokens"`
	Completion *uint64 `json:"completion_tokens"`
	Cached     *uint64 `json:"cached_tokens"`
	Reasoning  *uint64 `json:"reasoning_tokens"`
	Total      *uint64 `json:"total_tokens"`
}

type wantError struct{ Type, Message *string }

type wantRequest struct {
	Model     string
	Stream    bool
	Truncated bool
	Messages  []wantMessage
}

type wantMessage struct {
	Role       string
	Parts      []wantPart
	ToolCalls  []wantCall `json:"tool_calls"`
	ToolCallID *string    `json:"tool_call_id"`
}

type wantPart struct {
	Type      string
	Text      *string
	URL       string
	MediaType string `json:"media_type"`
	Detail    *string
	Bytes     int64
	Filename  string
}

func readCases(t testing.TB) []fieldCase {
	t.Helper()
	var cases []fieldCase
	const dir = "../../testdata/fieldcases/cases"
	files, err := filepath.Glob(filepath.Join(dir, "[AB]*.expect.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no field cases in %s (%v)", dir, err)
	}
	for _, file := range files {
		c := fieldCase{name: strings.TrimSuffix(filepath.Base(file), ".expect.json"), status: 200, header: map[string]string{}}
		if err := json.Unmarshal(read(t, file), &c.want); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		input := read(t, filepath.Join(dir, c.want.Input.File))
		switch ext := filepath.Ext(c.want.Input.File); {
		case ext == ".http":
			c.readHTTP(t, input)
		case ext == ".sse":
			c.body, c.header["content-type"] = input, "text/event-stream"
		case ext == ".ndjson":
			c.body, c.header["content-type"] = input, "application/x-ndjson"
		case c.want.Input.Format == "scenario":
			c.readScenario(t, input)
		default:
			c.body, c.header["content-type"] = input, "application/json"
		}
		cases = append(cases, c)
	}
	return cases
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (c *fieldCase) readHTTP(t testing.TB, raw []byte) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	c.status = resp.StatusCode
	for k := range resp.Header {
		c.header[strings.ToLower(k)] = resp.Header.Get(k)
	}
	c.body, _ = io.ReadAll(resp.Body) // a short body is part of some cases
}

// readScenario joins what the upstream of a scenario sends.
func (c *fieldCase) readScenario(t testing.TB, raw []byte) {
	t.Helper()
	var s struct {
		Steps []struct {
			Data  string
			Times int
		}
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	for _, step := range s.Steps {
		c.body = append(c.body, strings.Repeat(step.Data, max(step.Times, 1))...)
	}
	c.header["content-type"] = "text/event-stream"
}

// exchange builds the call around the case's bytes.
func (c fieldCase) exchange() wire.Exchange {
	path := c.want.Path
	if path == "" {
		path = map[string]string{
			"openai-chat-sse": "/v1/chat/completions", "openai-chat-json": "/v1/chat/completions", "openai-chat-request": "/v1/chat/completions",
			"openai-responses-sse": "/v1/responses", "openai-responses-json": "/v1/responses", "openai-responses-request": "/v1/responses",
			"anthropic-sse": "/v1/messages", "anthropic-json": "/v1/messages", "anthropic-request": "/v1/messages",
			"ollama-ndjson": "/api/chat", "ollama-json": "/api/chat", "ollama-request": "/api/chat",
			"gemini-sse": "/v1beta/models/g-1:streamGenerateContent", "gemini-json": "/v1beta/models/g-1:generateContent", "gemini-request": "/v1beta/models/g-1:generateContent",
			"scenario": "/v1/chat/completions",
		}[c.want.Input.Format]
	}
	x := wire.Exchange{Method: "POST", Path: path, Status: c.status, ResponseHeader: c.header, BodyEnded: true}
	if strings.HasSuffix(c.want.Input.Format, "-request") {
		x.Request = c.body
		if limit := c.want.CaptureLimit; limit > 0 && limit < len(c.body) {
			e := wire.NewElider(limit / 2)
			x.Request, x.RequestCut = e.Close(e.Append(nil, c.body)), true
		}
		return x
	}
	x.Request = []byte(`{"model":"m-small","messages":[{"role":"user","content":"hi"}]}`)
	x.Response = c.body
	if n := c.want.ClientClosesAfter; n > 0 {
		x.Response, x.BodyEnded = c.body[:n], false
	}
	return x
}
