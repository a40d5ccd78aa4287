package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"docket/e2e/program"
)

// redaction is added to the settings of the test.
const redaction = `
  span_content: true
  redact:
    hmac_key: fake-key-of-tests-1
    rules:
      - {pattern: email, action: hmac}
      - {pattern: card}
      - {pattern: iban}
      - {pattern: phone}
      - {pattern: api_key}
      - {path: "$..account", name: account, action: drop}
`

// private are values with two parts of each that are searched for.
func private() []canary {
	id := newTraceID()
	return []canary{
		{"an e-mail address", "canary" + id[:10], id[:10] + ".example"},
		{"a card", "4111 1111", "1111 1111"},
		{"an IBAN", "DE89 3704", "0532 0130"},
		{"a telephone number", "5550 1234", "+49 30 55"},
		{"a key", "sk-proj-" + id[10:20], id[20:]},
		{"an account", "account" + id[:8], "account" + id[:8]},
	}
}

// tell is a sentence with all of them but the account.
func tell(values []canary) string {
	return fmt.Sprintf("I am %s@%s.com, card %s %s, account %s 0044 %s 00, phone +49 30 %s, key %s-x1-%s.", values[0].first, values[0].second,
		values[1].first, values[1].second, values[2].first, values[2].second, values[3].first, values[4].first, values[4].second)
}

// talkative is an upstream that repeats the sentence: in a stream, some
// characters at a time, or in an error.
func talkative(t *testing.T, sentence string) *upstream {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if strings.Contains(string(body), "fail") {
			answer(w, http.StatusBadRequest, problem("invalid_request_error", sentence))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := sentence; rest != ""; {
			n := min(3, len(rest))
			text, _ := json.Marshal(rest[:n]) // a string
			fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-p\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text)
			_ = http.NewResponseController(w).Flush() // the client sees what is missing
			rest = rest[n:]
		}
		_, _ = io.WriteString(w, "data: {\"id\":\"chatcmpl-p\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n") // likewise
	}))
	t.Cleanup(s.Close)
	return &upstream{Server: s}
}

// confide sends a chat request whose content has the sentence in it, escaped in part,
// and returns the trace id and the answer.
func confide(t *testing.T, r *rig, values []canary, word string) (traceID, reply string) {
	t.Helper()
	sentence := tell(values)
	content, _ := json.Marshal(word + ": " + sentence) // a string
	text := strings.ReplaceAll(string(content), "@", `\u0040`)
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":` + text + `}],"metadata":{"account":"` + values[5].first + `"}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.base()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	traceID = newTraceID()
	req.Header.Set("Traceparent", "00-"+traceID+"-"+callerSpan+"-01")
	for _, name := range []string{"Docket-User", "Docket-Tags", "Docket-Sources", "Docket-Metadata-Who", "User-Agent"} {
		req.Header.Set(name, sentence)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return traceID, string(got)
}

// TestPrivacy: what the rules name is in no table, on no page, in no span and in
// no file; the client gets it unchanged. Files of the spool are searched when the
// proxy has stopped.
func TestPrivacy(t *testing.T) {
	r, otlp, values := newRig(t), newCollector(t), private()
	r.upstream = talkative(t, tell(values))
	with := strings.Replace(settings, "capture:", "capture:"+strings.TrimRight(redaction, "\n"), 1)
	if err := os.WriteFile(filepath.Join(r.dir, "docket.yaml"), []byte(with), 0o600); err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+otlp.URL)
	r.startEngine()
	r.startProxy()
	r.startEvaluator()

	streamed, reply := confide(t, r, values, "stream")
	failed, refusal := confide(t, r, values, "fail")
	if !strings.Contains(reply, `"content":"I a"`) || !strings.Contains(refusal, values[0].first) {
		t.Errorf("the client must get all of it: %s and %s", reply, refusal)
	}
	r.drained()
	said := r.only(t, streamed)
	var detail struct {
		Reply struct {
			Text string `json:"text"`
		} `json:"reply"`
	}
	r.read(t, "/inferences/"+said.ID, nil, &detail)
	if text := detail.Reply.Text; !strings.HasPrefix(text, "I am [hmac:email:") || !strings.HasSuffix(text, "], card [redacted:card], account [redacted:iban], phone [redacted:phone], key [redacted:api_key].") {
		t.Errorf("the reply is %q", text)
	}
	program.Await(t, "spans over OTLP", time.Minute, func() bool { return strings.Contains(otlp.text(), "[redacted:card]") })
	program.Await(t, "the verdicts", time.Minute, func() bool { return len(r.verdicts(t, map[string][]string{"trace_id": {streamed}})) > 0 })

	searchTables(t, r, values)
	search(t, values, "spans over OTLP", otlp.text())
	for what, address := range map[string]string{
		"page": "http://" + r.apiAddr + "/", "call": "http://" + r.apiAddr + "/inferences/" + said.ID, "detail": "http://" + r.apiAddr + "/api/v1/inferences/" + said.ID,
		"error": "http://" + r.apiAddr + "/api/v1/inferences/" + r.only(t, failed).ID, "metrics": "http://" + r.opsAddr + "/metrics",
	} {
		body, err := fetch(address)
		if err != nil {
			t.Fatal(err)
		}
		search(t, values, what, body)
		if (what == "call" || what == "detail") && !strings.Contains(body, "masked") {
			t.Errorf("the %s does not say that something was redacted", what)
		}
	}
	r.proxy.Stop()
	search(t, values, "log of the proxy", r.proxy.Log())
	searchFiles(t, values, r.dir)
}
