package wire

import "strings"

// Names of the APIs that are understood.
const (
	APIChat        = "openai.chat"
	APIResponses   = "openai.responses"
	APICompletions = "openai.completions"
	APIEmbeddings  = "openai.embeddings"
	APIModerations = "openai.moderations"
	APIDecisions   = "openai.decisions"
	APIMessages    = "anthropic.messages"
	APIOllamaChat  = "ollama.chat"
	APIOllamaGen   = "ollama.generate"
	APIOllamaEmbed = "ollama.embed"
	APIGemini      = "gemini.generate"
	APIGeminiEmbed = "gemini.embed"
	APISystemOne   = "systemone"
)

// Operations, as in gen_ai.operation.name, and two of our own.
const (
	opChat       = "chat"
	opGenerate   = "generate_content"
	opCompletion = "text_completion"
	opEmbeddings = "embeddings"
	opModeration = "moderation"
	opDecision   = "decision"
)

// Roles of the normal form.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// format is how one API is read. The zero format is opaque.
type format struct {
	suffix    string // of the path
	api       string
	operation string
	provider  string
	request   func(v value, d *Decoded)
	response  func(v value, r *reply)              // a JSON answer
	event     func(name string, v value, r *reply) // an event or line of a stream; nil: response
	scan      func(c *cursor, r *reply) bool       // the same in one pass, instead of event
}

// formats returns the table of APIs. The first whose suffix fits a path wins.
func formats() []format {
	return []format{
		{suffix: "/chat/completions", api: APIChat, operation: opChat, provider: "openai", request: chatRequest, response: chatResponse, scan: chatScan},
		{suffix: "/responses", api: APIResponses, operation: opChat, provider: "openai", request: responsesRequest, response: responsesResponse, event: responsesEvent},
		{suffix: "/messages", api: APIMessages, operation: opChat, provider: "anthropic", request: messagesRequest, response: messagesResponse, event: messagesEvent},
		{suffix: "/api/chat", api: APIOllamaChat, operation: opChat, provider: "ollama", request: ollamaRequest, response: ollamaResponse, event: ollamaEvent},
		{suffix: "/api/generate", api: APIOllamaGen, operation: opCompletion, provider: "ollama", request: ollamaRequest, response: ollamaResponse, event: ollamaEvent},
	}
}

// formatOf finds the API that a call speaks by its path. Calls that are no
// POST list or fetch things, and are opaque.
func formatOf(method, path string) format {
	if method != "POST" {
		return format{}
	}
	path = strings.TrimRight(path, "/")
	for _, f := range formats() {
		if strings.HasSuffix(path, f.suffix) {
			return f
		}
	}
	return format{}
}

// provider returns the provider's name as far as format, path and headers tell.
func provider(f format, x Exchange) string {
	if strings.Contains(x.Path, "/openai/deployments/") || x.ResponseHeader["x-ms-region"] != "" && f.provider == "openai" {
		return "azure.ai.openai"
	}
	return f.provider
}

// modelInPath returns the model that a path names, as in
// /openai/deployments/NAME/chat/completions and /models/NAME:generateContent.
func modelInPath(path string) string {
	for _, dir := range []string{"/deployments/", "/models/"} {
		if _, rest, ok := strings.Cut(path, dir); ok {
			name, _, _ := strings.Cut(rest, "/")
			name, _, _ = strings.Cut(name, ":")
			return strings.ToValidUTF8(name, "\uFFFD")
		}
	}
	return ""
}
