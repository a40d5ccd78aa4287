package judge_test

import (
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

// formatNamed is one format of the behaviour suite.
func formatNamed(t *testing.T, name string) judgetest.Format {
	t.Helper()
	for _, f := range judgetest.Formats() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no format %s", name)
	return judgetest.Format{}
}

// ask judges a unit by a rubric with a fake judge and returns what it saw.
func ask(t *testing.T, format string, r judge.Rubric, u judge.Unit, answer func(judgetest.Question) judgetest.Answer) (judge.Result, []judgetest.Seen) {
	t.Helper()
	s := judgetest.NewServer(t, formatNamed(t, format))
	if answer != nil {
		s.Answer(answer)
	}
	got := judgetest.New(t, s.Backend(), r, nil).Judge(t.Context(), "r", u)
	return got, s.Seen()
}

func always(p float64) func(judgetest.Question) judgetest.Answer {
	return func(judgetest.Question) judgetest.Answer { return judgetest.Answer{P: p} }
}

func three() judge.Rubric { return judge.Rubric{Criteria: judgetest.Three()} }

func first() judge.Rubric { return judge.Rubric{Criteria: judgetest.Three()[:1]} }

func TestRule01OneQuestionPerCriterion(t *testing.T) {
	for _, f := range judgetest.Formats() {
		_, seen := ask(t, f.Name, three(), judgetest.Unit(), nil)
		asked := 0
		for _, s := range seen {
			asked += len(s.Questions)
		}
		if asked != 3 {
			t.Errorf("%s: %d questions about 3 criteria", f.Name, asked)
		}
	}
}

func TestRule02ThresholdIsComparedUnrounded(t *testing.T) {
	for _, c := range []struct {
		p, threshold float64
		want         string
	}{
		{0.5, 0.5, record.OutcomePass},
		{math.Nextafter(0.5, 0), 0.5, record.OutcomeFail},
		{0.499999999, 0.5, record.OutcomeFail},
		{0.7, 0.7, record.OutcomePass},
		{1, 1, record.OutcomePass},
		{0.9999999999, 1, record.OutcomeFail},
		{0, 0.000001, record.OutcomeFail},
	} {
		r := first()
		r.Criteria[0].Threshold = &c.threshold
		got, _ := ask(t, "systemone", r, judgetest.Unit(), always(c.p))
		if got.Outcome != c.want || *got.Verdicts[0].Probability != c.p {
			t.Errorf("p %v at %v: %s, want %s", c.p, c.threshold, got.Outcome, c.want)
		}
	}
}

func newWith(r judge.Rubric) error {
	cfg := judge.DefaultConfig()
	cfg.Backend, cfg.URL, cfg.Model = "systemone", "http://127.0.0.1:1", "m"
	_, err := judge.New(cfg, map[string]judge.Rubric{"r": r}, judge.Options{})
	return err
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q has no %q", err, p)
		}
	}
}

func TestRule03ThresholdDefaultAndRange(t *testing.T) {
	got, _ := ask(t, "systemone", first(), judgetest.Unit(), nil)
	if got.Verdicts[0].Threshold != 0.5 {
		t.Errorf("default threshold %v", got.Verdicts[0].Threshold)
	}
	r := three()
	r.Threshold, r.Criteria[1].Threshold = ptr(0.8), ptr(0.3)
	got, _ = ask(t, "systemone", r, judgetest.Unit(), nil)
	if got.Verdicts[0].Threshold != 0.8 || got.Verdicts[1].Threshold != 0.3 {
		t.Errorf("thresholds %v and %v, want the rubric's and the criterion's own", got.Verdicts[0].Threshold, got.Verdicts[1].Threshold)
	}
	for _, bad := range []float64{0, -0.1, 1.01, math.NaN(), math.Inf(1)} {
		r := first()
		r.Criteria[0].Threshold = &bad
		wantError(t, newWith(r), "rubrics.r", `criterion "sorry"`, "threshold", "above 0 and at most 1")
		r = first()
		r.Threshold = &bad
		wantError(t, newWith(r), "rubrics.r", "threshold", "above 0 and at most 1")
	}
}

