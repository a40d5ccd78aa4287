package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"docket/internal/record"
)

func templateFuncs() template.FuncMap {
	return template.FuncMap{
		"deref":    deref,
		"duration": formatDuration,
		"when":     func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") },
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"usd":      formatUSD,
		"tokens":   formatTokens,
		"joined":   joinDistinct,
		"ended":    ended,
		"pretty":   prettyJSON,
		"size":     func(n uint64) string { return formatSize(int64(n)) },
		"partsize": formatSize,
		"about":    conversationLink,
		"line":     record.Verdict.Line,
		"text":     func(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") },
		"score":    func(p *float64) string { return fmt.Sprintf("%.3f", *p) },
		"flag":     func(b *bool) bool { return b != nil && *b },
		"mark":     feedbackMark,
		"states":   func() []string { return terminalStates },
		"outcomes": func() []string { return outcomes },
	}
}

// conversationLink is the page of a conversation. A browser takes the ids "."
// and ".." for steps of a path, however they are escaped: their calls are listed.
func conversationLink(id string) string {
	if id == "." || id == ".." {
		return "/?conversation_id=" + id
	}
	return "/conversations/" + url.PathEscape(id)
}

// maxPreview is how many characters of a message the list shows.
const maxPreview = 160

// asked previews the last user message.
func asked(input []record.Message) string {
	for i := len(input) - 1; i >= 0; i-- {
		if input[i].Role == "user" {
			return preview(input[i])
		}
	}
	if len(input) > 0 {
		return preview(input[len(input)-1])
	}
	return ""
}

func replied(output []record.Message) string {
	if len(output) == 0 {
		return ""
	}
	return preview(output[0])
}

// preview shortens a message to one line. Parts that are not text are named.
func preview(m record.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if b.Len() > 4*maxPreview {
			break
		}
		switch p.Type {
		case record.PartText, record.PartRefusal:
			b.WriteString(p.Content[:min(len(p.Content), 4*maxPreview)])
		case record.PartToolCall:
			args := deref(p.Arguments)
			fmt.Fprintf(&b, "%s(%s)", p.Name, args[:min(len(args), 4*maxPreview)])
		case record.PartToolCallResponse:
			resp := deref(p.Response)
			b.WriteString("→ " + resp[:min(len(resp), 4*maxPreview)])
		case record.PartReasoning:
		default:
			b.WriteString("[" + p.Modality + "]")
		}
		b.WriteByte(' ')
	}
	s := strings.Join(strings.Fields(strings.ToValidUTF8(b.String(), "")), " ")
	if utf8.RuneCountInString(s) <= maxPreview {
		return s
	}
	return string([]rune(s)[:maxPreview]) + "…"
}

func formatDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// ended says how a call ended. An error of the upstream can arrive whole, but a
// reader should not see it called complete.
func ended(state string, status uint16) string {
	if state == record.StateComplete && status >= 400 {
		return "error"
	}
	return state
}

// joinDistinct puts names side by side, and each only once: a rule is its own
// backend, model and method.
func joinDistinct(names ...string) string {
	var out []string
	for _, name := range names {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, " · ")
}

func formatUSD(nano *uint64) string {
	switch {
	case nano == nil:
		return ""
	case *nano == 0:
		return "$0"
	}
	return fmt.Sprintf("$%.6f", float64(*nano)/1e9)
}

// formatTokens prints the whole input and output, or nothing when the provider
// reported neither.
func formatTokens(u record.Usage) string {
	v := newUsageView(u)
	if v == nil {
		return ""
	}
	part := func(n *uint64) string {
		if n == nil {
			return "?"
		}
		return fmt.Sprint(*n)
	}
	return part(v.PromptTokens) + " → " + part(v.CompletionTokens)
}

func formatSize(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// prettyJSON indents JSON and leaves everything else as it is.
func prettyJSON(s string) string {
	var buf bytes.Buffer
	if json.Indent(&buf, []byte(s), "", "  ") != nil {
		return s
	}
	return buf.String()
}
