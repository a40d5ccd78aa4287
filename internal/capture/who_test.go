package capture_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/capture"
	"docket/internal/record"
)

// who is what a row says about who calls and about what.
type who struct {
	Conversation, Source, User, Prompt, Version, Environment, Project string
	Tags                                                              []string
}

// whoOf records one call with headers ("Name: value"), a body and baggage.
func whoOf(t *testing.T, change func(*capture.Begin), body string, headers ...string) (who, record.Inference) {
	t.Helper()
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, func(c *capture.Config, _ *capture.Options) { c.Environment = "test" })
	c := jsonCall("/v1/chat/completions")
	if body != "" {
		c.request, c.begin.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		c.begin.Header.Add(name, value)
	}
	if change != nil {
		change(&c.begin)
	}
	play(t, r, c)
	drain(t, s, sink)
	inf, _ := sink.only()
	if inf.ConversationSource == record.ConversationHistory { // nobody named one
		inf.ConversationID, inf.ConversationSource = "", record.ConversationNone
	}
	return who{
		inf.ConversationID, inf.ConversationSource, inf.UserID, inf.PromptName, inf.PromptVersion, inf.Environment, inf.Project, inf.Tags,
	}, inf
}

func TestWho(t *testing.T) {
	const chat = `{"model":"m","messages":[{"role":"user","content":"hi"}],%s}`
	baggage := func(kv ...string) func(*capture.Begin) {
		return func(b *capture.Begin) {
			b.Baggage = map[string]string{}
			for i := 0; i < len(kv); i += 2 {
				b.Baggage[kv[i]] = kv[i+1]
			}
		}
	}
	header, body := record.ConversationHeader, record.ConversationBody
	for name, c := range map[string]struct {
		headers []string
		body    string
		change  func(*capture.Begin)
		want    who
	}{
		"Helicone": {
			headers: []string{"Helicone-Session-Id: s1", "Helicone-User-Id: u1", "Helicone-Prompt-Id: p1", "Helicone-Property-Environment: prod", "Helicone-Property-Project: shop"},
			want:    who{"s1", header, "u1", "p1", "", "prod", "shop", nil},
		},
		"LiteLLM": {
			headers: []string{"x-litellm-session-id: s2", "x-litellm-end-user-id: u2", "x-litellm-tags: a, b", `x-litellm-spend-logs-metadata: {"project_id":"shop","env":"dev"}`},
			want:    who{"s2", header, "u2", "", "", "dev", "shop", []string{"a", "b"}},
		},
		"LiteLLM's metadata": {
			body: `"metadata":{"tags":["a","b"],"user_id":"u3","session_id":"s3","prompt_version":7}`,
			want: who{"s3", body, "u3", "", "7", "test", "default", []string{"a", "b"}},
		},
		"Langfuse by way of headers": {
			headers: []string{"langfuse_session_id: s4", "langfuse_trace_user_id: u4", `langfuse_tags: ["a","b c"]`},
			want:    who{"s4", header, "u4", "", "", "test", "default", []string{"a", "b c"}},
		},
		"Portkey": {
			headers: []string{`x-portkey-metadata: {"_user":"u5","environment":"prod","session":"no","promptName":"p5","tags":["x"]}`},
			want:    who{"", record.ConversationNone, "u5", "p5", "", "prod", "default", []string{"x"}},
		},
		"Cloudflare": {
			headers: []string{`cf-aig-metadata: {"user":12345,"conversationId":"c6","test":true}`},
			want:    who{"c6", header, "12345", "", "", "test", "default", nil},
		},
		"Open WebUI": {
			headers: []string{"X-OpenWebUI-Chat-Id: c7", "X-OpenWebUI-User-Id: u7"},
			want:    who{"c7", header, "u7", "", "", "test", "default", nil},
		},
		"baggage": {
			change: baggage("session.id", "s8", "user.id", "u8", "deployment.environment.name", "prod", "project", "shop", "prompt.name", "p8", "prompt.version", "2", "tags", "a,b"),
			want:   who{"s8", header, "u8", "p8", "2", "prod", "shop", []string{"a", "b"}},
		},
		"ours before all others": {
			headers: []string{
				"Docket-Conversation-Id: mine", "Docket-User: me", "Docket-Prompt-Name: p", "Docket-Prompt-Version: 1", "Docket-Environment: e", "Docket-Project: pr", "Docket-Tags: t",
				"Helicone-Session-Id: s", "Helicone-User-Id: u", "Helicone-Prompt-Id: q", `x-portkey-metadata: {"environment":"x","project":"x","prompt_version":"x"}`,
			},
			body:   `"user":"x","metadata":{"session_id":"x","user_id":"x","tags":["x"]}`,
			change: baggage("session.id", "x", "project", "x"),
			want:   who{"mine", header, "me", "p", "1", "e", "pr", []string{"t"}},
		},
		"the API's own before metadata, metadata before baggage": {
			body:   `"user":"own","metadata":{"user_id":"m","session_id":"m","environment":"m"}`,
			change: baggage("user.id", "b", "session.id", "b", "environment", "b", "project", "b"),
			want:   who{"m", body, "own", "", "", "m", "b", nil},
		},
		"Docket-Metadata": {
			headers: []string{"Docket-Metadata-User-Id: u9", "Docket-Metadata-Project: shop", `x-portkey-metadata: {"user-id":"x"}`},
			want:    who{"", record.ConversationNone, "u9", "", "", "test", "shop", nil},
		},
		"a key's project before all others": {
			headers: []string{"Docket-Project: x", "Docket-Metadata-Project: x"}, body: `"metadata":{"project":"x"}`,
			change: func(b *capture.Begin) { b.Project, b.Key = "team", "key" },
			want:   who{"", record.ConversationNone, "", "", "", "test", "team", nil},
		},
		"no JSON": {
			headers: []string{`x-portkey-metadata: {"user_id":`, `cf-aig-metadata: ["user_id"]`, `langfuse_tags: ["a`},
			want:    who{"", record.ConversationNone, "", "", "", "test", "default", []string{`["a`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.body != "" {
				c.body = fmt.Sprintf(chat, c.body)
			}
			got, _ := whoOf(t, c.change, c.body, c.headers...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPromptOfResponses: the API names the prompt template itself.
func TestPromptOfResponses(t *testing.T) {
	got, _ := whoOf(t, func(b *capture.Begin) { b.Path, b.UpstreamPath = "/v1/responses", "/v1/responses" },
		`{"model":"m","input":"hi","prompt":{"id":"pmpt_1","version":"3"},"metadata":{"prompt_name":"x"}}`)
	if got.Prompt != "pmpt_1" || got.Version != "3" {
		t.Errorf("prompt %q, version %q", got.Prompt, got.Version)
	}
}

// TestWhoIsBounded: no header, list or object makes a row large.
func TestWhoIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 10_000)
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf(`"f%03d":"%d"`, i, i))
	}
	got, inf := whoOf(t, nil, "", "langfuse_session_id: "+long, "Helicone-User-Id: "+long, "Helicone-Prompt-Id: "+long,
		"langfuse_tags: "+strings.Repeat("t", 5000)+strings.Repeat(",u", 10)+manyTags(), "x-portkey-metadata: {"+strings.Join(many, ",")+"}",
		`cf-aig-metadata: {"long":"`+long+`"}`, "Docket-Metadata-"+strings.Repeat("N", 10_000)+": v")
	for what, v := range map[string]string{"conversation": got.Conversation, "user": got.User, "prompt": got.Prompt, "tag": got.Tags[0]} {
		if len(v) != 256 {
			t.Errorf("%s has %d bytes", what, len(v))
		}
	}
	if len(got.Tags) != 32 {
		t.Errorf("%d tags", len(got.Tags))
	}
	n := 0
	for name, v := range inf.Attributes {
		if strings.HasPrefix(name, "metadata.") {
			n++
		}
		if len(v) > 256 || len(name) > 256+len("metadata.") || name == "metadata.long" {
			t.Errorf("%s has %d bytes", name, len(v))
		}
	}
	if n != 32 || inf.Attributes["metadata.f030"] != "30" {
		t.Errorf("%d metadata fields: %v", n, inf.Attributes)
	}
}

func manyTags() string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, ",tag%d", i)
	}
	return b.String()
}