func TestRule04NoCoversPartlyAndUnclear(t *testing.T) {
	for _, c := range []struct {
		yes, no string
		partly  bool // the default meaning of partly and unclear is there
	}{
		{"", "", true},
		{"it does so in the first sentence", "", true},
		{"", "it does not at all", true},
		{"it does so in the first sentence", "it does not at all", false},
	} {
		for _, f := range judgetest.Formats() {
			r := first()
			r.Criteria[0].SatisfiedWhen, r.Criteria[0].NotSatisfiedWhen = c.yes, c.no
			_, seen := ask(t, f.Name, r, judgetest.Unit(), nil)
			text := seen[0].Questions[0].Text
			if !strings.Contains(text, c.yes) || !strings.Contains(text, c.no) {
				t.Errorf("%s: %q lacks %q or %q", f.Name, text, c.yes, c.no)
			}
			hasDefault := strings.Contains(text, "in full") || strings.Contains(text, "in part") && strings.Contains(text, "unclear")
			if c.partly && !hasDefault {
				t.Errorf("%s: %q says nothing of partly or unclear", f.Name, text)
			}
			if c.no == "" && !(strings.Contains(text, "in part") && strings.Contains(text, "unclear")) {
				t.Errorf("%s: the default of no lacks partly and unclear: %q", f.Name, text)
			}
		}
	}
}

func TestRule05AllCriteriaInOneRequest(t *testing.T) {
	for _, f := range judgetest.Formats() {
		_, seen := ask(t, f.Name, three(), judgetest.Unit(), nil)
		if want := map[bool]int{true: 1, false: 3}[f.Batches]; len(seen) != want {
			t.Errorf("%s: %d requests, want %d", f.Name, len(seen), want)
		}
	}
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	b := s.Backend()
	b.MaxQuestions = 2
	got := judgetest.New(t, b, three(), nil).Judge(t.Context(), "r", judgetest.Unit())
	if seen := s.Seen(); len(seen) != 2 || len(got.Calls) != 2 || got.Outcome != record.OutcomePass {
		t.Errorf("limit of 2 questions: %d requests for 3 criteria, %s", len(seen), got.Outcome)
	}
}

func TestRule06IsolationPerCriterion(t *testing.T) {
	r := three()
	r.Isolation = judge.IsolationPerCriterion
	for _, f := range judgetest.Formats() {
		got, seen := ask(t, f.Name, r, judgetest.Unit(), judgetest.By(0.9, 0.2, 0.7))
		if len(seen) != 3 || len(got.Calls) != 3 {
			t.Errorf("%s: %d requests, %d calls, want one for each criterion", f.Name, len(seen), len(got.Calls))
		}
		if got.Verdicts[1].Outcome != record.OutcomeFail || got.Verdicts[2].Outcome != record.OutcomePass {
			t.Errorf("%s: answers went to the wrong criteria", f.Name)
		}
	}
	wantError(t, newWith(judge.Rubric{Criteria: judgetest.Three(), Isolation: "none"}), "isolation", "shared, per_criterion")
}

func TestRule07StartUpSaysToCheckKnownCases(t *testing.T) {
	var log strings.Builder
	cfg := judge.DefaultConfig()
	cfg.Backend, cfg.URL, cfg.Model = "systemone", "http://127.0.0.1:1", "m"
	_, err := judge.New(cfg, map[string]judge.Rubric{"support": three()}, judge.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "evaluator calibrate") || !strings.Contains(log.String(), "support") {
		t.Errorf("log: %s", log.String())
	}
}

