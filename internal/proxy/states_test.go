package proxy_test

import (
	"strings"
	"testing"
	"time"

	"docket/internal/proxy"
	"docket/internal/record"
	"docket/internal/upstreamtest"
)

// TestStatesInTheRow: how a call ended is in its row, with the status that the
// client was given.
func TestStatesInTheRow(t *testing.T) {
	t.Parallel()
	short, idle := 30*time.Millisecond, 2*time.Second // the limit of sending, too
	hang := func(raw string) func(*upstreamtest.Conn) {
		return func(u *upstreamtest.Conn) {
			if _, err := u.ReadRequest(); err == nil && u.Send(raw) == nil {
				u.AwaitClose()
			}
		}
	}
	stream := answer("200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked", "")
	for _, c := range []struct {
		name     string
		serve    func(*upstreamtest.Conn)
		timeouts proxy.Timeouts
		state    string
		status   uint16
	}{
		{"complete", upstreamtest.AnswerAndClose(plainAnswer), proxy.Timeouts{}, record.StateComplete, 200},
		{"no body", upstreamtest.AnswerAndClose(answer("204 No Content", "")), proxy.Timeouts{}, record.StateComplete, 204},
		{"error answer", upstreamtest.AnswerAndClose(answer("500 x\r\nContent-Length: 0", "")), proxy.Timeouts{}, record.StateComplete, 500},
		{"no answer", upstreamtest.AnswerAndClose(""), proxy.Timeouts{}, record.StateUpstreamError, 502},
		{"cut", upstreamtest.AnswerAndClose(stream + "3\r\nabc\r\n"), proxy.Timeouts{}, record.StateUpstreamTruncated, 200},
		{"header", hang(""), proxy.Timeouts{Header: short}, record.StateTimeoutHeader, 504},
		{"first byte", hang(stream), proxy.Timeouts{FirstByte: short}, record.StateTimeoutFirstByte, 200},
		{"idle", hang(stream + "3\r\nabc\r\n"), proxy.Timeouts{Idle: idle}, record.StateTimeoutIdle, 200},
		{"idle after the end", hang(stream + "e\r\ndata: [DONE]\n\n\r\n"), proxy.Timeouts{Idle: idle}, record.StateComplete, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up := upstreamtest.Start(t, c.serve)
			p := startRecorded(t, config(up.URL(), func(_ *proxy.Config, u *proxy.Upstream) { u.Timeouts = c.timeouts }))
			call(t, p.addr, post(`{"model":"m-small"}`))
			got := p.rows(t, 1).Inferences[0]
			if got.TerminalState != c.state || got.Status != c.status {
				t.Errorf("row has %s %d, want %s %d", got.TerminalState, got.Status, c.state, c.status)
			}
			if got.Upstream != "test" || got.Method != "POST" || got.Path != "/v1/chat/completions" || got.RequestModel != "m-small" {
				t.Errorf("row %+v", got)
			}
		})
	}
}

// TestOptOut: Docket-Capture goes no further than the proxy, and is obeyed.
func TestOptOut(t *testing.T) {
	t.Parallel()
	up := upstreamtest.Start(t, upstreamtest.Answer(plainAnswer))
	p := startRecorded(t, config(up.URL(), nil))
	const secret = "private words"
	for _, level := range []string{"off", "metadata"} {
		if res := call(t, p.addr, post(`{"model":"m-small","messages":[{"role":"user","content":"`+secret+`"}]}`, "Docket-Capture: "+level)); res.Status() != 200 {
			t.Errorf("got %d", res.Status())
		}
	}
	batch := p.rows(t, 1)
	if got := batch.Inferences[0]; got.CaptureLevel != record.CaptureMetadata {
		t.Errorf("row %+v", got)
	}
	fieldCase{Secrets: []string{secret}}.checkSecrets(t, p, batch)
	for _, r := range up.Requests() {
		if len(r.Values("Docket-Capture")) != 0 || !strings.Contains(string(r.Body), secret) {
			t.Errorf("the upstream got %q", r.Fields)
		}
	}
}