func TestWhoErrors(t *testing.T) {
	for want, change := range map[string]func(*capture.Config){
		`"a b"`: func(c *capture.Config) { c.TagHeaders = []string{"a b"} },
		`""`:    func(c *capture.Config) { c.UserIDs = []string{""} },
		`"X-*"`: func(c *capture.Config) { c.Projects = []string{"X-*"} },
		`"*"`:   func(c *capture.Config) { c.MetadataHeaders = []string{"*"} },
	} {
		c := capture.DefaultConfig()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s in it", err, want)
		}
	}
}

// TestOwnHeaderNames: the settings choose which headers say what.
func TestOwnHeaderNames(t *testing.T) {
	s, sink := newMemSpool(), newMemSink(t)
	r := newRecorder(t, s, func(c *capture.Config, _ *capture.Options) {
		c.Environments, c.Projects, c.PromptVersions, c.MetadataHeaders = []string{"x-env"}, []string{"x-team"}, []string{"x-prompt-rev"}, []string{"X-Meta-*"}
	})
	c := jsonCall("/v1/chat/completions")
	c.begin.Header = http.Header{
		"X-Env": {"e"}, "X-Team": {"t"}, "X-Prompt-Rev": {"4"}, "X-Meta-Region": {"eu"}, "X-Portkey-Metadata": {`{"a":"b"}`}, "Docket-Metadata-Own": {"o"},
	}
	play(t, r, c)
	drain(t, s, sink)
	inf, _ := sink.only()
	got := []string{inf.Environment, inf.Project, inf.PromptVersion, inf.Attributes["metadata.region"], inf.Attributes["metadata.own"], inf.Attributes["metadata.a"]}
	if diff := cmp.Diff([]string{"e", "t", "4", "eu", "o", ""}, got); diff != "" {
		t.Error(diff)
	}
}

