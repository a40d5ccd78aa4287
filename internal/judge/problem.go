package judge

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"docket/internal/record"
)

// statusReason maps an error answer to a reason.
func statusReason(a answered) string {
	switch {
	case a.status == http.StatusTooManyRequests:
		return record.ReasonRateLimited
	case a.status == http.StatusRequestEntityTooLarge:
		return record.ReasonContextOverflow
	case a.status == http.StatusRequestTimeout || a.status == http.StatusGatewayTimeout:
		return record.ReasonTimeout
	case a.status < 500 && tooLong(string(a.body)):
		return record.ReasonContextOverflow
	case a.status < 500 && filtered(string(a.body)):
		return record.ReasonRefused
	}
	return record.ReasonJudgeError
}

// tooLong knows how servers say that the prompt does not fit.
func tooLong(body string) bool {
	body = strings.ToLower(body)
	for _, s := range []string{
		"context_length_exceeded", "max_tokens_exceeded", "maximum context length", "context length", "context window",
		"prompt is too long", "input is too long", "too many tokens", "exceeds the available context", "exceed_context_size",
		"string_above_max_length", "request too large", "longer than the maximum model length",
	} {
		if strings.Contains(body, s) {
			return true
		}
	}
	return false
}

func filtered(body string) bool {
	body = strings.ToLower(body)
	return strings.Contains(body, "content_filter") || strings.Contains(body, "content_policy_violation")
}

// errorText finds the message in the shapes that servers give errors.
func errorText(body []byte) string {
	if !json.Valid(body) {
		return plainError(string(body))
	}
	doc := gjson.ParseBytes(body)
	for _, path := range []string{
		"error.message", "detail.message", "detail.error_type", "detail.0.msg", "detail", "error", "message", "errors.0.message", "error.code",
	} {
		if v := doc.Get(path); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return plainError(string(body))
}

// plainError is a body that is not JSON; of an HTML page only that it is one.
func plainError(s string) string {
	if s = strings.TrimSpace(s); strings.HasPrefix(s, "<") {
		return "a page of HTML"
	}
	return s
}
