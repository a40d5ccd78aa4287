package fieldcases

import (
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"docket/internal/upstreamtest"
)

// refused: nobody listens where the call goes.
func (r *run) refused(t *testing.T) {
	trace := hash([]byte(r.c.name))[:32]
	c := dial(t, r.main.addr)
	defer c.Close()
	c.send(t, post(r.file.RequestPath, "{}", "traceparent: 00-"+trace+"-"+callerSpan+"-01"))
	answer := c.answer(t)
	for _, secret := range r.c.texts("secrets") {
		if strings.Contains(string(answer.Body), secret) {
			t.Errorf("our answer has %q in it: %s", secret, answer.Body)
		}
	}
	if answer.Status() != r.c.number("record", "status") || !strings.Contains(string(answer.Body), `"error"`) {
		t.Errorf("the client got %d %s", answer.Status(), answer.Body)
	}
	row := r.only(t, url.Values{"trace_id": {trace}})
	r.check(t, tree{"record": recordOf(r.c, row)})
	spans := r.sql(t, "SELECT * FROM otel_traces WHERE TraceId = '"+trace+"' FORMAT JSONEachRow")
	if !strings.Contains(spans, "502") {
		t.Errorf("spans: %s", spans)
	}
	r.checkSecrets(t, r.c, r.main, row)
}

// only waits for the row that the filter selects and returns all about it.
func (r *run) only(t *testing.T, filter url.Values) tree {
	t.Helper()
	var rows []tree
	await(t, "a row", patience, func() bool { rows = r.list(t, filter); return len(rows) > 0 })
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	id, _ := rows[0]["id"].(string)
	return r.detail(t, id)
}

// slowStream: an answer that takes longer than any limit but those between two
// reads. Every piece arrives before the next is sent. Of how long they are on
// their way the shortest time counts: a busy machine holds up some of them, a
// proxy that keeps pieces back all.
func (r *run) slowStream(t *testing.T) {
	seen := make(chan int, 100) // bytes of a piece; the client is never kept waiting
	total, shortest := 0, patience
	send := func(c *upstreamtest.Conn, wait int, data string) bool {
		<-time.After(millis(wait))
		sent := time.Now()
		if c.Send(chunked("", []string{data})[1]) != nil {
			return false
		}
		total += len(data)
		for came := 0; came < len(data); {
			select {
			case n := <-seen:
				came += n
			case <-time.After(patience):
				return false
			}
		}
		shortest = min(shortest, time.Since(sent))
		return true
	}
	r.script.add(r.c.name, func(c *upstreamtest.Conn) bool {
		for _, s := range r.file.Steps {
			switch s.Do {
			case "upstream_headers":
				<-time.After(millis(s.AfterMS))
				_ = c.Send(head("text/event-stream", "Transfer-Encoding: chunked")) // the next one tells
			case "upstream_send":
				if !send(c, s.AfterMS, s.Data) {
					return false
				}
			case "repeat":
				for range s.Times {
					if !send(c, s.EveryMS, s.Data) {
						return false
					}
				}
			default:
				t.Errorf("step %q is not known", s.Do)
			}
		}
		return c.Send("0\r\n\r\n") == nil
	})
	trace := hash([]byte(r.c.name))[:32]
	start := time.Now()
	c := dial(t, r.main.addr)
	defer c.Close()
	c.send(t, post("/hasty/v1/chat/completions", `{"model":"m-small","stream":true}`, caseHeader+": "+r.c.name, "traceparent: 00-"+trace+"-"+callerSpan+"-01"))
	got, err := readAll(c.body(t), seen)
	if took := time.Since(start); took < millis(r.file.WriteTimeout) {
		t.Errorf("the stream took %s, which shows nothing", took)
	}
	r.check(t, tree{
		"client": tree{"complete": err == nil && got == total, "max_relay_delay_ms": r.atMost(int(shortest.Milliseconds()), "client", "max_relay_delay_ms")},
		"record": recordOf(r.c, r.only(t, url.Values{"trace_id": {trace}})),
	})
}

// readAll reads a body to its end and tells of each piece.
func readAll(body io.Reader, seen chan<- int) (total int, err error) {
	p := make([]byte, 4096)
	for {
		n, err := body.Read(p)
		if total += n; n > 0 {
			seen <- n
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// chain: two proxies record the same call, and it is seen which is behind which.
func (r *run) chain(t *testing.T) {
	t.Parallel()
	s := r.file.Steps[0]
	if want := []string{"proxy-1", "proxy-2", "upstream"}; strings.Join(s.Through, " ") != strings.Join(want, " ") {
		t.Fatalf("a way through %q is not known", s.Through)
	}
	a := r.script.add(r.c.name, feed{parts: []string{plainAnswer}}.answer)
	c := dial(t, r.main.addr)
	defer c.Close()
	c.send(t, post("/next/v1/chat/completions", `{"model":"m-small"}`, caseHeader+": "+r.c.name, "traceparent: "+s.Traceparent))
	c.answer(t)
	parts := strings.Split(a.seen()[0].Values("traceparent")[0], "-")
	trace, lastSpan := parts[1], parts[2]
	var outer, inner tree
	await(t, "both rows", patience, func() bool {
		rows := r.list(t, url.Values{"trace_id": {trace}})
		inner = find(rows, "upstream_span_id", lastSpan)
		outer = find(rows, "upstream_span_id", inner["parent_span_id"])
		return inner != nil && outer != nil
	})
	sharing := 0
	for _, row := range r.list(t, url.Values{"trace_id": {trace}}) {
		if row["path"] == "/next/v1/chat/completions" || row["instance"] == inner["instance"] {
			sharing++
		}
	}
	caller := strings.Split(s.Traceparent, "-")[2]
	if outer["parent_span_id"] != caller || inner["instance"] == outer["instance"] {
		t.Errorf("parent %v, instances %v and %v", outer["parent_span_id"], outer["instance"], inner["instance"])
	}
	server := r.count(t, "SELECT count() FROM otel_traces WHERE TraceId = '"+trace+"' AND SpanKind = 'Server' AND SpanId IN ('"+text(outer["span_id"])+"', '"+text(inner["span_id"])+"')")
	r.check(t, tree{"trace": tree{
		"trace_id": trace, "spans": server, "nested": inner["parent_span_id"] == outer["upstream_span_id"],
		"records": 2, "records_sharing_trace_id": sharing,
	}})
}

func find(rows []tree, key string, value any) tree {
	for _, r := range rows {
		if value != nil && r[key] == value {
			return r
		}
	}
	return nil
}

func text(v any) string { s, _ := v.(string); return s }
