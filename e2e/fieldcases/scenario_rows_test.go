package fieldcases

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// oddRow is what a model said, with bytes that a store may not like.
type oddRow struct {
	N         int
	Text      string
	TextB64   []byte `json:"text_b64"`
	JSONText  string `json:"json_text"`
	StartedAt string `json:"started_at"`
	Why       string
}

// said is the text as bytes, and how it stands in a JSON text.
func (o oddRow) said(t *testing.T) (plain, quoted string) {
	t.Helper()
	if o.TextB64 != nil {
		return string(o.TextB64), `"` + string(o.TextB64) + `"`
	}
	plain = o.Text
	if o.JSONText != "" {
		plain = o.JSONText
	}
	b, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	return plain, string(b)
}

// exchange has the odd text wherever a client or a model can put it.
func (o oddRow) exchange(t *testing.T) exchange {
	t.Helper()
	plain, quoted := o.said(t)
	tools := "[]"
	if o.JSONText != "" {
		tools = "[" + o.JSONText + "]"
	}
	e := exchange{
		start: time.Now(), user: plain,
		request: fmt.Sprintf(`{"model":%s,"metadata":{"k":%s},"tools":%s,"messages":[{"role":"user","content":%s}]}`, quoted, quoted, tools, quoted),
		answer: fmt.Sprintf(`{"id":"row-%d","model":%s,"choices":[{"index":0,"message":{"role":"assistant","content":%s,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":%s}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"note":%s}}`,
			o.N, quoted, quoted, quoted, quoted),
	}
	if o.StartedAt != "" {
		at, err := time.Parse(time.RFC3339, o.StartedAt)
		if err != nil {
			t.Fatal(err)
		}
		e.start = at
	}
	return e
}

// oddRows stores them in one batch.
func (r *run) oddRows(t *testing.T) {
	t.Parallel()
	line := newPipeline(t, r.suite, r.project())
	for _, o := range r.file.Rows {
		line.record(t, o.exchange(t))
	}
	line.flush(t)
	rows := map[string]tree{}
	for _, row := range r.list(t, url.Values{"project": {r.project()}}) {
		rows[text(row["response_id"])] = row
	}
	setAside := r.dropped(t)
	var there, missing []any
	for _, o := range r.file.Rows {
		row := rows[fmt.Sprintf("row-%d", o.N)]
		if row == nil {
			missing = append(missing, float64(o.N))
			continue
		}
		there = append(there, float64(o.N))
		r.checkOddRow(t, o, r.detail(t, text(row["id"])))
	}
	store := tree{"rows_logical": r.stored(t) + setAside}
	if len(missing) != setAside {
		t.Errorf("rows %v are missing, %d are named", missing, setAside)
	}
	if must := r.c.at("store", "must_contain_n"); must != nil {
		store["must_contain_n"] = both(must, there)
		allowed := r.c.at("store", "set_aside_allowed_n")
		store["set_aside_allowed_n"] = allowed
		if list, ok := both(allowed, missing).([]any); !ok || len(list) != len(missing) {
			t.Errorf("rows %v are missing, only %v may be", missing, allowed)
		}
	}
	r.check(t, tree{"store": store})
}

// both are the elements of a that are also in b.
func both(a any, b []any) any {
	list, _ := a.([]any)
	out := []any{}
	for _, v := range list {
		for _, w := range b {
			if v == w {
				out = append(out, v)
			}
		}
	}
	return out
}

// checkOddRow compares what is shown with what was said, where bytes that are no
// UTF-8 are replaced.
func (r *run) checkOddRow(t *testing.T, o oddRow, d tree) {
	t.Helper()
	plain, _ := o.said(t)
	want := strings.ToValidUTF8(plain, "\uFFFD")
	reply, _ := d["reply"].(tree)
	calls, _ := reply["tool_calls"].([]any)
	if len(calls) != 1 {
		t.Fatalf("row %d: %v", o.N, reply)
	}
	call, _ := calls[0].(tree)
	for where, got := range map[string]string{"text": text(reply["text"]), "arguments": text(call["arguments"]), "model": text(d["response_model"])} {
		if got != want || !utf8.ValidString(got) {
			t.Errorf("row %d, %s: %q, want %q", o.N, where, got, want)
		}
	}
	at, err := time.Parse(time.RFC3339Nano, text(d["time"]))
	if age := time.Since(at); err != nil || age < -time.Minute || age > 3*time.Hour {
		t.Errorf("row %d is of %v (%v)", o.N, d["time"], err)
	}
}
