package judge_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

func TestRule36ReasonAfterwards(t *testing.T) {
	decider, writer := judgetest.NewServer(t, formatNamed(t, "systemone")), judgetest.NewServer(t, formatNamed(t, "chat-structured"))
	decider.Answer(judgetest.By(0.9, 0.2, 0.1))
	writer.Next(
		judgetest.Response{Status: 200, Body: chatBody(`{"reason":"It names 4.50, but says nothing was refunded."}`)},
		judgetest.Response{Status: 500}, judgetest.Response{Status: 500}, judgetest.Response{Status: 500},
	)
	r := three()
	r.Backend, r.Reasons, r.ReasonsBackend = "decider", judge.ReasonsOnFail, "writer"
	j := judgetest.NewOf(t, map[string]judge.BackendConfig{"decider": decider.Backend(), "writer": writer.Backend()}, r, nil)
	got := j.Judge(t.Context(), "r", judgetest.Unit())
	if len(got.Calls) != 3 || got.Outcome != record.OutcomeFail || math.Abs(*got.Score-0.4) > 1e-12 {
		t.Errorf("%d calls, %s, score %v: a reason changes nothing", len(got.Calls), got.Outcome, *got.Score)
	}
	v := got.Verdicts[1]
	if v.Detail != "It names 4.50, but says nothing was refunded." || !slices.Contains(v.Flags, judge.FlagReasonAfter) || *v.Probability != 0.2 || v.Method != record.MethodDecision {
		t.Errorf("verdict %+v", v)
	}
	if v := got.Verdicts[2]; v.Outcome != record.OutcomeFail || v.Detail != "" || len(v.Flags) != 0 {
		t.Errorf("verdict without a sentence %+v", v)
	}
	if v := got.Verdicts[0]; v.Detail != "" {
		t.Errorf("a criterion that passed was asked about: %q", v.Detail)
	}
	system := writer.Seen()[0].Instructions
	if !strings.Contains(system, "does not meet the criterion") || strings.Contains(system, "score: a number") {
		t.Errorf("system message: %s", system)
	}
	r.ReasonsBackend = ""
	wantError(t, newWith(r), "backend")
	r.Backend = ""
	wantError(t, newWith(r), "reasons_backend", "format chat")
	// A score with its reason needs no second question.
	got, seen := ask(t, "chat-structured", first(), judgetest.Unit(), func(judgetest.Question) judgetest.Answer {
		return judgetest.Answer{P: 0.2, Reason: "No\napology."}
	})
	if got.Verdicts[0].Detail != "No apology." || len(seen) != 1 {
		t.Errorf("%q after %d requests", got.Verdicts[0].Detail, len(seen))
	}
}

func chatBody(content string) string {
	text, _ := json.Marshal(content)
	return fmt.Sprintf(`{"model":"fake-judge-7","choices":[{"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`, text)
}

func TestRule37ResultLine(t *testing.T) {
	got, _ := ask(t, "chat-structured", first(), judgetest.Unit(), func(judgetest.Question) judgetest.Answer {
		return judgetest.Answer{P: 0.9, Reason: "apologises for the bulb"}
	})
	want := "PASS judge: The reply says sorry: scored 0.90, needed 0.50 — apologises for the bulb"
	if line := got.Verdicts[0].Line(); line != want {
		t.Errorf("%q, want %q", line, want)
	}
	got, _ = ask(t, "systemone", first(), judgetest.Unit(), func(judgetest.Question) judgetest.Answer { return judgetest.Answer{Refuse: true} })
	if line := got.Verdicts[0].Line(); !strings.HasPrefix(line, "INCONCLUSIVE judge: The reply says sorry: refused") {
		t.Errorf("%q", line)
	}
}

// A score may differ between runs over the same reply. Another run gives the
// same verdict id, so it replaces the first and is not counted twice.
func TestRule38ScoresDifferBetweenRuns(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	j := judgetest.New(t, s.Backend(), three(), nil)
	a := j.Judge(t.Context(), "r", judgetest.Unit())
	s.Answer(always(0.3))
	b := j.Judge(t.Context(), "r", judgetest.Unit())
	if a.Outcome == b.Outcome || a.RunID == b.RunID {
		t.Errorf("runs %+v and %+v", a, b)
	}
	for i := range a.Verdicts {
		if a.Verdicts[i].ID != b.Verdicts[i].ID {
			t.Errorf("verdict %d has ids %s and %s", i, a.Verdicts[i].ID, b.Verdicts[i].ID)
		}
	}
	if diff := cmp.Diff(j.VerdictIDs("r", judgetest.Unit()), []string{a.Verdicts[0].ID, a.Verdicts[1].ID, a.Verdicts[2].ID}); diff != "" {
		t.Errorf("ids known beforehand differ: %s", diff)
	}
}

