package proxy

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// shapeOf is the API in whose form a client expects errors: the path says it,
// else the route.
func shapeOf(api, path string) string {
	switch {
	case strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, "/messages/count_tokens"):
		return apiAnthropic
	case strings.Contains(path, "/openai/"), strings.HasSuffix(path, "/chat/completions"),
		strings.HasSuffix(path, "/responses"), strings.HasSuffix(path, "/embeddings"):
		return apiOpenAI
	case strings.Contains(path, ":generateContent"), strings.Contains(path, ":streamGenerateContent"):
		return apiGemini
	case strings.HasSuffix(path, "/api/chat"), strings.HasSuffix(path, "/api/generate"):
		return apiOllama
	}
	return api
}

// unauthorized answers a request without a known gateway key.
func unauthorized(w http.ResponseWriter, shape, code, message string) {
	var body any
	switch shape {
	case apiAnthropic:
		body = map[string]any{"type": "error", "error": map[string]any{"type": "authentication_error", "message": message}}
	case apiGemini:
		body = map[string]any{"error": map[string]any{"code": http.StatusUnauthorized, "message": message, "status": "UNAUTHENTICATED"}}
	case apiOllama:
		body = map[string]any{"error": message}
	default:
		body = map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": code}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings
	}
	h := w.Header()
	clear(h)
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Www-Authenticate", "Bearer")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write(text) // the client may be gone
}