func TestRule08ConversationIsSentAsMessages(t *testing.T) {
	body := judgetest.Body()
	body.Input = append([]record.Message{
		judgetest.Message("system", "You are a shop."), judgetest.Message("developer", "Be brief."),
		judgetest.Message("user", "Hello?"), judgetest.Message("assistant", "Hello!"),
	}, body.Input[1:]...)
	_, seen := ask(t, "systemone", first(), judgetest.UnitOf(body), nil)
	state := seen[0].Data.(map[string]any)
	var roles []string
	for _, m := range state["conversation"].([]any) {
		roles = append(roles, m.(map[string]any)["role"].(string))
	}
	want := []string{"system", "developer", "user", "assistant", "user", "assistant", "tool", "tool", "assistant"}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error(diff)
	}
	if state["tools"] == nil {
		t.Error("the tool definitions are missing")
	}
	_, seen = ask(t, "openai", first(), judgetest.UnitOf(body), nil)
	var kinds []string
	for _, item := range seen[0].Data.([]any) {
		m := item.(map[string]any)
		kind, _ := m["type"].(string)
		role, _ := m["role"].(string)
		kinds = append(kinds, kind+role)
	}
	want = []string{
		"user", "system", "developer", "user", "assistant", "user", // the first is what goes with it: tools
		"function_call", "function_call", "function_call_output", "function_call_output", "assistant",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestRule09MediaInPlaceOrSaid(t *testing.T) {
	u := judgetest.UnitOf(pixelBody(nil))
	got, seen := ask(t, "openai", first(), u, nil)
	if data := string(seen[0].Body); !strings.Contains(data, "data:image/png;base64,") || len(got.Verdicts[0].Flags) != 0 {
		t.Errorf("the image is not in its place: %s, flags %v", data, got.Verdicts[0].Flags)
	}
	got, seen = ask(t, "systemone", first(), u, nil)
	if !strings.Contains(string(seen[0].Body), "[image, not shown: image/png, 40 bytes]") {
		t.Errorf("no placeholder: %s", seen[0].Body)
	}
	if diff := cmp.Diff([]string{judge.FlagPlaceholder}, got.Verdicts[0].Flags); diff != "" || got.Outcome != record.OutcomePass {
		t.Errorf("%s, flags %v", got.Outcome, got.Verdicts[0].Flags)
	}
	r := first()
	r.Media = judge.MediaInconclusive
	got, seen = ask(t, "systemone", r, u, nil)
	if got.Reason != record.ReasonUnsupportedContent || len(seen) != 0 {
		t.Errorf("%s after %d requests, want unsupported_content and none", got.Reason, len(seen))
	}
	if got, _ = ask(t, "openai", r, u, nil); got.Outcome != record.OutcomePass {
		t.Errorf("%s where the image can be shown", got.Outcome)
	}
}

// imageModes of System One servers: where the image goes, and that its id is
// named in the state.
func TestRule09ImageModes(t *testing.T) {
	for mode, want := range map[string][]string{
		"assets":   {`"assets":{"image1":{"type":"image","format":"png","data_base64":"bm90`, `"id":"image1"`},
		"base64":   {`"images":["bm90`, `"id":"image1"`},
		"data_url": {`"images":["data:image/png;base64,bm90`, `"id":"image1"`},
		"state":    {`"state":[{"text":"{`, `"image_url":{"url":"data:image/png;base64,bm90`},
	} {
		s := judgetest.NewServer(t, formatNamed(t, "systemone"))
		b := s.Backend()
		b.Profile, b.Images = "ollama", mode
		got := judgetest.New(t, b, first(), nil).Judge(t.Context(), "r", judgetest.UnitOf(pixelBody(nil)))
		for _, part := range want {
			if !strings.Contains(string(s.Seen()[0].Body), part) {
				t.Errorf("%s: no %s in %s", mode, part, s.Seen()[0].Body)
			}
		}
		if len(got.Verdicts[0].Flags) != 0 {
			t.Errorf("%s: flags %v", mode, got.Verdicts[0].Flags)
		}
	}
}

func TestRule10ImageDetail(t *testing.T)     { imageDetail(t, "openai") }
func TestRule11ChatImageDetail(t *testing.T) { imageDetail(t, "chat-structured") }

func imageDetail(t *testing.T, format string) {
	for _, c := range []struct {
		detail *string
		want   string
	}{{nil, "auto"}, {ptr("low"), "low"}, {ptr("high"), "high"}, {ptr("auto"), "auto"}} {
		s := judgetest.NewServer(t, formatNamed(t, format))
		b := s.Backend()
		b.Images = "items"
		judgetest.New(t, b, first(), nil).Judge(t.Context(), "r", judgetest.UnitOf(pixelBody(c.detail)))
		if !strings.Contains(string(s.Seen()[0].Body), `"detail":"`+c.want+`"`) {
			t.Errorf("%s: detail %v, want %s: %s", format, c.detail, c.want, s.Seen()[0].Body)
		}
	}
}

func TestRule12OwnQuestion(t *testing.T) {
	question := judge.Question{
		Text:    "Would an agent ({{name}}) accept `response`? It must: {{text}}",
		YesWhen: `{{or satisfied_when "it clearly does"}}`,
		NoWhen:  `{{if not_satisfied_when}}{{not_satisfied_when}}{{else}}it does not, or only partly{{end}}`,
	}
	r := three()
	r.Question = &question // of the rubric
	r.Criteria[2].Question = &judge.Question{Text: "Own: {{text}}"}
	_, seen := ask(t, "systemone", r, judgetest.Unit(), nil)
	var got []string
	for _, q := range seen[0].Questions {
		got = append(got, q.Text)
	}
	want := []string{
		"Would an agent (sorry) accept `response`? It must: The reply says sorry.\nit clearly does\nit does not, or only partly",
		"Would an agent (amount) accept `response`? It must: The reply names the refunded amount.\na sum of money is named\nno sum is named",
		"Own: The reply is polite.\nit clearly does, in full\nsomething is against it, it does so only in part, or it is unclear whether it does",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for text, part := range map[string]string{"": "question.text: missing", "{{reply}}": "not_satisfied_when", "{{if}}": "question.text", "{{name": "question.text", "  {{satisfied_when}}": "empty text"} {
		r := first()
		r.Criteria[0].Question = &judge.Question{Text: text}
		wantError(t, newWith(r), `criterion "sorry"`, part)
	}
}

func TestRule13StateKeysAreAContract(t *testing.T) {
	u := judgetest.Unit()
	u.Sources, u.Expected = []string{"a source"}, "a refund"
	want := []string{"conversation", "expected", "response", "sources", "tool_calls", "tools", "user_message"}
	_, seen := ask(t, "systemone", first(), u, nil)
	if diff := cmp.Diff(want, keysOf(seen[0].Data)); diff != "" {
		t.Error(diff)
	}
	_, seen = ask(t, "http", first(), u, nil)
	if diff := cmp.Diff(want, keysOf(seen[0].Data)); diff != "" {
		t.Error(diff)
	}
	// Where the conversation goes as items, an own question can name them too.
	r := first()
	r.Question = &judge.Question{Text: "Is `response` fine, given `user_message`, `sources` and `tool_calls`?"}
	_, seen = ask(t, "openai", r, u, nil)
	extra := seen[0].Data.([]any)[0].(map[string]any)["content"].([]any)[0].(map[string]any)["data"]
	if diff := cmp.Diff([]string{"expected", "response", "sources", "tool_calls", "tools", "user_message"}, keysOf(extra)); diff != "" {
		t.Error(diff)
	}
}

func keysOf(object any) []string {
	var out []string
	m, _ := object.(map[string]any)
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func TestRule14LastAssistantMessage(t *testing.T) {
	_, seen := ask(t, "systemone", first(), judgetest.Unit(), nil)
	if q := seen[0].Questions[0].Text; !strings.Contains(q, "last assistant message") {
		t.Errorf("question about a conversation: %q", q)
	}
	conversation := seen[0].Data.(map[string]any)["conversation"].([]any)
	last := conversation[len(conversation)-1].(map[string]any)
	if last["role"] != "assistant" || last["content"] != seen[0].Data.(map[string]any)["response"] {
		t.Errorf("last message %v", last)
	}
	single := judgetest.Body()
	single.Input = single.Input[1:2]
	_, seen = ask(t, "systemone", first(), judgetest.UnitOf(single), nil)
	if q := seen[0].Questions[0].Text; !strings.Contains(q, "`response`") || strings.Contains(q, "last assistant message") {
		t.Errorf("question about one reply: %q", q)
	}
	_, seen = ask(t, "openai", first(), judgetest.UnitOf(single), nil)
	if q := seen[0].Questions[0].Text; !strings.Contains(q, "last assistant message") {
		t.Errorf("statement about items: %q", q)
	}
}