// docSays looks for words in the package's documentation.
func docSays(t *testing.T, words ...string) {
	t.Helper()
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.Join(strings.Fields(strings.ReplaceAll(string(data), "//", "")), " ")
	for _, w := range words {
		if !strings.Contains(doc, w) {
			t.Errorf("doc.go does not say %q", w)
		}
	}
}

func TestRule39NotDeterministicAndCostsTokens(t *testing.T) {
	docSays(t, "not deterministic", "costs tokens")
}

func TestRule40ConfiguredOrNamedModel(t *testing.T) {
	for _, f := range judgetest.Formats() {
		r := first()
		got, seen := ask(t, f.Name, r, judgetest.Unit(), nil)
		if !strings.Contains(string(seen[0].Body), `"model":"fake-judge"`) || got.Calls[0].Model != "fake-judge" {
			t.Errorf("%s: %s", f.Name, got.Calls[0].Model)
		}
		r.Model = "another-judge"
		again, seen := ask(t, f.Name, r, judgetest.Unit(), nil)
		if !strings.Contains(string(seen[0].Body), `"model":"another-judge"`) || again.Calls[0].Model != "another-judge" {
			t.Errorf("%s: %s", f.Name, again.Calls[0].Model)
		}
		if got.Verdicts[0].JudgeConfig == again.Verdicts[0].JudgeConfig || got.Verdicts[0].ID == again.Verdicts[0].ID {
			t.Errorf("%s: another model has the same configuration", f.Name)
		}
	}
}

func TestRule41JudgeIsAServiceOfItsOwn(t *testing.T) {
	got, seen := ask(t, "systemone", first(), judgetest.Unit(), nil)
	if seen[0].Header.Get("Docket-Capture") != "off" {
		t.Errorf("headers %v", seen[0].Header)
	}
	root, call := got.Spans[0], got.Spans[1]
	want := []record.Link{{TraceID: judgetest.Inference().TraceID, SpanID: judgetest.Inference().SpanID, Attributes: map[string]string{}}}
	if diff := cmp.Diff(want, root.Links); diff != "" {
		t.Error(diff)
	}
	for _, s := range got.Spans {
		if s.ServiceName != "docket-judge" || s.TraceID == judgetest.Inference().TraceID || len(s.TraceID) != 32 || len(s.SpanID) != 16 {
			t.Errorf("span %+v", s)
		}
	}
	if call.ParentSpanID != root.SpanID || call.SpanID != got.Calls[0].JudgeSpanID || got.Verdicts[0].JudgeTraceID != root.TraceID {
		t.Errorf("spans %+v and %+v", root, call)
	}
}

func TestRule42NoMemory(t *testing.T) {
	for _, f := range judgetest.Formats() {
		s := judgetest.NewServer(t, f)
		j := judgetest.New(t, s.Backend(), first(), nil)
		for range 2 {
			j.Judge(t.Context(), "r", judgetest.Unit())
		}
		seen := s.Seen()
		if string(seen[0].Body) != string(seen[1].Body) {
			t.Errorf("%s: the second request differs from the first", f.Name)
		}
		var fields map[string]any
		if err := json.Unmarshal(seen[0].Body, &fields); err != nil {
			t.Fatal(err)
		}
		for _, memory := range []string{"previous_response_id", "conversation", "conversation_id", "store", "session", "memory", "user"} {
			if _, ok := fields[memory]; ok {
				t.Errorf("%s: the request has %s", f.Name, memory)
			}
		}
	}
}

func TestRule43OwnThresholdPerCriterion(t *testing.T) {
	r := three()
	r.Criteria[1].Threshold = ptr(0.9)
	got, _ := ask(t, "systemone", r, judgetest.Unit(), always(0.8))
	if got.Verdicts[0].Outcome != record.OutcomePass || got.Verdicts[1].Outcome != record.OutcomeFail {
		t.Errorf("%s at 0.5, %s at 0.9", got.Verdicts[0].Outcome, got.Verdicts[1].Outcome)
	}
}

