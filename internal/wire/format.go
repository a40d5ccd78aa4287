package wire

import (
	"net/url"
	"strings"
)

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
func formats() [18]format {
	return [...]format{
		{suffix: "/chat/completions", api: APIChat, operation: opChat, provider: "openai", request: chatRequest, response: chatResponse, scan: chatScan},
		{suffix: "/responses", api: APIResponses, operation: opChat, provider: "openai", request: responsesRequest, response: responsesResponse, event: responsesEvent},
		{suffix: "/messages", api: APIMessages, operation: opChat, provider: "anthropic", request: messagesRequest, response: messagesResponse, event: messagesEvent},
		{suffix: ":rawPredict", api: APIMessages, operation: opChat, provider: "gcp.vertex_ai", request: messagesRequest, response: messagesResponse, event: messagesEvent},
		{suffix: ":streamRawPredict", api: APIMessages, operation: opChat, provider: "gcp.vertex_ai", request: messagesRequest, response: messagesResponse, event: messagesEvent},
		{suffix: "/completions", api: APICompletions, operation: opCompletion, provider: "openai", request: completionsRequest, response: chatResponse, scan: chatScan},
		{suffix: "/api/embeddings", api: APIOllamaEmbed, operation: opEmbeddings, provider: "ollama", request: embeddingsRequest, response: embeddingsResponse},
		{suffix: "/embeddings", api: APIEmbeddings, operation: opEmbeddings, provider: "openai", request: embeddingsRequest, response: embeddingsResponse},
		{suffix: "/moderations", api: APIModerations, operation: opModeration, provider: "openai", request: moderationsRequest, response: moderationsResponse},
		{suffix: "/api/chat", api: APIOllamaChat, operation: opChat, provider: "ollama", request: ollamaRequest, response: ollamaResponse, event: ollamaEvent},
		{suffix: "/api/generate", api: APIOllamaGen, operation: opCompletion, provider: "ollama", request: ollamaRequest, response: ollamaResponse, event: ollamaEvent},
		{suffix: "/api/embed", api: APIOllamaEmbed, operation: opEmbeddings, provider: "ollama", request: embeddingsRequest, response: embeddingsResponse},
		{suffix: ":generateContent", api: APIGemini, operation: opGenerate, provider: "gcp.gemini", request: geminiRequest, response: geminiResponse, event: geminiEvent},
		{suffix: ":streamGenerateContent", api: APIGemini, operation: opGenerate, provider: "gcp.gemini", request: geminiRequest, response: geminiResponse, event: geminiEvent},
		{suffix: ":embedContent", api: APIGeminiEmbed, operation: opEmbeddings, provider: "gcp.gemini", request: geminiEmbedRequest, response: embeddingsResponse},
		{suffix: ":batchEmbedContents", api: APIGeminiEmbed, operation: opEmbeddings, provider: "gcp.gemini", request: geminiEmbedRequest, response: embeddingsResponse},
		{suffix: "/systemone", api: APISystemOne, operation: opDecision, request: decisionRequest, response: decisionResponse},
		{suffix: "/decisions", api: APIDecisions, operation: opDecision, request: decisionRequest, response: decisionResponse},
	}
}

// formatOf finds the API that a call speaks by its path. Calls that are no
// POST list or fetch things, and are opaque; so are those of OpenAI's threads,
// whose paths end like those of other APIs.
func formatOf(method, path string) format {
	if method != "POST" || strings.Contains(path, "/threads/") {
		return format{}
	}
	path = strings.TrimRight(path, "/")
	table := formats()
	for i := range table {
		if strings.HasSuffix(path, table[i].suffix) {
			return table[i]
		}
	}
	return format{}
}

// formatNamed returns the format of an API.
func formatNamed(api string) format {
	table := formats()
	for i := range table {
		if table[i].api == api {
			return table[i]
		}
	}
	return format{}
}

// shapeOf returns the chat API that an answer, or the first event of one, has
// the shape of, "" when that is not plain. Gateways answer one API with the
// bytes of another; the bytes decide.
func shapeOf(v value) string {
	kind := v.get("type").text()
	switch object := v.get("object").text(); {
	case strings.HasPrefix(object, "chat.completion"):
		return APIChat
	case object == "response", strings.HasPrefix(kind, "response."):
		return APIResponses
	case kind == "message", kind == "message_start", strings.HasPrefix(kind, "content_block_"):
		return APIMessages
	case v.get("candidates").isArray():
		return APIGemini
	case v.get("done").boolean() != nil && v.get("message").isObject():
		return APIOllamaChat
	}
	return ""
}

// provider returns the provider's name as far as format, path and headers tell.
func provider(f format, x Exchange) string {
	switch {
	case f.provider == "openai" && (strings.Contains(x.Path, "/openai/deployments/") || x.ResponseHeader["x-ms-region"] != ""):
		return "azure.ai.openai"
	case f.provider == "gcp.gemini" && strings.Contains(x.Path, "/projects/"):
		return "gcp.vertex_ai"
	case f.api == APIDecisions && x.API == "openai":
		return "openai"
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
			if plain, err := url.PathUnescape(name); err == nil {
				name = plain
			}
			return strings.ToValidUTF8(name, "\uFFFD")
		}
	}
	return ""
}
