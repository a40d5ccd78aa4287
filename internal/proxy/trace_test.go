package proxy_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"docket/internal/proxy"
	"docket/internal/upstreamtest"
)

var traceParent = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$`)

const (
	callerTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan   = "00f067aa0ba902b7"
	callerParent = "00-" + callerTrace + "-" + callerSpan + "-01"
)

// sent is what trace context went upstream for a request with some fields.
func sent(t *testing.T, change func(*proxy.Config, *proxy.Upstream), fields ...string) upstreamtest.Request {
	t.Helper()
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
	p := start(t, up.URL(), change)
	if res := call(t, p.addr, post("{}", fields...)); res.Status() != 200 {
		t.Fatalf("got %d", res.Status())
	}
	return up.Requests()[0]
}

func TestTraceContext(t *testing.T) {
	t.Parallel()
	state := func(n int, member string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(member, i))
		}
		return strings.Join(all, ",")
	}
	for _, c := range []struct {
		name      string
		fields    []string
		adopted   bool
		flags     string
		wantState string
	}{
		{"none", nil, false, "03", ""},
		{"valid", []string{"traceparent: " + callerParent, "tracestate: rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"}, true, "01", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"},
		{"any case of the name", []string{"TRACEPARENT: " + callerParent, "TraceState: a=b"}, true, "01", "a=b"},
		{"unsampled", []string{"traceparent: 00-" + callerTrace + "-" + callerSpan + "-00"}, true, "00", ""},
		{"random", []string{"traceparent: 00-" + callerTrace + "-" + callerSpan + "-02"}, true, "02", ""},
		{"unknown flags", []string{"traceparent: 00-" + callerTrace + "-" + callerSpan + "-fd"}, true, "01", ""},
		{"later version", []string{"traceparent: cc-" + callerTrace + "-" + callerSpan + "-01"}, true, "01", ""},
		{"later version, more fields", []string{"traceparent: cc-" + callerTrace + "-" + callerSpan + "-01-what-else"}, true, "01", ""},
		{"later version, longer flags", []string{"traceparent: cc-" + callerTrace + "-" + callerSpan + "-01x"}, false, "03", ""},
		{"version ff", []string{"traceparent: ff-" + callerTrace + "-" + callerSpan + "-01", "tracestate: a=b"}, false, "03", ""},
		{"version 00, more fields", []string{"traceparent: " + callerParent + "-00"}, false, "03", ""},
		{"zero trace", []string{"traceparent: 00-" + strings.Repeat("0", 32) + "-" + callerSpan + "-01"}, false, "03", ""},
		{"zero span", []string{"traceparent: 00-" + callerTrace + "-" + strings.Repeat("0", 16) + "-01"}, false, "03", ""},
		{"upper case", []string{"traceparent: " + strings.ToUpper(callerParent)}, false, "03", ""},
		{"short trace", []string{"traceparent: 00-" + callerTrace[1:] + "-" + callerSpan + "-01"}, false, "03", ""},
		{"long span", []string{"traceparent: 00-" + callerTrace + "-" + callerSpan + "0-01"}, false, "03", ""},
		{"no flags", []string{"traceparent: 00-" + callerTrace + "-" + callerSpan + "-"}, false, "03", ""},
		{"not hex", []string{"traceparent: 00-" + callerTrace[:31] + "g-" + callerSpan + "-01"}, false, "03", ""},
		{"other separators", []string{"traceparent: " + strings.ReplaceAll(callerParent, "-", "_")}, false, "03", ""},
		{"empty", []string{"traceparent:"}, false, "03", ""},
		{"two", []string{"traceparent: " + callerParent, "Traceparent: 00-" + strings.Repeat("a", 32) + "-" + strings.Repeat("b", 16) + "-01"}, false, "03", ""},
		{"two equal", []string{"traceparent: " + callerParent, "traceparent: " + callerParent}, false, "03", ""},
		{"two in one", []string{"traceparent: " + callerParent + "," + callerParent}, false, "03", ""},
		{"state without parent", []string{"tracestate: a=b"}, false, "03", ""},
		{"state in two lines", []string{"traceparent: " + callerParent, "tracestate: a=1", "tracestate: b=2 , c=3"}, true, "01", "a=1,b=2,c=3"},
		{"state with empty members", []string{"traceparent: " + callerParent, "tracestate: a=1,, ,b=2,"}, true, "01", "a=1,b=2"},
		{"state with tenant", []string{"traceparent: " + callerParent, "tracestate: 0t@sys=v w"}, true, "01", "0t@sys=v w"},
		{"state of 32", []string{"traceparent: " + callerParent, "tracestate: " + state(32, "k%d=v")}, true, "01", state(32, "k%d=v")},
		{"state of 33", []string{"traceparent: " + callerParent, "tracestate: " + state(33, "k%d=v")}, true, "01", ""},
		{"state too long", []string{"traceparent: " + callerParent, "tracestate: " + state(20, "k%02d="+strings.Repeat("v", 250))}, true, "01", state(16, "k%02d="+strings.Repeat("v", 250))},
		{"state with bad key", []string{"traceparent: " + callerParent, "tracestate: a=1,B=2"}, true, "01", ""},
		{"state without value", []string{"traceparent: " + callerParent, "tracestate: a=1,b"}, true, "01", ""},
		{"state with = in value", []string{"traceparent: " + callerParent, "tracestate: a=1=2"}, true, "01", ""},
		{"state with odd bytes", []string{"traceparent: " + callerParent, "tracestate: a=\xc3\xa9"}, true, "01", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := sent(t, nil, c.fields...)
			parents := r.Values("traceparent")
			if len(parents) != 1 {
				t.Fatalf("%d traceparents: %q", len(parents), parents)
			}
			m := traceParent.FindStringSubmatch(parents[0])
			if m == nil {
				t.Fatalf("traceparent %q", parents[0])
			}
			if got := m[1] == callerTrace; got != c.adopted {
				t.Errorf("trace %s: adopted %v, want %v", m[1], got, c.adopted)
			}
			if m[2] == callerSpan || strings.Trim(m[1], "0") == "" || strings.Trim(m[2], "0") == "" {
				t.Errorf("ids %s, %s", m[1], m[2])
			}
			if m[3] != c.flags {
				t.Errorf("flags %s, want %s", m[3], c.flags)
			}
			if got := strings.Join(r.Values("tracestate"), "|"); got != c.wantState {
				t.Errorf("tracestate %q, want %q", got, c.wantState)
			}
		})
	}
}

func TestPropagateOffKeepsTheClientsHeaders(t *testing.T) {
	t.Parallel()
	off := func(c *proxy.Config, _ *proxy.Upstream) { c.Propagate = proxy.PropagateOff }
	r := sent(t, off, "traceparent: odd", "Traceparent: two", "tracestate: A=B")
	if got := strings.Join(append(r.Values("traceparent"), r.Values("tracestate")...), "|"); got != "odd|two|A=B" {
		t.Errorf("got %q", got)
	}
	if r := sent(t, off); len(r.Values("traceparent")) != 0 {
		t.Errorf("a traceparent was added")
	}
}

// TestChain: two proxies in a row make one trace, each with spans of its own.
func TestChain(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.AnswerAndClose(plainAnswer))
	inner := start(t, up.URL(), nil)
	tap := upstreamtest.Start(t, func(u *upstreamtest.Conn) { // between them
		r, err := u.ReadRequest()
		if err != nil {
			return
		}
		res := call(t, inner.addr, post(string(r.Body), "traceparent: "+strings.Join(r.Values("traceparent"), "|")))
		_ = u.Send(answer("200 OK\r\nContent-Length: "+itoa(len(res.Body)), string(res.Body)))
	})
	outer := start(t, tap.URL(), nil)
	call(t, outer.addr, post("{}", "traceparent: "+callerParent))
	a := traceParent.FindStringSubmatch(tap.Requests()[0].Values("traceparent")[0])
	b := traceParent.FindStringSubmatch(up.Requests()[0].Values("traceparent")[0])
	if a == nil || b == nil || a[1] != callerTrace || b[1] != callerTrace || a[2] == b[2] {
		t.Errorf("first hop %q, second hop %q", a, b)
	}
}