func TestRule44WarnsOnSeveralProperties(t *testing.T) {
	for text, want := range map[string]string{
		"The reply says sorry.":                               "",
		"The reply names 4.50 as the amount":                  "",
		"The brand Andersson is not named.":                   "",
		"The reply says sorry and names the amount.":          `"and"`,
		"The reply says sorry. It names the amount.":          "2 sentences",
		"The reply has an apology, an amount, a short length": "list",
		"The reply: - says sorry;\n- is short":                "list",
	} {
		got := judge.Rubric{Criteria: []judge.Criterion{{Text: text}}}.Warnings()
		if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || !strings.Contains(strings.Join(got, " "), want)) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// userOf is the user message of a chat request.
func userOf(t *testing.T, seen judgetest.Seen) (system, user string) {
	t.Helper()
	var req struct {
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(seen.Body, &req); err != nil {
		t.Fatal(err)
	}
	return req.Messages[0].Content, req.Messages[1].Content
}

func TestRule52FourSections(t *testing.T) {
	body := judgetest.Body()
	body.Input = body.Input[1:]
	_, seen := ask(t, "chat-structured", first(), judgetest.UnitOf(body), nil)
	_, user := userOf(t, seen[0])
	for _, heading := range []string{"Request to the assistant:\n", "Reply of the assistant:\n", "Tool calls of this turn, first to last:\n", "Criterion:\n"} {
		if strings.Count(user, heading) != 1 {
			t.Errorf("%q is there %d times", heading, strings.Count(user, heading))
		}
	}
	golden(t, "testdata/chat_user.txt", []byte(user+"\n"))
}

func TestRule53SystemMessageJudgesOnlyTheCriterion(t *testing.T) {
	for _, format := range []string{"chat-structured", "chat-logprobs"} {
		_, seen := ask(t, format, first(), judgetest.Unit(), nil)
		system, _ := userOf(t, seen[0])
		for _, words := range []string{"Look only at the criterion", "puts things differently", "still meets a criterion"} {
			if !strings.Contains(system, words) {
				t.Errorf("%s: the system message does not say %q", format, words)
			}
		}
	}
}

func TestRule54FormatAlwaysAppended(t *testing.T) {
	for format, end := range map[string]string{"chat-structured": "0 when it does not.", "chat-logprobs": "or it is unclear."} {
		r := first()
		r.System = "Sei streng."
		_, seen := ask(t, format, r, judgetest.Unit(), nil)
		system, _ := userOf(t, seen[0])
		if !strings.HasPrefix(system, "Sei streng.\n\nAnswer with one") || !strings.HasSuffix(system, end) {
			t.Errorf("%s: %q", format, system)
		}
		r.System = "Be strict. {{default}}"
		_, seen = ask(t, format, r, judgetest.Unit(), nil)
		if system, _ := userOf(t, seen[0]); !strings.HasPrefix(system, "Be strict. You check one reply") || !strings.HasSuffix(system, end) {
			t.Errorf("%s: %q", format, system)
		}
	}
}

func TestRule55DryRunShowsTheExactRequest(t *testing.T) {
	for _, f := range judgetest.Formats() {
		s := judgetest.NewServer(t, f)
		b := s.Backend()
		b.Key, b.Headers = record.NewSecret("key-for-a-dry-run"), map[string]string{"X-Tenant": "tenant-of-a-dry-run"}
		r := three()
		r.MaxCallsPerDay = 1
		j := judgetest.New(t, b, r, nil)
		dry, err := j.DryRun(t.Context(), "r", judgetest.Unit())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Seen()) != 0 {
			t.Errorf("%s: a dry run sent something", f.Name)
		}
		var shown []string
		for _, d := range dry {
			shown = append(shown, d.Body)
			if !strings.HasPrefix(d.URL, s.URL()) || d.Header.Get("Authorization") != "Bearer ***" || d.Header.Get("X-Tenant") != "***" {
				t.Errorf("%s: %s %v", f.Name, d.URL, d.Header)
			}
		}
		r.MaxCallsPerDay = 0
		judgetest.New(t, b, r, nil).Judge(t.Context(), "r", judgetest.Unit())
		if diff := cmp.Diff(bodies(s.Seen()), shown); diff != "" {
			t.Errorf("%s: shown and sent differ: %s", f.Name, diff)
		}
	}
	_, err := judgetest.New(t, staticBackend(1), first(), nil).DryRun(t.Context(), "none", judgetest.Unit())
	wantError(t, err, `rubric "none"`)
}

func TestRule56OwnRenderingMustCarryWhatIsJudged(t *testing.T) {
	for _, c := range []struct{ system, user, want string }{
		{"", "{{criterion}} / {{reply}}", ""},
		{"", "Zusatz. {{default}}", ""},
		{"Own. {{default}}", "", ""},
		{"", "{{reply}}", "{{criterion}}"},
		{"", "{{criterion}}", "{{reply}}"},
		{"", "nothing", "{{criterion}}"},
		{"", "{{if tools}}{{criterion}} {{reply}}{{end}}", "{{criterion}}"},
		{"{{reply}}", "", "system"},
		{"", "{{answer}}", "variables: asked, conversation, criterion, default"},
		{"{{", "", "system"},
	} {
		r := first()
		r.System, r.User = c.system, c.user
		err := newWith(r)
		if c.want != "" {
			wantError(t, err, c.want)
		} else if err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	r := first()
	r.User = "{{default}}\n\nCriterion:\n{{criterion}}"
	b := judgetest.NewServer(t, formatNamed(t, "chat-logprobs")).Backend()
	dry, err := judgetest.New(t, b, r, nil).DryRun(t.Context(), "r", judgetest.Unit())
	if err != nil || strings.Count(dry[0].Body, "The reply says sorry.") != 2 {
		t.Errorf("own user message: %v %v", dry, err)
	}
}

func TestRule57BlankReply(t *testing.T) {
	text := func(s string) []record.Part { return []record.Part{{Type: record.PartText, Content: s}} }
	for name, c := range map[string]struct {
		parts []record.Part
		empty bool
	}{
		"no parts":               {nil, true},
		"empty":                  {text(""), true},
		"spaces":                 {text(" \n\t\u00a0\u2003"), true},
		"zero width":             {text("\u200b\u200d\ufeff"), true},
		"filler letters":         {text("\u3164\u2800"), true},
		"controls":               {text("\x00\x01"), true},
		"reasoning only":         {[]record.Part{{Type: record.PartReasoning, Content: "hm"}}, true},
		"full stop":              {text("."), false},
		"emoji":                  {text("👍"), false},
		"refusal":                {[]record.Part{{Type: record.PartRefusal, Content: "no"}}, false},
		"tool call":              {[]record.Part{call("t", "f", "{}")}, false},
		"image":                  {[]record.Part{{Type: record.PartBlob, Modality: record.ModalityImage}}, false},
		"blank beside tool call": {append(text(" "), call("t", "f", "{}")), false},
	} {
		body := judgetest.Body()
		body.Output = []record.Message{{Role: "assistant", Parts: c.parts}}
		s := judgetest.NewServer(t, formatNamed(t, "systemone"))
		got := judgetest.New(t, s.Backend(), three(), nil).Judge(t.Context(), "r", judgetest.UnitOf(body))
		if c.empty != (got.Reason == record.ReasonEmptyReply) || c.empty != (len(s.Seen()) == 0) {
			t.Errorf("%s: %s (%s) after %d requests", name, got.Outcome, got.Reason, len(s.Seen()))
		}
		if c.empty && (len(got.Verdicts) != 3 || len(got.Calls) != 0 || len(got.Spans) != 0 || got.Score != nil) {
			t.Errorf("%s: %d verdicts, %d calls", name, len(got.Verdicts), len(got.Calls))
		}
	}
}

func TestRule58JudgeUnavailable(t *testing.T) {
	for _, c := range []struct {
		status int
		want   string
	}{{429, record.ReasonRateLimited}, {500, record.ReasonJudgeError}, {504, record.ReasonTimeout}, {401, record.ReasonJudgeError}} {
		s := judgetest.NewServer(t, formatNamed(t, "systemone"))
		for range 3 {
			s.Next(judgetest.Response{Status: c.status, Body: `{"error":"why it failed"}`})
		}
		got := judgetest.New(t, s.Backend(), three(), nil).Judge(t.Context(), "r", judgetest.Unit())
		for _, v := range got.Verdicts {
			if v.Outcome != record.OutcomeInconclusive || v.Reason != c.want || !strings.Contains(v.Detail, "why it failed") {
				t.Errorf("status %d: %+v", c.status, v)
			}
		}
	}
}

func TestRule59ScoreOutOfRange(t *testing.T) {
	for raw, want := range map[string]string{
		"7": record.ReasonOutOfRange, "-0.01": record.ReasonOutOfRange, "1.0000000001": record.ReasonOutOfRange,
		`"0.9"`: record.ReasonMalformed, `"high"`: record.ReasonMalformed, "true": record.ReasonMalformed, "NaN": record.ReasonMalformed,
	} {
		for _, f := range judgetest.Formats() {
			if !f.Exact {
				continue
			}
			got, _ := ask(t, f.Name, first(), judgetest.Unit(), func(judgetest.Question) judgetest.Answer { return judgetest.Answer{Raw: raw, P: 0.5} })
			if v := got.Verdicts[0]; v.Outcome != record.OutcomeInconclusive || v.Reason != want || v.Probability != nil {
				t.Errorf("%s: %s: %s (%s), p %v", f.Name, raw, v.Outcome, v.Reason, v.Probability)
			}
		}
	}
}

func TestRule60InconclusiveIsShownAndLeftOut(t *testing.T) {
	got, _ := ask(t, "systemone", three(), judgetest.Unit(), func(q judgetest.Question) judgetest.Answer {
		return judgetest.Answer{P: 0.9, Missing: q.Key == "q2"}
	})
	line := got.Verdicts[1].Line()
	if want := "INCONCLUSIVE judge: The reply names the refunded amount: missing_answer"; !strings.HasPrefix(line, want) {
		t.Errorf("%q, want %q", line, want)
	}
	if v := got.Verdicts[1]; v.Probability != nil || v.Outcome == record.OutcomeFail {
		t.Errorf("%+v would count in a rate", v)
	}
}

func TestRule62MayChange(t *testing.T) { docSays(t, "may change before 1.0") }