// TestReportedCost: OpenRouter's own bill is the cost of its calls.
func TestReportedCost(t *testing.T) {
	for name, c := range map[string]struct {
		provider, usage string
		want            uint64
		version         string
	}{
		"reported":       {"openrouter", `"cost":0.00001425,`, 14250, "reported"},
		"free":           {"openrouter", `"cost":0,`, 0, "reported"},
		"own key":        {"openrouter", `"cost":0.5,"is_byok":true,`, 0, ""},
		"nothing":        {"openrouter", ``, 0, ""},
		"no number":      {"openrouter", `"cost":"1",`, 0, ""},
		"negative":       {"openrouter", `"cost":-1,`, 0, ""},
		"other provider": {"acme", `"cost":0.5,`, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, sink := newMemSpool(), newMemSink(t)
			r := newRecorder(t, s, nil)
			call := jsonCall("/api/v1/chat/completions")
			call.begin.Provider = c.provider
			call.chunks = []string{strings.Replace(chatAnswer, `"usage":{`, `"usage":{`+c.usage, 1)}
			call.length = -1
			play(t, r, call)
			drain(t, s, sink)
			inf, _ := sink.only()
			if inf.PriceVersion != c.version || (inf.CostNanoUSD == nil) != (c.version == "") || inf.CostNanoUSD != nil && *inf.CostNanoUSD != c.want {
				t.Errorf("cost %v of %q", inf.CostNanoUSD, inf.PriceVersion)
			}
		})
	}
}
